"""From what was counted to what is reported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..lifecycle.entry_removal import count_occurrences
from ..model.change import Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.run import Origin
from ..model.task import Task
from .busiest import BusySpan, count_by_day, count_max_concurrent, find_busiest
from .clock_hits import clock_hits
from .findings import add_findings
from .report import Began, Busiest, Day, LaneForecast, Report, TaskForecast
from .request import ForecastRequest
from .run_counts import NONE, LaneCounts, RunCounts
from .undisturbed_tasks import UndisturbedRuns

_MINUTE: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
_FIRST: Final = 100
"""So many starts are told one by one."""


class SimulatedRuns(NamedTuple):
    """A forecast that is over: what was counted, the tasks that were made, and what stands there at the end."""

    tally: RunCounts
    made: tuple[Task | None, ...]
    facts: Mapping[int, Facts]
    alone: Mapping[int, UndisturbedRuns]
    until: datetime
    complete: bool
    """Where it was stopped before its end, what is due in that very instant may not have been looked at."""

    def came_due(self, entry: Entry) -> bool:
        """Whether an entry stands for occurrences that have come, and have neither begun nor been skipped."""
        if entry.origin is not Origin.SCHEDULED or entry.kind not in (EntryKind.NEXT, EntryKind.WAITING):
            return False
        looked_at = self.complete or entry.state in (EntryState.PARKED, EntryState.HELD)
        return entry.due <= self.until if looked_at else entry.due < self.until


def build_report(question: ForecastRequest, played: SimulatedRuns) -> Report:
    tally = played.tally
    _add_solitary(question, played)
    begun = sorted(tally.begun)
    tasks = tuple(_task(question, played, number) for number in range(len(question.wishes)))
    at_once = count_max_concurrent(sorted(tally.started), sorted(tally.ended))
    report = Report(
        start=question.start,
        end=question.end,
        until=played.until,
        zone=question.zone,
        capacity=question.capacity,
        runs=sum(task.ran for task in tasks),
        skipped=sum(sum(task.skipped.values()) for task in tasks),
        most_at_once=min(at_once, question.capacity),
        busiest_minute=_busiest(find_busiest(((each.at, each.task) for each in begun), _MINUTE), tasks),
        busiest_second=_busiest(find_busiest(sorted(tally.due), _SECOND), tasks),
        tasks=tasks,
        lanes=tuple(_lane(question, played, name, lane) for name, lane in sorted(tally.lanes.items())),
        first_starts=tuple(begun[:_FIRST]),
        days=_days(begun, tally.skips, question.zone),
        findings=(),
    )
    return add_findings(report, played.made)


def _add_solitary(question: ForecastRequest, played: SimulatedRuns) -> None:
    for number, alone in played.alone.items():
        takes = question.takes[number]
        for at, planned in alone.times:
            if at <= played.until:
                end = at + takes
                played.tally.record_undisturbed(number, at, planned, end if end <= played.until else None)


def _task(question: ForecastRequest, played: SimulatedRuns, number: int) -> TaskForecast:
    wish, tally = question.wishes[number], played.tally.tasks[number]
    task, waiting = played.made[number], _waiting(played, number)
    schedule = None if task is None else task.schedule
    return TaskForecast(
        name=wish.name,
        owner=wish.owner or ("local" if task is None else task.owner),
        zone=(schedule and schedule.zone) or wish.zone or question.zone,
        lane=wish.lane,
        takes=question.takes[number],
        planned=tally.ran + tally.skipped.total() + waiting,
        ran=tally.ran,
        skipped=dict(sorted(tally.skipped.items())),
        waiting=waiting,
        cut_short=tally.cut_short,
        first=tally.first,
        last=tally.last,
        upcoming=_upcoming(played, number),
        lateness_max=max(tally.lateness, default=NONE),
        lateness_p99=_nearly_all(tally.lateness),
        lane_wait_max=tally.lane_wait,
        capacity_wait_max=tally.capacity_wait,
        overlaps=tally.overlaps,
        overlap_examples=tuple(tally.examples),
        clock_changes=() if schedule is None else clock_hits(schedule, question.start, played.until),
    )


def _waiting(played: SimulatedRuns, number: int) -> int:
    facts = played.facts.get(number)
    if facts is None:
        return 0
    return sum(count_occurrences(facts, entry, played.until) for entry in facts.entries if played.came_due(entry))


def _upcoming(played: SimulatedRuns, number: int) -> datetime | None:
    facts, alone = played.facts.get(number), played.alone.get(number)
    if alone is not None:
        return next((planned for due, planned in alone.times if due > played.until), alone.upcoming)
    entries = () if facts is None else facts.entries
    return next((each.planned for each in entries if each.kind is EntryKind.NEXT and not played.came_due(each)), None)


def _nearly_all(lateness: list[timedelta]) -> timedelta:
    """99 of 100 were no later than this."""
    ranked = sorted(lateness)
    return ranked[-(-len(ranked) * 99 // 100) - 1] if ranked else NONE


def _busiest(crowd: BusySpan | None, tasks: tuple[TaskForecast, ...]) -> Busiest | None:
    if crowd is None:
        return None
    ranked = sorted(crowd.tasks.items(), key=lambda each: (-each[1], each[0]))
    return Busiest(crowd.at, crowd.tasks.total(), tuple((tasks[number].name, count) for number, count in ranked))


def _days(begun: list[Began], skips: list[tuple[datetime, int]], zone: str) -> tuple[Day, ...]:
    ran, skipped = count_by_day(((each.at, 1) for each in begun), zone), count_by_day(skips, zone)
    return tuple(Day(each, ran[each], skipped[each]) for each in sorted({*ran, *skipped}))


def _lane(question: ForecastRequest, played: SimulatedRuns, name: str, lane: LaneCounts) -> LaneForecast:
    length = played.until - question.start
    return LaneForecast(
        name=name,
        limit=lane.limit,
        runs=lane.runs,
        peak_wanted=lane.peak,
        full_share=lane.full_until(played.until) / length if length else 0.0,
        longest_wait=max(lane.longest, played.tally.longest_parked(lane, played.until)),
        tasks=tuple(wish.name for wish in question.wishes if wish.lane == name),
    )
