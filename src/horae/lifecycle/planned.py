"""Planned occurrences of one task: what its agenda and schedule will start if nothing intervenes; listed or counted, pure.

How long runs take, and outages, are not known in advance: what an overlap or a missed occurrence changes is not predicted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate, islice, pairwise
from typing import Final, NamedTuple

from ..model.change import Facts
from ..model.entry import CLAIMABLE, Entry, EntryKind, EntryState
from ..model.run import Origin
from ..model.task import Task, TaskState, TaskStatus, past_of
from ..schedule import Past, RRule, count, count_each, due, iterate
from ..schedule import next as next_after
from ..schedule.any_of import parts_of
from ..schedule.instants import to_instant
from .agenda import entry_at, next_entry
from .due_backlog import MICROSECOND, DueBacklog, compute_due_backlog, counts_from_end, without_repeat
from .missed import apply_requested_skips
from .overlap import superseded_retries

MAX_ITERATED: Final = 5_000
"""Occurrences of a recurrence rule that are iterated: only iterating can count them."""
_NO_JITTER: Final = timedelta(0)
_EXTRA_KINDS: Final = (EntryKind.RETRY, EntryKind.MANUAL)


class PlannedOccurrence(NamedTuple):
    """`is_estimate`: the instant depends on how long earlier runs take (`every … after end`)."""

    due: datetime
    planned: datetime
    origin: Origin = Origin.SCHEDULED
    attempt: int = 1
    is_estimate: bool = False


class PlannedNumbers(NamedTuple):
    """Occurrences per period. `complete_until`: later ones were not counted; None if all were."""

    numbers: list[int]
    complete_until: datetime | None = None


def iterate_planned(facts: Facts, now: datetime, since: datetime, until: datetime) -> Iterator[PlannedOccurrence]:
    """Yield the occurrences that are due in [since, until), in the order of their due instants."""
    if facts.block_reason is not None:
        return
    course = _find_course(facts, now)
    extra = [each for each in _extra_occurrences(facts, course) if since <= each.due < until]
    if course is not None:
        for each in course.between(since, until):
            while extra and extra[0].due <= each.due:
                yield extra.pop(0)
            yield each
    yield from extra


class Bounds(NamedTuple):
    """Rising instants that separate periods; `last_instants` are the microseconds right before each of them."""

    instants: tuple[datetime, ...]
    last_instants: tuple[int, ...]

    @classmethod
    def of(cls, instants: Sequence[datetime]) -> Bounds:
        return cls(tuple(instants), tuple(to_instant(at) - 1 for at in instants))


def count_planned(facts: Facts, now: datetime, bounds: Bounds) -> PlannedNumbers:
    """Count the occurrences in each period between two neighbours of `bounds`.

    Frequent tasks are counted by arithmetic, so that the cost depends on the number of periods and not of occurrences.
    """
    numbers = [0] * (len(bounds.instants) - 1)
    if facts.block_reason is not None:
        return PlannedNumbers(numbers)
    course = _find_course(facts, now)
    for each in _extra_occurrences(facts, course):
        _add(numbers, bounds, each.due)
    return PlannedNumbers(numbers) if course is None else course.add_numbers(bounds, numbers)


class _Course(NamedTuple):
    """Occurrences of the schedule that will run: `first`, then those planned after `after`, evaluated with `past`."""

    task: Task
    first: PlannedOccurrence
    after: datetime
    past: Past

    def between(self, since: datetime, until: datetime) -> Iterator[PlannedOccurrence]:
        if since <= self.first.due < until:
            yield self.first
        yield from self._rest_between(since, until)

    def _rest_between(self, since: datetime, until: datetime) -> Iterator[PlannedOccurrence]:
        task, schedule, after, past = self.task, self.task.schedule, self.after, self.past
        is_estimate = counts_from_end(schedule)
        # Jitter moves an occurrence that was planned before the period into it.
        begin = since - (schedule.jitter or _NO_JITTER) - MICROSECOND
        if begin > after:
            if schedule.repeat is not None:
                past = replace(past, counted=past.counted + count(schedule, after, begin, past))
            after = begin
        for planned in iterate(schedule, after, past, until=until):
            at = due(schedule, planned, task.id, past)
            if since <= at < until:
                yield PlannedOccurrence(at, planned, is_estimate=is_estimate)

    def add_numbers(self, bounds: Bounds, numbers: list[int]) -> PlannedNumbers:
        """Add the occurrences to the numbers of their periods."""
        _add(numbers, bounds, self.first.due)
        if any(isinstance(part, RRule) for part in parts_of(self.task.schedule)):
            return self._add_listed(bounds, numbers)
        schedule, after = self.task.schedule, to_instant(self.after)
        begin = bounds.last_instants[0] if schedule.repeat is None else min(after, bounds.last_instants[0])
        # What lies before the first period matters only where repeats are limited.
        marks = [max(after, each) for each in (begin, *bounds.last_instants)]
        planned = list(accumulate(count_each(without_repeat(schedule), marks, self.past)))
        if schedule.jitter is not None:
            moved = [self._is_last_due_at_or_after(bound, schedule.jitter) for bound in bounds.instants]
            planned = [number - is_moved for number, is_moved in zip(planned, moved, strict=True)]
        if schedule.repeat is not None:
            left = schedule.repeat - self.past.counted
            planned = [min(number, left) for number in planned]
        for place, (before, total) in enumerate(pairwise(planned)):
            numbers[place] += total - before
        return PlannedNumbers(numbers)

    def _add_listed(self, bounds: Bounds, numbers: list[int]) -> PlannedNumbers:
        """Add the occurrences of a rule that only iterating can count, up to a limit."""
        listed = list(islice(self._rest_between(bounds.instants[0], bounds.instants[-1]), MAX_ITERATED + 1))
        for each in listed[:MAX_ITERATED]:
            _add(numbers, bounds, each.due)
        return PlannedNumbers(numbers, listed[-1].due if len(listed) > MAX_ITERATED else None)

    def _is_last_due_at_or_after(self, bound: datetime, jitter: timedelta) -> bool:
        """Whether jitter moves the last occurrence that is planned before `bound` to it or beyond; no other one can be."""
        task = self.task
        endless, last = without_repeat(task.schedule), bound - MICROSECOND
        first = next_after(endless, max(self.after, last - jitter), self.past)
        if first is None or first > last:
            return False
        backlog = DueBacklog(task, self.past, first, last, 1 + count(endless, first, last, self.past))
        return backlog.due(backlog.nth(backlog.size)) >= bound


def _find_course(facts: Facts, now: datetime) -> _Course | None:
    """Return the course of the schedule from its next entry on: pauses, requested skips and overdue instants applied."""
    entry = next((each for each in facts.entries if each.kind is EntryKind.NEXT), None)
    if entry is None:
        return None
    if facts.status.state is TaskState.PAUSED:
        return _course_after_pause(facts, entry)
    return _course_from(facts.task, facts.status, entry, now) if facts.status.state is TaskState.ACTIVE else None


def _course_after_pause(facts: Facts, entry: Entry) -> _Course | None:
    """Return the course after the planned end of the pause: the occurrences before it are skipped."""
    task, status, resume = facts.task, facts.status, _resume_entry(facts)
    if resume is None:
        return None
    last_paused = resume.due - MICROSECOND
    if entry.due > last_paused:
        return _course_from(task, status, entry, last_paused)
    account = apply_requested_skips(status, compute_due_backlog(task, status, entry.planned, last_paused))
    status = account.status_after(0, account.backlog.size)
    if counts_from_end(task.schedule):
        following = _next_after_end(task, status, resume.due)
    else:
        following = next_entry(task, status, account.backlog.last)
    return None if following is None else _course_from(task, status, following, last_paused)


def _course_from(task: Task, status: TaskStatus, entry: Entry, now: datetime) -> _Course | None:
    """Return the course from an entry on; of overdue instants only the entry itself is planned."""
    from_end = counts_from_end(task.schedule)
    while status.skips_left:
        counted = status.counted + (task.schedule.counting == "planned")
        status = status._replace(skips_left=status.skips_left - 1, counted=counted)
        following = (
            _next_after_end(task, status, max(entry.due, now)) if from_end else next_entry(task, status, entry.planned)
        )
        if following is None:
            return None
        entry = following
    is_overdue = entry.due <= now and not from_end
    after = compute_due_backlog(task, status, entry.planned, now).last if is_overdue else entry.planned
    past = past_of(task, status._replace(counted=status.counted + 1))
    if from_end:
        past = replace(past, last_end=entry.due)
    return _Course(task, PlannedOccurrence(entry.due, entry.planned), after, past)


def _next_after_end(task: Task, status: TaskStatus, end: datetime) -> Entry | None:
    """Return the entry of `every … after end` after an occurrence that ended, or was skipped, at an instant."""
    return next_entry(task, status._replace(last_end=end), end)


def _extra_occurrences(facts: Facts, course: _Course | None) -> list[PlannedOccurrence]:
    """Return the retries and requested runs that wait for their instant, by due instant."""
    resume = _resume_entry(facts)
    ended = _superseded(facts, course)
    found = []
    for entry in facts.entries:
        at = _wake_instant(entry, resume) if entry.kind in _EXTRA_KINDS and entry not in ended else None
        if at is not None:
            found.append(PlannedOccurrence(at, entry.planned, entry.origin, entry.attempt))
    return sorted(found)


def _wake_instant(entry: Entry, resume: Entry | None) -> datetime | None:
    """Return when an entry starts, None if that is not known: one that sleeps waits for the end of the pause.

    The end of a pause skips what the schedule had planned before it, and starts what a caller had requested.
    """
    if entry.state in CLAIMABLE:
        return entry.due
    if entry.state is not EntryState.ASLEEP or resume is None:
        return None
    is_skipped = entry.origin is Origin.SCHEDULED and entry.due < resume.due
    return None if is_skipped else max(entry.due, resume.due)


def _superseded(facts: Facts, course: _Course | None) -> tuple[Entry, ...]:
    """Return the retries that the next occurrence of the schedule ends before they are due."""
    if course is None:
        return ()
    first = entry_at(facts.task, facts.status, course.first.planned)
    return tuple(each for each in superseded_retries(facts, first) if course.first.due <= each.due)


def _resume_entry(facts: Facts) -> Entry | None:
    return next((each for each in facts.entries if each.kind is EntryKind.RESUME), None)


def _add(numbers: list[int], bounds: Bounds, at: datetime) -> None:
    if bounds.instants[0] <= at < bounds.instants[-1]:
        numbers[bisect_right(bounds.instants, at) - 1] += 1
