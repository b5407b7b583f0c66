"""Planned runs: the future occurrences of the tasks that a principal sees, listed or counted per period, at a bounded cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import chain, islice, pairwise
from typing import Any, Final, NamedTuple, TypeVar

from ...clock import Clock
from ...lifecycle.planned import Bounds, PlannedOccurrence, count_planned, iterate_planned
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.entry import CLAIMABLE
from ...model.page import MAX_PAGE_SIZE
from ...model.refusals import refuse
from ...model.task import Task, past_of
from ...model.text.field_checks import check_number
from ...ports.full_store import FullStore
from ...schedule.instants import SECOND, to_instant
from ...schedule.lint import clock_change_warnings
from ...schedule.warnings import ScheduleWarning
from ...schedule.zones import find_zone
from ..accounts.rights import refuse_agent

MAX_TASKS: Final = 500
"""Tasks that are considered, soonest first."""
FEWER_TASKS: Final = 200
"""Tasks that are considered where there are more than `MAX_TASKS`: then the numbers are lower bounds in any case."""
MAX_PERIODS: Final = 200
"""Periods of one count: a week of hours, with room for days with 25."""
MAX_AFFECTED: Final = 20
"""Tasks that are named with a clock change."""
MAX_SPAN: Final = timedelta(days=62)
CACHED_SECONDS: Final = 30.0
CACHED_SECONDS_AFTER_WRITE: Final = 2.0
"""A write of this process outdates cached answers that are older than this."""
_MAX_CACHED: Final = 64
"""Counts and clock changes only: lists would take megabytes."""
_SLICE_SECONDS: Final = 0.002
"""Other coroutines run after so long: an engine may share the event loop."""
_HOUR: Final = timedelta(hours=1)
_FIRST_YEAR: Final = 1971
_LAST_YEAR: Final = 9990
_T = TypeVar("_T")


class PlannedRun(NamedTuple):
    """One occurrence to come. `attempt` above 1 is a retry; `is_estimate` marks `every … after end`."""

    task: Task
    occurrence: PlannedOccurrence

    @property
    def due(self) -> datetime:
        return self.occurrence.due


class PlannedList(NamedTuple):
    """Occurrences by due instant. `is_partial`: there may be more, of tasks that were not considered or beyond the limit."""

    items: tuple[PlannedRun, ...]
    is_partial: bool = False


class PlannedPeriod(NamedTuple):
    """Number of occurrences that are due in [since, until)."""

    since: datetime
    until: datetime
    number: int


class PlannedCounts(NamedTuple):
    """`is_partial`: the numbers are lower bounds, because there are more tasks than were considered."""

    periods: tuple[PlannedPeriod, ...]
    is_partial: bool = False

    @property
    def total(self) -> int:
        return sum(period.number for period in self.periods)


class AffectedTask(NamedTuple):
    """A clock change that moves, drops or repeats an occurrence of a task; `warning` says how."""

    at: datetime
    task: Task
    warning: ScheduleWarning


class _Outlook(NamedTuple):
    """Tasks with the soonest entries. What is due before `complete_until` belongs to one of them; None: they are all."""

    facts: tuple[Facts, ...]
    complete_until: datetime | None


@dataclass(slots=True)
class _Cache:
    """Values with the steady instant and the number of writes at which they were computed."""

    values: dict[Hashable, tuple[Any, float, int]] = field(default_factory=dict)

    def get(self, key: Hashable, now: float, writes: int) -> Any:
        value, at, writes_then = self.values.get(key, (None, -CACHED_SECONDS, -1))
        lifetime = CACHED_SECONDS if writes_then == writes else CACHED_SECONDS_AFTER_WRITE
        return value if now < at + lifetime else None

    def put(self, key: Hashable, value: Any, now: float, writes: int) -> None:
        if len(self.values) >= _MAX_CACHED:
            self.values.clear()
        self.values[key] = value, now, writes


class PlannedRuns:
    def __init__(self, store: FullStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cache = _Cache()
        self._writes = 0
        self._recent: tuple[_Outlook, str | None, float, int] | None = None
        # Pages that are open at the same time ask for the same numbers: one computes them, the others wait.
        self._lock = asyncio.Lock()

    def note_write(self) -> None:
        """Let cached values expire sooner, because a task was written."""
        self._writes += 1

    async def per_hour(self, principal: Principal, since: datetime, until: datetime) -> PlannedCounts:
        """Count the occurrences of each hour, from the hour of `since` to the hour that contains or ends at `until`.

        The past part of the current hour counts only what is overdue.
        """
        _check_span(since, until)
        begin = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        number = -((begin - until) // _HOUR)
        return await self.per_period(principal, [begin + place * _HOUR for place in range(number + 1)])

    async def per_period(self, principal: Principal, bounds: Sequence[datetime]) -> PlannedCounts:
        """Count the occurrences between each two neighbours of `bounds`, which rise; at most `MAX_PERIODS` periods."""
        scope = _check_rights(principal)
        _check_bounds(bounds)
        key = ("counts", scope, *bounds)
        return await self._cached(key, lambda: self._count(scope, bounds))

    async def list(self, principal: Principal, since: datetime, until: datetime, limit: int = 100) -> PlannedList:
        """Return the first `limit` occurrences that are due in [since, until), by due instant."""
        scope = _check_rights(principal)
        _check_span(since, until)
        check_number("limit", limit, 1, MAX_PAGE_SIZE)
        return await self._list(scope, since, until, limit)

    async def clock_changes(self, principal: Principal, since: datetime, until: datetime) -> tuple[AffectedTask, ...]:
        """Return the tasks whose planned wall times fall into a clock change in (since, until], by instant; a few of them."""
        scope = _check_rights(principal)
        _check_span(since, until)
        return await self._cached(("changes", scope, since, until), lambda: self._find_changes(scope, since, until))

    async def _find_changes(self, scope: str | None, since: datetime, until: datetime) -> tuple[AffectedTask, ...]:
        found: list[AffectedTask] = []
        async for facts in self._in_slices((await self._load(scope)).facts):
            task = facts.task
            if (
                len(found) < MAX_AFFECTED
                and task.schedule.zone is not None
                and _has_change(task.schedule.zone, since, until)
            ):
                warnings = clock_change_warnings(task.schedule, since, until, past_of(task, facts.status))
                found += (AffectedTask(at, task, warning) for at, warning in warnings)
        return tuple(sorted(found, key=lambda each: (each.at, each.task.id))[:MAX_AFFECTED])

    async def _count(self, scope: str | None, bounds: Sequence[datetime]) -> PlannedCounts:
        outlook, now = await self._load_recent(scope), self._clock.now()
        totals, complete_until, limits = [0] * (len(bounds) - 1), outlook.complete_until, Bounds.of(bounds)
        async for facts in self._in_slices(outlook.facts):
            numbers, counted_until = count_planned(facts, now, limits)
            totals = [total + number for total, number in zip(totals, numbers, strict=True)]
            complete_until = _earlier(complete_until, counted_until)
        periods = tuple(
            PlannedPeriod(since, until, number) for (since, until), number in zip(pairwise(bounds), totals, strict=True)
        )
        return PlannedCounts(periods, complete_until is not None and complete_until < bounds[-1])

    async def _list(self, scope: str | None, since: datetime, until: datetime, limit: int) -> PlannedList:
        outlook, now = await self._load(scope), self._clock.now()
        courses: list[Iterator[PlannedRun]] = []
        async for facts in self._in_slices(outlook.facts):
            course = _iterate(facts, now, since, until)
            first = next(course, None)
            if first is not None:
                courses.append(chain((first,), course))
        found = tuple(islice(merge(*courses, key=lambda run: (run.due, run.task.id)), limit + 1))
        is_partial = len(found) > limit or (outlook.complete_until is not None and outlook.complete_until < until)
        return PlannedList(found[:limit], is_partial)

    async def _load(self, scope: str | None) -> _Outlook:
        found = await self._store.upcoming(scope, MAX_TASKS + 1)
        if len(found) <= MAX_TASKS:
            return _Outlook(found, None)
        number = min(FEWER_TASKS, MAX_TASKS)
        dues = [entry.due for entry in found[number].entries if entry.state in CLAIMABLE]
        return _Outlook(found[:number], min(dues, default=self._clock.now()))

    async def _load_recent(self, scope: str | None) -> _Outlook:
        """Load the tasks, or return those that the count of other periods has just loaded for the same page."""
        now, writes = self._clock.steady(), self._writes
        if self._recent is not None:
            outlook, loaded_scope, at, writes_then = self._recent
            if (loaded_scope, writes_then) == (scope, writes) and now < at + CACHED_SECONDS_AFTER_WRITE:
                return outlook
        outlook = await self._load(scope)
        self._recent = outlook, scope, now, writes
        return outlook

    async def _in_slices(self, found: Iterable[Facts]) -> AsyncIterator[Facts]:
        """Yield the tasks, and give way to other coroutines between them."""
        since = self._clock.steady()
        for facts in found:
            yield facts
            if self._clock.steady() - since > _SLICE_SECONDS:
                await self._clock.pause(0)
                since = self._clock.steady()

    async def _cached(self, key: Hashable, compute: Callable[[], Awaitable[_T]]) -> _T:
        found: _T | None = self._cache.get(key, self._clock.steady(), self._writes)
        if found is not None:
            return found
        async with self._lock:
            # The lifetime counts from before the read, so that a change after it is seen in time.
            now, writes = self._clock.steady(), self._writes
            found = self._cache.get(key, now, writes)
            if found is None:
                found = await compute()
                self._cache.put(key, found, now, writes)
        return found


def _check_rights(principal: Principal) -> str:
    """Return the owner whose tasks the principal sees, or the scope of all owners."""
    refuse_agent(principal, "planned runs")
    principal.require_scope(Scope.READ)
    return principal.list_scope


def _check_span(since: datetime, until: datetime) -> None:
    for at in (since, until):
        if at.tzinfo is None:
            raise refuse("naive_instant", value=at)
    is_far = since.year < _FIRST_YEAR or until.year > _LAST_YEAR
    if is_far or not timedelta(0) < until - since <= MAX_SPAN:
        raise refuse("bad_period", since=since.isoformat(), until=until.isoformat(), most=f"{MAX_SPAN.days}d")


def _check_bounds(bounds: Sequence[datetime]) -> None:
    _check_span(bounds[0], bounds[-1])
    if len(bounds) > MAX_PERIODS + 1 or any(later <= earlier for earlier, later in pairwise(bounds)):
        since, until = bounds[0].isoformat(), bounds[-1].isoformat()
        raise refuse("bad_period", since=since, until=until, most=f"{MAX_PERIODS}h")


def _has_change(zone: str, since: datetime, until: datetime) -> bool:
    changes = find_zone(zone).changes(to_instant(since) // SECOND, to_instant(until) // SECOND)
    return next(changes, None) is not None


def _iterate(facts: Facts, now: datetime, since: datetime, until: datetime) -> Iterator[PlannedRun]:
    for occurrence in iterate_planned(facts, now, since, until):
        yield PlannedRun(facts.task, occurrence)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return other if one is None else one if other is None else min(one, other)
