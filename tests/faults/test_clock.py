"""The wall clock is set, or the machine sleeps (F8): nothing is early by the clock that counts, and all is planned anew."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from tests.faults.client import Wanted, add, soon
from tests.faults.evidence import query, until_quiet
from tests.faults.oracle import Due, Series
from tests.faults.place import Place, until
from tests.faults.processes import Worker, Workers
from tests.faults.scene import LONG, Measure, judged, marks
from tests.faults.shifted import set_offsets
from tests.sizes import sized

SECOND: Final = timedelta(seconds=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
NONE: Final = timedelta(0)
STEPS: Final = (SECOND, DAY, HOUR)[: sized(2, soak=3)]
REPLANNED_SECONDS: Final = 30.0


class Time:
    """The clock of one place, as the tests set it; suspended, the steady clock goes on and no timer does."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.offset = self._steady = NONE
        set_offsets(place.offsets, NONE)

    def step(self, by: timedelta) -> None:
        self.offset += by
        set_offsets(self._place.offsets, self.offset, self._steady)

    def suspend(self, worker: Worker, length: timedelta) -> None:
        worker.freeze()
        self._steady += length
        self.step(length)
        worker.thaw()


def begun(place: Place, due: Due) -> bool:
    return any(mark.task == due.task for mark in marks(place, "start"))


def number_of_starts(place: Place, due: Due) -> int:
    return sum(mark.task == due.task for mark in marks(place, "start"))


def note(at_offset: timedelta, seconds: float) -> Wanted:
    """One occurrence, so many seconds ahead of a clock with this offset."""
    return Wanted("note", Series(soon(seconds) + at_offset))


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_f8_the_clock_is_set_forward(place: Place, workers: Workers, measured: Measure, step: timedelta) -> None:
    time = Time(place)
    workers.ready()
    series = Series(soon(1), SECOND, 6 + step // SECOND)
    due = add(place, Wanted("note", series, options={"missed": "latest within 1h"}), note(step, 30))
    until(lambda: begun(place, due[0]), LONG, "the first start")
    time.step(step + 30 * SECOND)
    measured(f"F8 {step} forward", until(lambda: begun(place, due[1]), REPLANNED_SECONDS, "what is due now"))
    until_quiet(place, series.last, LONG, time.offset)
    assert judged(place, *due) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_f8_the_clock_is_set_back(place: Place, workers: Workers, measured: Measure, step: timedelta) -> None:
    """What was due in a moment is due much later now, and what is added by the new clock is not held up by it."""
    time = Time(place)
    workers.ready()
    series = Series(soon(0), 100 * SECOND, 3)
    (waiting,) = add(place, note(NONE, 4))
    time.step(-step)
    (soonest, grid) = add(place, note(time.offset, 0.5), Wanted("note", series))
    measured(f"F8 {step} back", until(lambda: begun(place, soonest), REPLANNED_SECONDS, "what is due first"))
    assert step == SECOND or not begun(place, waiting)
    time.step(step)
    until(lambda: begun(place, waiting), REPLANNED_SECONDS, "what had to wait")
    time.step(300 * SECOND)
    until_quiet(place, series.last, LONG, time.offset)
    assert judged(place, waiting, soonest, grid) == []


@pytest.mark.parametrize("step", STEPS[1:], ids=str)
def test_f8_interval_task_is_not_silent_after_the_clock_was_set_back(
    place: Place, workers: Workers, measured: Measure, step: timedelta
) -> None:
    """It starts again within seconds, on instants that no run has had, and the log and the store tell of the step."""
    time = Time(place)
    worker = workers.ready()
    (due,) = add(place, Wanted("note", Series(soon(0.5), SECOND, 1_000_000)))
    until(lambda: number_of_starts(place, due) >= 3, LONG, "three starts")
    time.step(-step)
    before = number_of_starts(place, due)
    measured(
        f"F8 {step} back, interval task",
        until(lambda: number_of_starts(place, due) >= before + 3, REPLANNED_SECONDS, "three more starts"),
    )
    assert "the wall clock was set back by" in worker.log
    planned = [row[0] for row in query(place, "SELECT planned FROM runs")]
    assert len(planned) == len(set(planned))
    assert [row[0] for row in query(place, "SELECT count(*) FROM records WHERE kind = 'clock_step'")] == [1]


def test_f8_the_machine_sleeps_for_eight_hours(place: Place, workers: Workers, measured: Measure) -> None:
    time = Time(place)
    worker = workers.ready(lease=15.0, ceiling=10.0)
    series = Series(soon(1), SECOND, 8 * 3600 + 10)
    due = add(place, Wanted("note", series, options={"missed": "merge"}), note(4 * HOUR, 0))
    until(lambda: begun(place, due[0]), LONG, "the first start")
    time.suspend(worker, 8 * HOUR)
    measured(
        "F8 eight hours of sleep", until(lambda: begun(place, due[1]), REPLANNED_SECONDS, "what was due meanwhile")
    )
    until_quiet(place, series.last, LONG, time.offset)
    assert judged(place, *due) == []
