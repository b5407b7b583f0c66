"""One forecast from its question to its report: the engine, its store and its time, and what stands there at the end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from random import Random
from types import MappingProxyType
from typing import Final

from ..engine.engine import Engine
from ..engine.settings import EngineSettings
from ..errors import Refusal
from ..model.accounts.principal import LOCAL
from ..model.change import Facts
from ..model.page import MAX_PAGE_SIZE
from ..model.task import Task
from ..ports.store import TaskFilter, Terms
from ..service.tasks.task_request import Duration, TaskRequest
from ..service.tasks.tasks import Tasks
from ..version import __version__
from ..virtual_time import VirtualClock, VirtualLoop
from .build_report import SimulatedRuns, build_report
from .recording_store import KIND, RecordingStore, SleepTarget, make_target, task_number
from .report import Report
from .request import Candidate, ForecastRequest, check_limits, read_span, read_takes
from .run_counts import RunCounts
from .undisturbed_tasks import UndisturbedRuns, find_undisturbed

MOST_ROWS: Final = 200_000
"""Runs and skips together: a forecast that met so many has seen enough, and says until when it got."""
USUAL_CAPACITY: Final = EngineSettings().capacity
_STEPS: Final = 100
_NEVER: Final = timedelta(days=36_500)
_DAY: Final = timedelta(days=1)
_NO_LANES: Final[Mapping[str, int]] = MappingProxyType({})

Progress = Callable[[float, datetime], None]


def forecast(  # noqa: PLR0913 - one question, with everything that it depends on
    candidates: Sequence[Candidate | TaskRequest],
    *,
    start: datetime,
    span: Duration,
    zone: str = "UTC",
    lanes: Mapping[str, int] = _NO_LANES,
    capacity: int = USUAL_CAPACITY,
    takes: Duration = "1s",
    most: int = MOST_ROWS,
    every_run: bool = False,
    progress: Progress | None = None,
) -> Report:
    """What these tasks would do if they were made at `start` and all went well, until `start` + `span`.

    `zone` is for wishes that name none, and for the report's days. `lanes` are limits by name, `capacity` is how many
    runs the node carries at once. `every_run` lets the engine carry those too that can meet nobody: slower, and the same.
    `progress` hears of the share that is done and the instant that was reached. It takes a loop of its own: from a
    coroutine, call it with `asyncio.to_thread`.
    """
    begin, end = read_span(start, span)
    check_limits(zone, lanes, capacity, most, MOST_ROWS)
    wishes = tuple(each.wish if isinstance(each, Candidate) else each for each in candidates)
    lasting = read_takes(candidates, takes)
    question = ForecastRequest(wishes, lasting, begin, end, zone, dict(lanes), capacity, most, every_run)
    with _captured_errors() as complaints:
        played = _Simulation(question).run(progress or _ignore_progress)
    if complaints:
        raise RuntimeError(f"The engine failed in the forecast: {complaints[0]}")
    return build_report(question, played)


class _Simulation:
    def __init__(self, question: ForecastRequest) -> None:
        self._question = question
        self._clock = VirtualClock(question.start)
        self._loop = VirtualLoop(self._clock)
        self._stopped = False
        self._counts = RunCounts(len(question.wishes), question.lanes, question.most, self._stop)
        self._store = RecordingStore(self._counts)
        self._engine: Engine | None = None

    def run(self, progress: Progress) -> SimulatedRuns:
        try:
            made, alone = self._loop.run_until_complete(self._set_up())
            self._travel(progress)
            until = self._clock.now() if self._stopped else self._question.end
            facts = self._loop.run_until_complete(self._facts())
        finally:
            self._close()
        return SimulatedRuns(self._counts, made, facts, alone, until, complete=not self._stopped)

    async def _set_up(self) -> tuple[tuple[Task | None, ...], Mapping[int, UndisturbedRuns]]:
        for name, limit in self._question.lanes.items():
            await self._store.set_lane(name, limit)
        # Chance that is the same every time: what a forecast says can be said again.
        tasks = Tasks(self._store, self._clock, self._question.zone, entropy=_seeded_random("tasks").randbytes)
        made = tuple([await _create_task(tasks, number, wish) for number, wish in enumerate(self._question.wishes)])
        alone = {} if self._question.every_run else find_undisturbed(self._question, made)
        for task in (made[number] for number in alone):
            if task is not None:
                await tasks.delete(LOCAL, task.id)
        self._counts.reserve_rows(sum(len(each.times) for each in alone.values()))
        self._engine = Engine(
            self._store,
            {KIND: SleepTarget(self._question.takes, self._clock)},
            self._clock,
            self._settings(),
            version=__version__,
            home="forecast",
            is_gone=lambda _home: False,
            entropy=_seeded_random("engine").randbytes,
        )
        await self._engine.start()
        return made, alone

    def _settings(self) -> EngineSettings:
        """Alone in its own time an engine needs no heartbeat; and what was counted need not be kept."""
        return EngineSettings(
            terms=Terms(lease=_NEVER),
            capacity=self._question.capacity,
            keep_for=_DAY,
            keep_runs=100,
            upkeep_every=_DAY,
            poll_interval=_NEVER,
            report_delays=False,
            fine_timer=False,
            lease_thread=False,
        )

    def _travel(self, progress: Progress) -> None:
        start, end = self._question.start, self._question.end
        for step in range(1, _STEPS + 1):
            goal = start + (end - start) * step / _STEPS
            self._loop.travel(goal - self._clock.now())
            progress(step / _STEPS, self._clock.now())
            if self._stopped:
                return

    def _stop(self) -> None:
        self._stopped = True
        self._loop.stop()

    async def _facts(self) -> dict[int, Facts]:
        """What still stands there, by the number of the task; what is over may have been forgotten."""
        found: dict[int, Facts] = {}
        after: str | None = None
        while True:
            page = await self._store.tasks(TaskFilter(), after, MAX_PAGE_SIZE)
            found |= {task_number(facts.task.target): facts for facts in page.items}
            after = page.after
            if after is None:
                return found

    def _close(self) -> None:
        """Whatever still goes on ends with the forecast."""
        if self._engine is not None:
            self._engine.kill()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()


async def _create_task(tasks: Tasks, number: int, wish: TaskRequest) -> Task | None:
    """None for one that would never run: that is for the report to say. Whatever else is wrong with a wish is refused."""
    try:
        return await tasks.create(LOCAL, wish._replace(target=make_target(number), key=None))
    except Refusal as refusal:
        if refusal.code == "never_fires":
            return None
        refusal.add_note(f"This was task number {number + 1}, {wish.name!r}.")
        raise


@contextmanager
def _captured_errors() -> Iterator[list[str]]:
    """Nobody wants to read in a log what did not happen; but an engine that breaks must not go unnoticed."""
    complaints: list[str] = []
    here = threading.get_ident()

    def heard(record: logging.LogRecord) -> bool:
        if record.thread != here:
            return True
        if record.levelno >= logging.ERROR:
            complaints.append(
                f"{record.getMessage()} {record.exc_info[1]!r}" if record.exc_info else record.getMessage()
            )
        return False

    # A filter of a logger does not see what its children log.
    logs = [logging.getLogger(name) for name in ("horae", "horae.runs")]
    for log in logs:
        log.addFilter(heard)
    try:
        yield complaints
    finally:
        for log in logs:
            log.removeFilter(heard)


def _seeded_random(name: str) -> Random:
    return Random(f"forecast/{name}")  # noqa: S311 - chance that can be repeated is the point


def _ignore_progress(_share: float, _at: datetime) -> None:
    """Nobody listens."""
