"""Slow store (F10): a node that can still renew keeps its lease and its runs."""

from __future__ import annotations

from typing import Final

from tests.cluster.scenario import (
    ON_ONE_SERVER,
    effects,
    last_instant,
    once_per_instant,
    pass_leases,
    started,
    steady_series,
)
from tests.faults.client import add
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, marks, one_shot, violations
from tests.faults.store_snapshot import read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import OTHER_MACHINE
from tests.servers.proxy import Proxy

pytestmark = ON_ONE_SERVER

SLOW_LEASE: Final = 3.75
THERE_AND_BACK: Final = SLOW_LEASE / 15 * 2
"""Documented: two seconds more per request with a lease of fifteen; here both are a quarter of that."""


def test_f10_slow_store_costs_no_lease(
    testbed: Testbed, workers: Workers, proxy: Proxy, proxied_url: str, measured: Measure
) -> None:
    slow = workers.ready(url=proxied_url, home=OTHER_MACHINE, lease=SLOW_LEASE)
    (going,) = add(testbed, one_shot("awaited", {"gate": "done"}))
    wait_until(started(testbed, going), TIMEOUT, "the start")
    workers.ready(lease=SLOW_LEASE)
    proxy.delay(THERE_AND_BACK / 2)
    (steady,) = add(testbed, steady_series(2 * SLOW_LEASE))
    pass_leases(2, lease=SLOW_LEASE)
    testbed.open_gate("done")
    wait_until_quiet(testbed, last_instant(going, steady), TIMEOUT)
    measured("F10 effects on the slow node", sum(mark.pid == slow.pid for mark in marks(testbed, "effect")))
    assert violations(testbed, going, steady) == []
    assert marks(testbed, "cancelled") == []
    assert effects(testbed) == once_per_instant(going, steady)
    assert {row.state for row in read_snapshot(testbed).rows} == {"succeeded"}
    proxy.heal()
    slow.stop()
