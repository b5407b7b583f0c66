"""Builds the report of a forecast from its counters: busiest moments, and the clock changes (DST) that affect each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby, islice
from typing import Final, NamedTuple

from ..lifecycle.event_rows import count_occurrences
from ..model.change import Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.ids import from_microseconds, to_microseconds
from ..model.lanes.lane import MAX_LANE_LIMIT
from ..model.origin import AUTOMATIC
from ..model.task import Task
from ..schedule import Past, Schedule
from ..schedule.instants import SECOND, to_datetime, wall_reading
from ..schedule.lint import ClockChange, Effect, schedule_clock_changes
from ..schedule.warnings import make_warning
from ..schedule.zones import find_zone
from .findings import add_findings
from .prepared_tasks import PreparedTasks
from .report import Began, Busiest, ClockHit, Day, LaneForecast, Report, TaskForecast
from .request import ForecastRequest
from .run_counts import NONE, LaneCounts, RunCounts
from .undisturbed_tasks import UndisturbedRuns

_MICROSECONDS: Final = 1_000_000


class BusySpan(NamedTuple):
    """Start of the span, and occurrences by task number."""

    at: datetime
    tasks: Counter[int]


def find_busiest(times: Iterable[tuple[datetime, int]], width: timedelta) -> BusySpan | None:
    """Span of that width with the most occurrences; the first of equals. `times` are sorted."""
    size = to_microseconds(from_microseconds(0) + width)
    best: BusySpan | None = None
    for place, group in groupby(times, key=lambda each: to_microseconds(each[0]) // size):
        came = Counter(number for _, number in group)
        if best is None or came.total() > best.tasks.total():
            best = BusySpan(from_microseconds(place * size), came)
    return best


def count_max_concurrent(begun: Sequence[datetime], ended: Sequence[datetime]) -> int:
    """Largest number of concurrent runs; both lists are sorted. A run that ends as another starts does not overlap it."""
    most = gone = 0
    for place, at in enumerate(begun, 1):
        while gone < len(ended) and ended[gone] <= at:
            gone += 1
        most = max(most, place - gone)
    return most


def count_by_day(times: Iterable[tuple[datetime, int]], zone: str) -> Counter[date]:
    """Count by date in a zone."""
    found, days = find_zone(zone), Counter[date]()
    for at, count in times:
        offset = found.offset(to_microseconds(at) // _MICROSECONDS)
        days[(at + timedelta(seconds=offset)).date()] += count
    return days


_MOST: Final = 50
_SENTENCES: Final[dict[Effect, str]] = {
    "moved": "gap_moved",
    "shifted": "gap_shifted",
    "dropped": "gap_dropped",
    "flowing_gap": "gap_flowing",
    "first": "fold_first",
    "last": "fold_last",
    "both": "fold_both",
    "flowing_fold": "fold_flowing",
}


def clock_hits(schedule: Schedule, start: datetime, end: datetime) -> tuple[ClockHit, ...]:
    """Clock changes in (start, end] that some wall time of the schedule falls into."""
    changes = schedule_clock_changes(schedule, start, end, Past(start))
    return tuple(_hit(change) for change in islice(changes, _MOST))


def _hit(change: ClockChange) -> ClockHit:
    code = _SENTENCES[change.effect]
    warning = make_warning(
        code,
        date=f"{wall_reading(change.wall):%Y-%m-%d}",
        before=_clock(change.before, change.wall),
        after=_clock(change.after, change.wall),
        wall=_clock(change.wall, change.wall),
        runs_at="" if change.runs_at is None else _clock(change.runs_at, change.wall),
    )
    at = to_datetime(change.instant * SECOND)
    return ClockHit(at, "gap" if code.startswith("gap") else "fold", change.effect, warning.sentences)


def _clock(wall: int, reference: int) -> str:
    """Format a time of day, with its date if that differs from the date of `reference`."""
    reading = wall_reading(wall)
    shape = "%H:%M:%S" if reading.second else "%H:%M"
    return f"{reading:{shape}}" if wall // 86_400 == reference // 86_400 else f"{reading:%Y-%m-%d {shape}}"


_OCCURRENCES: Final = frozenset({EntryKind.NEXT, EntryKind.WAITING, EntryKind.CHAIN})
_MINUTE: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
_FIRST: Final = 100
"""Starts that the report lists one by one."""


class SimulatedRuns(NamedTuple):
    """A finished simulation: its counters, the created tasks, and their facts at the end."""

    counts: RunCounts
    made: tuple[Task | None, ...]
    facts: Mapping[int, Facts]
    undisturbed: Mapping[int, UndisturbedRuns]
    until: datetime
    prepared: PreparedTasks
    complete: bool
    """False: stopped early, and entries due at `until` may not have been claimed."""

    def came_due(self, entry: Entry) -> bool:
        """Whether the entry has occurrences that came due and were neither started nor skipped."""
        if entry.origin not in AUTOMATIC or entry.kind not in _OCCURRENCES:
            return False
        was_claimable = self.complete or entry.state in (EntryState.PARKED, EntryState.HELD)
        return entry.due <= self.until if was_claimable else entry.due < self.until


def build_report(request: ForecastRequest, finished: SimulatedRuns) -> Report:
    counts = finished.counts
    _add_undisturbed(request, finished)
    begun = sorted(counts.begun)
    tasks = tuple(_task(request, finished, number) for number in range(len(request.task_requests)))
    at_once = count_max_concurrent(sorted(counts.started), sorted(counts.ended))
    report = Report(
        start=request.start,
        end=request.end,
        until=finished.until,
        zone=request.zone,
        capacity=request.capacity,
        runs=sum(task.ran for task in tasks),
        skipped=sum(sum(task.skipped.values()) for task in tasks),
        most_at_once=min(at_once, request.capacity),
        busiest_minute=_busiest(find_busiest(((each.at, each.task) for each in begun), _MINUTE), tasks),
        busiest_second=_busiest(find_busiest(sorted(counts.due), _SECOND), tasks),
        tasks=tasks,
        lanes=tuple(_lane(request, finished, name, lane) for name, lane in sorted(counts.lanes.items())),
        first_starts=tuple(begun[:_FIRST]),
        days=_days(begun, counts.skips, request.zone),
        findings=(),
    )
    return add_findings(report, finished.made, finished.prepared)


def _add_undisturbed(request: ForecastRequest, finished: SimulatedRuns) -> None:
    for number, undisturbed in finished.undisturbed.items():
        takes = request.takes[number]
        for at, planned in undisturbed.times:
            if at <= finished.until:
                end = at + takes
                finished.counts.record_undisturbed(number, at, planned, end if end <= finished.until else None)


def _task(request: ForecastRequest, finished: SimulatedRuns, number: int) -> TaskForecast:
    task_request, counts = request.task_requests[number], finished.counts.tasks[number]
    task, waiting = finished.made[number], _waiting(finished, number)
    schedule = None if task is None else task.schedule
    return TaskForecast(
        name=task_request.name,
        owner=task_request.owner or ("local" if task is None else task.owner),
        zone=(schedule and schedule.zone) or task_request.zone or request.zone,
        lane=task_request.lane if task is None else task.lane,
        takes=request.takes[number],
        planned=counts.ran + counts.skipped.total() + waiting,
        ran=counts.ran,
        skipped=dict(sorted(counts.skipped.items())),
        waiting=waiting,
        cut_short=counts.cut_short,
        first=counts.first,
        last=counts.last,
        upcoming=_upcoming(finished, number),
        lateness_max=max(counts.lateness, default=NONE),
        lateness_p99=_percentile_99(counts.lateness),
        lane_wait_max=counts.lane_wait,
        capacity_wait_max=counts.capacity_wait,
        overlaps=counts.overlaps,
        overlap_examples=tuple(counts.examples),
        clock_changes=() if schedule is None else clock_hits(schedule, request.start, finished.until),
    )


def _waiting(finished: SimulatedRuns, number: int) -> int:
    facts = finished.facts.get(number)
    if facts is None:
        return 0
    return sum(count_occurrences(facts, entry, finished.until) for entry in facts.entries if finished.came_due(entry))


def _upcoming(finished: SimulatedRuns, number: int) -> datetime | None:
    facts, undisturbed = finished.facts.get(number), finished.undisturbed.get(number)
    if undisturbed is not None:
        return next((planned for due, planned in undisturbed.times if due > finished.until), undisturbed.upcoming)
    entries = () if facts is None else facts.entries
    return next((each.planned for each in entries if each.kind is EntryKind.NEXT and not finished.came_due(each)), None)


def _percentile_99(lateness: list[timedelta]) -> timedelta:
    """99th percentile."""
    ranked = sorted(lateness)
    return ranked[-(-len(ranked) * 99 // 100) - 1] if ranked else NONE


def _busiest(span: BusySpan | None, tasks: tuple[TaskForecast, ...]) -> Busiest | None:
    if span is None:
        return None
    ranked = sorted(span.tasks.items(), key=lambda each: (-each[1], each[0]))
    return Busiest(span.at, span.tasks.total(), tuple((tasks[number].name, count) for number, count in ranked))


def _days(begun: list[Began], skips: list[tuple[datetime, int]], zone: str) -> tuple[Day, ...]:
    ran, skipped = count_by_day(((each.at, 1) for each in begun), zone), count_by_day(skips, zone)
    return tuple(Day(each, ran[each], skipped[each]) for each in sorted({*ran, *skipped}))


def _lane(request: ForecastRequest, finished: SimulatedRuns, name: str, lane: LaneCounts) -> LaneForecast:
    length = finished.until - request.start
    return LaneForecast(
        name=name,
        limit=None if lane.limit >= MAX_LANE_LIMIT else lane.limit,
        rate=lane.rate,
        runs=lane.runs,
        peak_wanted=lane.peak,
        full_share=lane.full_until(finished.until) / length if length else 0.0,
        longest_wait=max(lane.longest, finished.counts.longest_parked(lane, finished.until)),
        tasks=tuple(task.name for task in finished.made if task is not None and name in task.lanes),
    )
