"""Accounting of the planned instants of one task: which were planned, which have a run row, and since when."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from horae.model.entry import Entry, EntryKind
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskState
from tests.simulation.checks.outcomes import SETTLED_WITHIN
from tests.simulation.checks.planned_instants import FAR, Stretch, counts_from_end, due_of, planned_in, stretches
from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence

_MICROSECOND: Final = timedelta(microseconds=1)


def accounts(evidence: Evidence, stories: Mapping[str, TaskHistory]) -> dict[str, Account]:
    told: dict[str, int] = {}
    for number, event in evidence.events:
        if event.run_id is not None:
            told.setdefault(event.run_id, number)
    rows: dict[str, list[Run]] = defaultdict(list)
    for (task_id, origin, _), runs in evidence.occurrences.items():
        if origin is Origin.SCHEDULED:
            rows[task_id].append(runs[0])
    return {task_id: Account(evidence, story, rows[task_id], told) for task_id, story in stories.items()}


class Account:
    """The first row of each scheduled occurrence of one task, against the instants that its schedules had."""

    def __init__(self, evidence: Evidence, story: TaskHistory, rows: Sequence[Run], told: Mapping[str, int]) -> None:
        self._evidence = evidence
        self.story = story
        self.rows = rows
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
        return {each for run in self.rows for each in self._instants_of(run)}

    @cached_property
    def _event_of(self) -> dict[datetime, int]:
        """The first event that tells of a row for that instant."""
        first: dict[datetime, int] = {}
        for run in self.rows:
            number = self._told.get(run.id, 0)
            for instant in self._instants_of(run):
                first[instant] = min(number, first.get(instant, number))
        return first

    def number_of_event(self, instant: datetime) -> float:
        return self._event_of.get(instant, float("inf"))

    def planned_before(self, coming: datetime, number: int) -> Sequence[datetime]:
        """What the schedule that was followed at that event had before this instant."""
        for stretch, planned in self.life:
            if stretch.opened_by < number and (stretch.closed_by is None or number < stretch.closed_by):
                return planned[: bisect_left(planned, coming)]
        return ()

    @cached_property
    def _waiting(self) -> set[datetime]:
        """What still waits for its turn in the end; whether it has a reason to wait is checked elsewhere."""
        queued = (entry for entry in self._entries if entry.kind is not EntryKind.NEXT)
        return {each for entry in queued for each in self._between(*reach(entry))}

    @property
    def _entries(self) -> Iterator[Entry]:
        entries = self._evidence.facts[self.story.task_id].entries
        return (entry for entry in entries if entry.origin is Origin.SCHEDULED)

    def _instants_of(self, run: Run) -> Sequence[datetime]:
        """Instants of a span by the schedule of its time."""
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
        ends = any(counts_from_end(task) for _, task in self.story.definitions)
        for run in self.rows:
            if not ends and run.planned not in planned:
                yield Violation("3", f"{run.id}: {run.planned} was never planned")
            if run.span is not None and not self.story.rescheduled:
                instants = self._instants_of(run)
                if (run.span.count, run.span.last) != (len(instants), run.planned):
                    yield Violation("3", f"{run.id} stands for {run.span}, but {len(instants)} were planned there")
        yield from self._not_twice()

    def _not_twice(self) -> Iterator[Violation]:
        """An edit while the wall clock is behind leads to instants that another schedule had: those are not the same."""
        told: Counter[tuple[int, datetime]] = Counter()
        for run in self.rows:
            opened_by = next((stretch.opened_by for stretch, _ in self.life if self._told_in(run, stretch)), 0)
            told.update((opened_by, instant) for instant in self._instants_of(run))
        for (_, instant), count in told.items():
            if count > 1:
                yield Violation("3", f"{self.story.task_id}: {instant} is accounted for {count} times")

    def complete(self, stretch: Stretch, planned: Sequence[datetime]) -> Iterator[Violation]:
        """Everything that came due in a stretch of its life has a row."""
        until, last = self._until(stretch), self._last_in(stretch) or stretch.begun
        for instant in planned:
            if instant in self._covered or instant in self._waiting:
                continue
            if instant > last and due_of(stretch.task, instant) > until:
                continue
            yield Violation("3", f"{self.story.task_id}: {instant} came due, and no row tells what became of it")
            return

    def repeats(self, stretch: Stretch) -> Iterator[Violation]:
        most = stretch.task.schedule.repeat
        if most is None or self.story.rescheduled:
            return
        given = sum(run.state is not RunState.SKIPPED or run.token > 0 for run in self.rows)
        if given > most - self._counted:
            counted = f"{self._counted} were counted and " if self._counted else ""
            yield Violation("repeat", f"{self.story.task_id} repeats {most} times, but {counted}{given} were run")

    @property
    def _counted(self) -> int:
        """How many occurrences the task brought along."""
        return 0 if self.story.past is None else self.story.past.counted

    def over_in_time(self, stretch: Stretch) -> Iterator[Violation]:
        """A task is completed only when its schedule has nothing left."""
        if stretch.ended_as is not TaskState.COMPLETED or stretch.task.schedule.repeat is not None:
            return
        last = self._last_in(stretch) or stretch.begun
        left = next((each for each in planned_in(stretch, last + FAR) if each > last), None)
        if left is not None:
            yield Violation("3", f"{self.story.task_id} was completed, although {left} was still to come")

    def _until(self, stretch: Stretch) -> datetime:
        """Up to which instant everything that was due must have a row."""
        last = self._last_in(stretch) or stretch.begun
        if self._exhausted(stretch):
            return last
        number = self._evidence.last_number + 1 if stretch.closed_by is None else stretch.closed_by
        gave_up = self.story.gave_up_before(number)
        if gave_up is not None:
            # Edited after that, it has not begun yet.
            return max(gave_up.event.at, last) if gave_up.number > stretch.opened_by else last
        if stretch.closed is not None:
            return max(stretch.closed, last)
        if self._evidence.facts[self.story.task_id].status.state is not TaskState.PAUSED:
            return max(self._evidence.now - SETTLED_WITHIN, last)
        # A pause writes its stretch when it ends: what it found unclaimed sleeps until then.
        asleep = (entry.planned - _MICROSECOND for entry in self._entries if entry.kind is EntryKind.NEXT)
        return max(next(asleep, last), last)

    def _exhausted(self, stretch: Stretch) -> bool:
        """Its repeats are used up: what the schedule would have had after that is no occurrence."""
        most = stretch.task.schedule.repeat
        if most is None:
            return False
        rows = [run for run in self.rows if self._told_in(run, stretch)]
        # An occurrence counts when it is given a run, also one that waited for its turn and then gave way: from the rows
        # alone it is only known that enough were planned.
        return stretch.ended_as is TaskState.COMPLETED or sum(_size(run) for run in rows) >= most - self._counted

    def _told_in(self, run: Run, stretch: Stretch) -> bool:
        number = self._told.get(run.id, 0)
        return stretch.opened_by < number and (stretch.closed_by is None or number <= stretch.closed_by)

    def _last_in(self, stretch: Stretch) -> datetime | None:
        return max((run.planned for run in self.rows if self._told_in(run, stretch)), default=None)


def reach(entry: Entry) -> tuple[datetime, datetime]:
    """From which instant to which an entry stands for what was planned: one that was merged tells its span."""
    if entry.span is not None:
        return entry.span.first, entry.span.last
    return entry.planned, entry.through or entry.planned


def _size(run: Run) -> int:
    return 1 if run.span is None else run.span.count
