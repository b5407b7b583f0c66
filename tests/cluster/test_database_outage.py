"""Database down or frozen for longer than a lease (F6): nodes continue afterwards, and nothing is repeated."""

from __future__ import annotations

from typing import Final

import pytest

from horae.clock import SystemClock
from tests.cluster.scenario import (
    LOCAL_NODE,
    effects,
    last_instant,
    once_per_instant,
    pass_leases,
    started,
    steady_series,
)
from tests.cluster.stores import DatabaseServer
from tests.faults.client import add
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, one_shot, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

OUTAGES: Final = [
    ("postgres", "killed"),
    ("mariadb", "frozen"),
    ("redis", "killed"),
    ("postgres", "frozen"),
    ("mariadb", "killed"),
    ("redis", "frozen"),
]
"""Each server and each outage once; a soak run takes all pairs."""


@pytest.mark.parametrize(("store", "outage"), OUTAGES[: sized(3, soak=len(OUTAGES))], indirect=["store"])
def test_f6_database_outage_repeats_nothing(
    testbed: Testbed, workers: Workers, server: DatabaseServer, measured: Measure, outage: str
) -> None:
    for _ in range(2):
        workers.ready(**LOCAL_NODE)
    going, steady = add(testbed, one_shot("awaited", {"gate": "done"}), steady_series(10.0))
    wait_until(started(testbed, going), TIMEOUT, "the start")
    wait_until(has_marks(testbed, "effect", 3), TIMEOUT, "a few effects")
    start_outage(server, outage)
    away = SystemClock().steady()
    wait_until(has_marks(testbed, "cancelled"), LOCAL_NODE["lease"], "the cancellation of the run")
    pass_leases(2, since=away)
    before = sum(effects(testbed).values())
    end_outage(server, outage)
    back = wait_until(has_marks(testbed, "effect", before + 1), 5, "the first effect after it")
    measured(f"F6 {outage}, from its return to the next effect", back)
    testbed.open_gate("done")
    wait_until_quiet(testbed, last_instant(going, steady), TIMEOUT)
    assert violations(testbed, going, steady) == []
    assert effects(testbed) == once_per_instant(going, steady)


def start_outage(server: DatabaseServer, outage: str) -> None:
    (server.freeze if outage == "frozen" else server.kill)()


def end_outage(server: DatabaseServer, outage: str) -> None:
    if outage == "frozen":
        server.thaw()
    else:
        server.start()
