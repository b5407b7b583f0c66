"""SQLite write lock held for three leases: the node cancels its run in time, and continues afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from horae.clock import SystemClock
from tests.faults.client import add, from_now
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, Measure, has_marks, marks, one_shot, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import LEASE


@contextmanager
def hold_write_lock(testbed: Testbed) -> Iterator[float]:
    """Hold the write lock, as a process frozen inside a write does; yields the steady time of its start."""
    connection = apsw.Connection(str(testbed.store))
    connection.set_busy_timeout(10_000)
    try:
        connection.execute("BEGIN IMMEDIATE").fetchall()
        yield SystemClock().steady()
        connection.execute("ROLLBACK").fetchall()
    finally:
        connection.close()


def test_node_that_cannot_renew_its_lease_cancels_its_run_and_resumes(
    testbed: Testbed, workers: Workers, measured: Measure
) -> None:
    workers.ready()
    due = add(testbed, one_shot("awaited", {"gate": "done"}), one_shot())
    wait_until(has_marks(testbed, "start", 2), TIMEOUT, "both starts")
    wait_until(has_marks(testbed, "end"), TIMEOUT, "the end of the short one")
    more = add(testbed, one_shot(seconds=4))
    with hold_write_lock(testbed) as since:
        stopped = wait_until(has_marks(testbed, "cancelled"), LEASE, "the end of what it can no longer hold")
        measured("F9 cut off, to letting go", stopped)
        wait_until(lambda: SystemClock().steady() - since > 3 * LEASE, TIMEOUT, "three leases")
        assert len(marks(testbed, "start")) == 2
    testbed.open_gate("done")
    measured(
        "F9 cut off, from the return to the next start", wait_until(has_marks(testbed, "start", 4), 5, "what is due")
    )
    wait_until_quiet(testbed, from_now(0), TIMEOUT)
    assert violations(testbed, *due, *more) == []
    assert len(marks(testbed, "effect")) == 3
