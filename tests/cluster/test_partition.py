"""Network partition between a node and its store (F9): the node cancels its run before a takeover, and rejoins."""

from __future__ import annotations

import pytest

from tests.cluster.scenario import (
    LEASE,
    LOCAL_NODE,
    ON_SERVERS,
    REMOTE_NODE,
    effects,
    last_instant,
    once_per_instant,
    started,
)
from tests.faults.client import add
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, one_shot, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.servers.proxy import Proxy

pytestmark = ON_SERVERS


@pytest.mark.parametrize("how", ["cut", "half_open"])
def test_f9_partitioned_node_cancels_its_run_before_takeover(
    testbed: Testbed, workers: Workers, proxy: Proxy, proxied_url: str, measured: Measure, how: str
) -> None:
    far = workers.ready(url=proxied_url, **REMOTE_NODE)
    (due,) = add(testbed, one_shot("awaited", {"gate": "done"}))
    wait_until(started(testbed, due), TIMEOUT, "the start")
    near = workers.ready(**LOCAL_NODE)
    (proxy.cut if how == "cut" else proxy.half_open)()
    measured(
        f"F9 {how}, to letting go", wait_until(has_marks(testbed, "cancelled"), LEASE, "the end of what it cannot hold")
    )
    measured(
        f"F9 {how}, from then on to the takeover",
        wait_until(started(testbed, due, 2), LEASE + 1, "a peer that takes over"),
    )
    (stopped,) = marks(testbed, "cancelled")
    assert stopped.instant < marks(testbed, "start")[1].instant
    testbed.open_gate("done")
    wait_until_quiet(testbed, last_instant(due), TIMEOUT)
    proxy.heal()
    near.stop()
    # The node has joined again and works normally.
    more = add(testbed, one_shot(), one_shot())
    wait_until_quiet(testbed, last_instant(*more), TIMEOUT)
    assert violations(testbed, due, *more) == []
    assert effects(testbed) == once_per_instant(due, *more)
    assert {mark.pid for mark in marks(testbed, "effect") if mark.task != due.task} == {far.pid}
