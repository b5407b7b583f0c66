"""Guarantees 2 and 3: every planned instant of a task's life is accounted for, exactly once, and nothing else is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from ...model.entry import Entry, EntryKind
from ...model.run import Origin, Run, RunState
from ...model.task import TaskState
from ...schedule import Every
from ..evidence import Evidence
from .oracle import FAR, Stretch, counts_from_end, due_of, planned_in, stretches
from .outcomes import SETTLED_WITHIN
from .story import Story
from .violation import Violation

_MICROSECOND: Final = timedelta(microseconds=1)


def check_planned(evidence: Evidence, stories: Mapping[str, Story]) -> Iterator[Violation]:
    told: dict[str, int] = {}
    for number, event in evidence.events:
        if event.run_id is not None:
            told.setdefault(event.run_id, number)
    rows: dict[str, list[Run]] = defaultdict(list)
    for (task_id, origin, _), runs in evidence.occurrences.items():
        if origin is Origin.SCHEDULED:
            rows[task_id].append(runs[0])
    for task_id, story in stories.items():
        account = _Account(evidence, story, rows[task_id], told)
        yield from account.once()
        for stretch, planned in account.life:
            yield from account.complete(stretch, planned)
            yield from account.repeats(stretch)
            yield from account.over_in_time(stretch)
        yield from _chained(evidence, story, rows[task_id])


class _Account:
    """The first row of each scheduled occurrence of one task, against the instants that its schedules had."""

    def __init__(self, evidence: Evidence, story: Story, rows: Sequence[Run], told: Mapping[str, int]) -> None:
        self._evidence = evidence
        self._story = story
        self._rows = rows
        self._told = told
        horizon = max([evidence.now, *(run.planned for run in rows)])
        self.life = [
            (stretch, list(planned_in(stretch, horizon)))
            for stretch in stretches(story)
            if not counts_from_end(stretch.task)
        ]

    @cached_property
    def _planned(self) -> list[datetime]:
        return sorted({each for _, planned in self.life for each in planned})

    @cached_property
    def _covered(self) -> set[datetime]:
        return {each for run in self._rows for each in self._instants_of(run)}

    @cached_property
    def _waiting(self) -> set[datetime]:
        """What still waits for its turn in the end; whether it has a reason to wait is checked elsewhere."""
        queued = (entry for entry in self._entries if entry.kind is not EntryKind.NEXT)
        return {each for entry in queued for each in self._between(entry.planned, entry.through or entry.planned)}

    @property
    def _entries(self) -> Iterator[Entry]:
        entries = self._evidence.facts[self._story.task_id].entries
        return (entry for entry in entries if entry.origin is Origin.SCHEDULED)

    def _instants_of(self, run: Run) -> Sequence[datetime]:
        """A stretch is told by the schedule of its time."""
        if run.span is None:
            return (run.planned,)
        first, last = run.span.first, run.span.last
        for stretch, planned in self.life:
            if self._told_in(run, stretch):
                return planned[bisect_left(planned, first) : bisect_right(planned, last)]
        return self._between(first, last)

    def _between(self, first: datetime, last: datetime) -> Sequence[datetime]:
        return self._planned[bisect_left(self._planned, first) : bisect_right(self._planned, last)]

    def once(self) -> Iterator[Violation]:
        """No instant twice, none that was not planned, and stretches that say how long they are."""
        planned = set(self._planned)
        ends = any(counts_from_end(task) for _, task in self._story.definitions)
        for run in self._rows:
            if not ends and run.planned not in planned:
                yield Violation("3", f"{run.id}: {run.planned} was never planned")
            if run.span is not None and not self._story.rescheduled:
                instants = self._instants_of(run)
                if (run.span.count, run.span.last) != (len(instants), run.planned):
                    yield Violation("3", f"{run.id} stands for {run.span}, but {len(instants)} were planned there")
        yield from self._not_twice()

    def _not_twice(self) -> Iterator[Violation]:
        """An edit while the wall clock is behind leads to instants that another schedule had: those are not the same."""
        told: Counter[tuple[int, datetime]] = Counter()
        for run in self._rows:
            opened_by = next((stretch.opened_by for stretch, _ in self.life if self._told_in(run, stretch)), 0)
            told.update((opened_by, instant) for instant in self._instants_of(run))
        for (_, instant), count in told.items():
            if count > 1:
                yield Violation("3", f"{self._story.task_id}: {instant} is accounted for {count} times")

    def complete(self, stretch: Stretch, planned: Sequence[datetime]) -> Iterator[Violation]:
        """Everything that came due in a stretch of its life has a row."""
        until, last = self._until(stretch), self._last_in(stretch) or stretch.opened
        for instant in planned:
            if instant in self._covered or instant in self._waiting:
                continue
            if instant > last and due_of(stretch.task, instant) > until:
                continue
            yield Violation("3", f"{self._story.task_id}: {instant} came due, and no row tells what became of it")
            return

    def repeats(self, stretch: Stretch) -> Iterator[Violation]:
        most = stretch.task.schedule.repeat
        if most is None or self._story.rescheduled:
            return
        given = sum(run.state is not RunState.SKIPPED or run.token > 0 for run in self._rows)
        if given > most:
            yield Violation("repeat", f"{self._story.task_id} repeats {most} times, but {given} were run")

    def over_in_time(self, stretch: Stretch) -> Iterator[Violation]:
        """A task is completed only when its schedule has nothing left."""
        if stretch.ended_as is not TaskState.COMPLETED or stretch.task.schedule.repeat is not None:
            return
        last = self._last_in(stretch) or stretch.opened
        left = next((each for each in planned_in(stretch, last + FAR) if each > last), None)
        if left is not None:
            yield Violation("3", f"{self._story.task_id} was completed, although {left} was still to come")

    def _until(self, stretch: Stretch) -> datetime:
        """Up to which instant everything that was due must have a row."""
        last = self._last_in(stretch) or stretch.opened
        if self._exhausted(stretch):
            return last
        number = self._evidence.last_number + 1 if stretch.closed_by is None else stretch.closed_by
        gave_up = self._story.gave_up_before(number)
        if gave_up is not None:
            # Edited after that, it has not begun yet.
            return max(gave_up.event.at, last) if gave_up.number > stretch.opened_by else last
        if stretch.closed is not None:
            return max(stretch.closed, last)
        if self._evidence.facts[self._story.task_id].standing.state is not TaskState.PAUSED:
            return max(self._evidence.now - SETTLED_WITHIN, last)
        # A pause writes its stretch when it ends: what it found unclaimed sleeps until then.
        asleep = (entry.planned - _MICROSECOND for entry in self._entries if entry.kind is EntryKind.NEXT)
        return max(next(asleep, last), last)

    def _exhausted(self, stretch: Stretch) -> bool:
        """Its repeats are used up: what the schedule would have had after that is no occurrence."""
        most = stretch.task.schedule.repeat
        if most is None:
            return False
        rows = [run for run in self._rows if self._told_in(run, stretch)]
        # An occurrence counts when it is given a run, also one that waited for its turn and then gave way: from the rows
        # alone nobody can tell more than that enough were planned.
        return stretch.ended_as is TaskState.COMPLETED or sum(_size(run) for run in rows) >= most

    def _told_in(self, run: Run, stretch: Stretch) -> bool:
        number = self._told.get(run.id, 0)
        return stretch.opened_by < number and (stretch.closed_by is None or number <= stretch.closed_by)

    def _last_in(self, stretch: Stretch) -> datetime | None:
        return max((run.planned for run in self._rows if self._told_in(run, stretch)), default=None)


def _size(run: Run) -> int:
    return 1 if run.span is None else run.span.count


def _chained(evidence: Evidence, story: Story, rows: Sequence[Run]) -> Iterator[Violation]:
    """What counts from the end: each occurrence comes one interval after something ended, or began, and never sooner."""
    schedule = story.definitions[0][1].schedule
    if not isinstance(schedule, Every) or schedule.since != "end" or story.rescheduled:
        return
    ends = {run.ended for run in evidence.runs.values() if run.task_id == story.task_id and run.ended is not None}
    ends |= {event.at for _, event in story.events}
    for run in rows:
        if not _follows(run.planned, schedule, ends):
            yield Violation("3", f"{run.id}: nothing ended one interval before {run.planned}")


def _follows(planned: datetime, schedule: Every, ends: Container[datetime]) -> bool:
    """One interval after an end; where the window opens only later, the first of those intervals that lies in it."""
    if planned - schedule.interval in ends or planned == schedule.start:
        return True
    opens = schedule.start
    if not isinstance(opens, datetime) or planned - schedule.interval >= opens:
        return False
    return any(planned - count * schedule.interval in ends for count in range(2, 200))
