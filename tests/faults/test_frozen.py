"""Node frozen for three leases (F11): its late settlement is refused, and its run is stopped."""

from __future__ import annotations

import pytest

from tests.faults.client import add, from_now
from tests.faults.processes import Workers, is_alive
from tests.faults.scenario import (
    TIMEOUT,
    Measure,
    freeze,
    has_marks,
    has_second_attempt,
    marks,
    one_shot,
    thaw_after_three_leases,
    violations,
)
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE


def test_f11_stale_settlement_is_refused(testbed: Testbed, workers: Workers, measured: Measure) -> None:
    due = add(testbed, one_shot())
    sleeper = workers.ready(point="settling")
    sleeper.expect("at settling")
    workers.ready()
    frozen = freeze(sleeper, testbed)
    measured("F11 taken over after", wait_until(has_marks(testbed, "effect", 2), LEASE + 2, "a peer that takes over"))
    thaw_after_three_leases(sleeper, frozen)
    testbed.open_gate("settling")
    assert marks(testbed, "effect")[0].run in sleeper.expect("stale")
    # The node has joined again and works normally.
    more = add(testbed, one_shot(), one_shot())
    wait_until_quiet(testbed, from_now(0.3), TIMEOUT)
    assert violations(testbed, *due, *more) == []
    assert [mark.attempt for mark in marks(testbed, "effect")][:2] == [1, 2]
    sleeper.stop()


@pytest.mark.parametrize("function", ["apart", "awaited"])
def test_f11_run_of_a_frozen_node_is_stopped_after_takeover(
    testbed: Testbed, workers: Workers, measured: Measure, function: str
) -> None:
    due = add(testbed, one_shot(function, {"gate": "done"}))
    sleeper = workers.ready()
    wait_until(has_marks(testbed, "start"), TIMEOUT, "the start")
    (first,) = marks(testbed, "start")
    workers.ready()
    frozen = freeze(sleeper, testbed)
    wait_until(lambda: has_second_attempt(testbed), LEASE + 2, "a peer that takes over")
    wait_until(has_marks(testbed, "start", 2), TIMEOUT, "its start")
    thaw_after_three_leases(sleeper, frozen)
    if function == "apart":
        gone = wait_until(lambda: not is_alive(first.pid), 2, "the child's death")
        measured("F11 a child's death, from the thaw", gone)
    else:
        wait_until(has_marks(testbed, "cancelled"), 2, "the end of what is no longer its own")
    testbed.open_gate("done")
    wait_until_quiet(testbed, due[0].instants[-1], TIMEOUT)
    assert violations(testbed, *due) == []
    assert [mark.attempt for mark in marks(testbed, "effect")] == [2]
    sleeper.stop()
