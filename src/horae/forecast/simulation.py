"""Runs one forecast: creates the tasks in memory, runs the engine in virtual time, builds the report."""

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
from ..model.lanes.rate import Rate
from ..model.page import MAX_PAGE_SIZE
from ..model.task import Task
from ..ports.store import TaskFilter, Terms
from ..service.runs.lanes import Lanes
from ..service.tasks.task_request import Duration, TaskRequest
from ..service.tasks.tasks import Tasks
from ..version import __version__
from ..virtual_time import VirtualClock, VirtualLoop
from .build_report import SimulatedRuns, build_report
from .prepared_tasks import linked_request, prepare_tasks
from .recording_store import KIND, RecordingStore, SleepTarget, task_number
from .report import Report
from .request import Candidate, ForecastRequest, check_limits, read_span, read_takes
from .run_counts import RunCounts
from .undisturbed_tasks import UndisturbedRuns, find_undisturbed

MOST_ROWS: Final = 200_000
"""Limit of runs and skips of a forecast; it stops there, and the report says at which instant."""
USUAL_CAPACITY: Final = EngineSettings().capacity
_STEPS: Final = 100
_NEVER: Final = timedelta(days=36_500)
_DAY: Final = timedelta(days=1)
_NO_LANES: Final[Mapping[str, int]] = MappingProxyType({})
_NO_RATES: Final[Mapping[str, Rate]] = MappingProxyType({})

Progress = Callable[[float, datetime], None]


def forecast(  # noqa: PLR0913 - one request, with everything that it depends on
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
    rates: Mapping[str, Rate] = _NO_RATES,
) -> Report:
    """Report what these tasks would do until `start` + `span` if they were created at `start` and every run succeeded.

    Gates are open, nodes with the required labels exist, and nothing is sent to people; the report says so.
    `zone` is the default of the tasks and the zone of the report's days. `lanes` are limits by name, `rates` the rates
    of such lanes as have one, `capacity` is the number of concurrent runs of the node. `every_run` executes undisturbed tasks on the engine too: slower, same report.
    `progress` is called with the share done and the instant reached. Uses its own event loop: from a coroutine, call it
    with `asyncio.to_thread`.
    """
    begin, end = read_span(start, span)
    check_limits(zone, lanes, capacity, most, MOST_ROWS)
    task_requests = tuple(each.request if isinstance(each, Candidate) else each for each in candidates)
    lasting = read_takes(candidates, takes)
    ids = tuple(each.id if isinstance(each, Candidate) else None for each in candidates)
    request = ForecastRequest(
        task_requests, lasting, begin, end, zone, dict(lanes), capacity, most, every_run, dict(rates), ids
    )
    with _captured_errors() as errors:
        finished = _Simulation(request).run(progress or _ignore_progress)
    if errors:
        raise RuntimeError(f"The engine failed in the forecast: {errors[0]}")
    return build_report(request, finished)


class _Simulation:
    def __init__(self, request: ForecastRequest) -> None:
        self._request = request
        # First, because it refuses requests, and the event loop is not closed before it runs.
        self._prepared = prepare_tasks(request)
        self._clock = VirtualClock(request.start)
        self._loop = VirtualLoop(self._clock)
        self._stopped = False
        self._counts = RunCounts(len(request.task_requests), request.lanes, request.most, self._stop)
        self._store = RecordingStore(self._counts, request.takes)
        self._engine: Engine | None = None

    def run(self, progress: Progress) -> SimulatedRuns:
        try:
            made, undisturbed = self._loop.run_until_complete(self._set_up())
            self._travel(progress)
            until = self._clock.now() if self._stopped else self._request.end
            facts = self._loop.run_until_complete(self._facts())
        finally:
            self._close()
        is_complete = not self._stopped
        return SimulatedRuns(self._counts, made, facts, undisturbed, until, self._prepared, complete=is_complete)

    async def _set_up(self) -> tuple[tuple[Task | None, ...], Mapping[int, UndisturbedRuns]]:
        lanes = Lanes(self._store, self._clock)
        for name in {**self._request.lanes, **self._request.rates}:
            await lanes.limit(LOCAL, name, self._request.lanes.get(name), rate=self._request.rates.get(name, "keep"))
        # Seeded: equal requests have equal reports.
        tasks = Tasks(self._store, self._clock, self._request.zone, entropy=_seeded_random("tasks").randbytes)
        made = await self._create_tasks(tasks)
        for use in await self._store.lanes():
            self._counts.add_lane(use)
        undisturbed = (
            {} if self._request.every_run else find_undisturbed(self._request, made, self._prepared.predecessors)
        )
        for task in (made[number] for number in undisturbed):
            if task is not None:
                await tasks.delete(LOCAL, task.id)
        self._counts.reserve_rows(sum(len(each.times) for each in undisturbed.values()))
        self._engine = Engine(
            self._store,
            {KIND: SleepTarget(self._request.takes, self._clock)},
            self._clock,
            self._settings(),
            version=__version__,
            home="forecast",
            is_gone=lambda _home: False,
            entropy=_seeded_random("engine").randbytes,
        )
        await self._engine.start()
        return made, undisturbed

    async def _create_tasks(self, tasks: Tasks) -> tuple[Task | None, ...]:
        """Create the tasks, each after its predecessors; None for those that never fire, which is a finding."""
        made: list[Task | None] = [None] * len(self._prepared.tasks)
        ids: dict[int, str] = {}
        for number in self._prepared.order:
            request = linked_request(self._prepared.tasks[number], ids)
            task = made[number] = None if request is None else await _create_task(tasks, number, request)
            if task is not None:
                ids[number] = task.id
        return tuple(made)

    def _settings(self) -> EngineSettings:
        """No heartbeats for a single engine in virtual time; runs are counted, so few are kept."""
        return EngineSettings(
            terms=Terms(lease=_NEVER),
            capacity=self._request.capacity,
            keep_for=_DAY,
            keep_runs=100,
            upkeep_every=_DAY,
            poll_interval=_NEVER,
            report_delays=False,
            fine_timer=False,
            lease_thread=False,
        )

    def _travel(self, progress: Progress) -> None:
        start, end = self._request.start, self._request.end
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
        """Facts of the remaining tasks by number; retention may have deleted ended ones."""
        found: dict[int, Facts] = {}
        after: str | None = None
        while True:
            page = await self._store.tasks(TaskFilter(), after, MAX_PAGE_SIZE)
            found |= {task_number(facts.task.target): facts for facts in page.items}
            after = page.after
            if after is None:
                return found

    def _close(self) -> None:
        """Stop the engine and cancel all asyncio tasks."""
        if self._engine is not None:
            self._engine.kill()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()


async def _create_task(tasks: Tasks, number: int, task_request: TaskRequest) -> Task | None:
    """Create a task; None if it never fires, which becomes a finding. Other refusals are raised."""
    try:
        return await tasks.create(LOCAL, task_request)
    except Refusal as refusal:
        if refusal.code == "never_fires":
            return None
        refusal.add_note(f"This was task number {number + 1}, {task_request.name!r}.")
        raise


@contextmanager
def _captured_errors() -> Iterator[list[str]]:
    """Suppress the engine's log on this thread and collect its errors."""
    errors: list[str] = []
    here = threading.get_ident()

    def capture(record: logging.LogRecord) -> bool:
        if record.thread != here:
            return True
        if record.levelno >= logging.ERROR:
            errors.append(f"{record.getMessage()} {record.exc_info[1]!r}" if record.exc_info else record.getMessage())
        return False

    # A logger's filter does not apply to records of its children.
    logs = [logging.getLogger(name) for name in ("horae", "horae.runs")]
    for log in logs:
        log.addFilter(capture)
    try:
        yield errors
    finally:
        for log in logs:
            log.removeFilter(capture)


def _seeded_random(name: str) -> Random:
    return Random(f"forecast/{name}")  # noqa: S311 - seeded on purpose


def _ignore_progress(_share: float, _at: datetime) -> None:
    """"""
