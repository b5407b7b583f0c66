"""Clock steps and suspend (F8): nothing starts early by the wall clock, and due times are planned again."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from tests.faults.client import TaskRequest, add, from_now
from tests.faults.offset_clock import set_offsets
from tests.faults.oracle import Due, Series
from tests.faults.processes import Worker, Workers
from tests.faults.scenario import TIMEOUT, Measure, marks, violations
from tests.faults.store_snapshot import query, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until
from tests.sizes import sized

SECOND: Final = timedelta(seconds=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
NONE: Final = timedelta(0)
STEPS: Final = (SECOND, DAY, HOUR)[: sized(2, soak=3)]
REPLANNED_SECONDS: Final = 30.0


class WorkerClock:
    """Offsets of the workers' clock; a suspend advances the steady clock while no timer runs."""

    def __init__(self, testbed: Testbed) -> None:
        self._place = testbed
        self.offset = self._steady = NONE
        set_offsets(testbed.offsets, NONE)

    def step(self, by: timedelta) -> None:
        self.offset += by
        set_offsets(self._place.offsets, self.offset, self._steady)

    def suspend(self, worker: Worker, length: timedelta) -> None:
        worker.freeze()
        self._steady += length
        self.step(length)
        worker.thaw()


def has_started(testbed: Testbed, due: Due) -> bool:
    return any(mark.task == due.task for mark in marks(testbed, "start"))


def number_of_starts(testbed: Testbed, due: Due) -> int:
    return sum(mark.task == due.task for mark in marks(testbed, "start"))


def note(at_offset: timedelta, seconds: float) -> TaskRequest:
    """Request one occurrence, `seconds` ahead of a clock with this offset."""
    return TaskRequest("note", Series(from_now(seconds) + at_offset))


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_f8_clock_set_forward_runs_due_occurrences(
    testbed: Testbed, workers: Workers, measured: Measure, step: timedelta
) -> None:
    time = WorkerClock(testbed)
    workers.ready()
    series = Series(from_now(1), SECOND, 6 + step // SECOND)
    due = add(testbed, TaskRequest("note", series, options={"missed": "latest within 1h"}), note(step, 30))
    wait_until(lambda: has_started(testbed, due[0]), TIMEOUT, "the first start")
    time.step(step + 30 * SECOND)
    measured(
        f"F8 {step} forward", wait_until(lambda: has_started(testbed, due[1]), REPLANNED_SECONDS, "what is due now")
    )
    wait_until_quiet(testbed, series.last, TIMEOUT, time.offset)
    assert violations(testbed, *due) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_f8_clock_set_back_does_not_delay_new_tasks(
    testbed: Testbed, workers: Workers, measured: Measure, step: timedelta
) -> None:
    """Instants of the old clock are far away now; tasks added by the new clock do not wait for them."""
    time = WorkerClock(testbed)
    workers.ready()
    series = Series(from_now(0), 100 * SECOND, 3)
    (waiting,) = add(testbed, note(NONE, 4))
    time.step(-step)
    (soonest, grid) = add(testbed, note(time.offset, 0.5), TaskRequest("note", series))
    measured(
        f"F8 {step} back", wait_until(lambda: has_started(testbed, soonest), REPLANNED_SECONDS, "what is due first")
    )
    assert step == SECOND or not has_started(testbed, waiting)
    time.step(step)
    wait_until(lambda: has_started(testbed, waiting), REPLANNED_SECONDS, "what had to wait")
    time.step(300 * SECOND)
    wait_until_quiet(testbed, series.last, TIMEOUT, time.offset)
    assert violations(testbed, waiting, soonest, grid) == []


@pytest.mark.parametrize("step", STEPS[1:], ids=str)
def test_f8_interval_task_continues_after_clock_set_back(
    testbed: Testbed, workers: Workers, measured: Measure, step: timedelta
) -> None:
    """The task continues within seconds on instants without a run; log and store record the step."""
    time = WorkerClock(testbed)
    worker = workers.ready()
    (due,) = add(testbed, TaskRequest("note", Series(from_now(0.5), SECOND, 1_000_000)))
    wait_until(lambda: number_of_starts(testbed, due) >= 3, TIMEOUT, "three starts")
    time.step(-step)
    before = number_of_starts(testbed, due)
    measured(
        f"F8 {step} back, interval task",
        wait_until(lambda: number_of_starts(testbed, due) >= before + 3, REPLANNED_SECONDS, "three more starts"),
    )
    assert "the wall clock was set back by" in worker.log
    planned = [row[0] for row in query(testbed, "SELECT planned FROM runs")]
    assert len(planned) == len(set(planned))
    assert [row[0] for row in query(testbed, "SELECT count(*) FROM records WHERE kind = 'clock_step'")] == [1]


def test_f8_suspend_for_eight_hours_merges_missed_occurrences(
    testbed: Testbed, workers: Workers, measured: Measure
) -> None:
    time = WorkerClock(testbed)
    worker = workers.ready(lease=15.0, ceiling=10.0)
    series = Series(from_now(1), SECOND, 8 * 3600 + 10)
    due = add(testbed, TaskRequest("note", series, options={"missed": "merge"}), note(4 * HOUR, 0))
    wait_until(lambda: has_started(testbed, due[0]), TIMEOUT, "the first start")
    time.suspend(worker, 8 * HOUR)
    measured(
        "F8 eight hours of sleep",
        wait_until(lambda: has_started(testbed, due[1]), REPLANNED_SECONDS, "what was due meanwhile"),
    )
    wait_until_quiet(testbed, series.last, TIMEOUT, time.offset)
    assert violations(testbed, *due) == []
