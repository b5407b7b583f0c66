"""Rolling restart under load (F18): one node after the other stops cleanly, and nothing is lost or repeated."""

from __future__ import annotations

from datetime import timedelta

from tests.cluster.scenario import (
    LOCAL_NODE,
    ON_ONE_STORE,
    effects,
    last_instant,
    lateness,
    once_per_instant,
    steady_series,
)
from tests.cluster.stores import StoreKind
from tests.faults.client import TaskRequest, add, from_now
from tests.faults.oracle import Series
from tests.faults.processes import START_SECONDS, Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until


def load(seconds: float) -> list[TaskRequest]:
    """Request series, and single tasks that run while nodes are stopped."""
    shots = [
        TaskRequest("slow", Series(from_now(1) + timedelta(seconds=seconds * number / 100))) for number in range(100)
    ]
    return [*(steady_series(seconds, every=0.2, begin=1) for _ in range(4)), *shots]


@ON_ONE_STORE
def test_f18_rolling_restart_loses_and_repeats_nothing(
    testbed: Testbed, workers: Workers, store: StoreKind, measured: Measure
) -> None:
    nodes = [workers.ready(**LOCAL_NODE) for _ in range(3)]
    due = add(testbed, *load(6.0))
    wait_until(has_marks(testbed, "effect", 10), TIMEOUT, "a few effects")
    for number, node in enumerate(nodes):
        node.terminate()
        nodes[number] = workers.ready(**LOCAL_NODE)
        assert node.wait_for_exit(START_SECONDS) == 0
    wait_until_quiet(testbed, last_instant(*due), TIMEOUT)
    late = lateness(testbed)
    measured(f"F18 {store}, p99 lateness", late[int(len(late) * 0.99)])
    assert violations(testbed, *due) == []
    assert effects(testbed) == once_per_instant(*due)
