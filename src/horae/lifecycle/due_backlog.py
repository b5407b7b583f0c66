"""Due backlog: the occurrences of a task that came due and have no row yet, counted without being listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from ..model.run import Span
from ..model.task import Task, TaskStatus, past_of
from ..schedule import Every, Now, Once, Past, Schedule, count, due, iterate, next  # noqa: A004 - next occurrence, not the builtin

MICROSECOND: Final = timedelta(microseconds=1)
_MAX_ITERATED: Final = 4
"""Up to this number occurrences are iterated; beyond it they are located by counting."""
_MAX_SEARCHED: Final = 64
"""Limit of a search from the end: where occurrences are denser, counting is faster than iterating."""


class DueBacklog(NamedTuple):
    """Planned instants of one task from `first` to `last`, both included, `size` of them."""

    task: Task
    past: Past
    first: datetime
    last: datetime
    size: int

    @property
    def span(self) -> Span:
        return Span(self.first, self.last, self.size)

    def due(self, planned: datetime) -> datetime:
        return due(self.task.schedule, planned, self.task.id, self.past)

    def oldest(self, number: int) -> DueBacklog:
        """Return the first `number` occurrences; at least one."""
        return self._replace(last=self.nth(number), size=number)

    def split(self, number: int) -> tuple[DueBacklog, DueBacklog]:
        """Split into the first `number` occurrences and the rest; at least one each."""
        return self._split_after(self.nth(number), number)

    def _split_after(self, last: datetime, number: int) -> tuple[DueBacklog, DueBacklog]:
        first = next(without_repeat(self.task.schedule), last, self.past) or self.last
        return self._replace(last=last, size=number), self._replace(first=first, size=self.size - number)

    def split_due_before(self, at: datetime) -> tuple[DueBacklog | None, DueBacklog | None]:
        """Split into the occurrences that were due before an instant and the rest; None for an empty part."""
        if self.first >= at:
            return None, self
        until = at - MICROSECOND
        planned = min(self.size, 1 + count(without_repeat(self.task.schedule), self.first, until, self.past))
        # The last one lies at or just before `until`, which is close enough for `nth`.
        earlier = self._replace(last=min(self.last, until), size=planned)
        due_count = planned - self._is_due_after(planned, until)
        if due_count in (0, self.size):
            return (self, None) if due_count else (None, self)
        return self._split_after(earlier.nth(due_count), due_count)

    def limit_to_due(self, at: datetime) -> DueBacklog:
        """Return the occurrences that are due at an instant by which all are planned."""
        return self.oldest(self.size - 1) if self.size > 1 and self._is_due_after(self.size, at) else self

    def _is_due_after(self, number: int, at: datetime) -> bool:
        """Return whether the occurrence with this number is due after `at`.

        Jitter never goes past the next occurrence, so only the last one can be planned by an instant and due after it.
        """
        return self.task.schedule.jitter is not None and self.due(self.nth(number)) > at

    def nth(self, number: int) -> datetime:
        """Return the instant with this number, counted from 1, by interpolation and bisection on counts.

        `last` need not be an occurrence: it is enough that there are `size` of them up to it.
        """
        later_count = self.size - number
        if later_count < _MAX_ITERATED < number and (instant := self._search_from_end(later_count)) is not None:
            return instant
        after, until, missing, total = self.first, self.last, number - 1, self.size - 1
        endless, interpolate = without_repeat(self.task.schedule), True
        while missing > _MAX_ITERATED:
            # Interpolation is nearly exact for evenly spread occurrences; alternating with bisection bounds the other cases.
            middle = after + (until - after) * ((missing - _MAX_ITERATED / 2) / total if interpolate else 0.5)
            passed = count(endless, after, middle, self.past)
            if passed < missing:
                after, missing, total = middle, missing - passed, total - passed
            else:
                until, total = middle, passed
            interpolate = not interpolate
        return [after, *islice(iterate(endless, after, self.past), missing)][-1]

    def _search_from_end(self, later_count: int) -> datetime | None:
        """Return the occurrence with `later_count` later ones, if the last few average gaps contain it; else None."""
        after = self.last - (self.last - self.first) / self.size * (later_count + 2)
        endless = without_repeat(self.task.schedule)
        tail = list(islice(iterate(endless, after, self.past, until=self.last), _MAX_SEARCHED))
        return tail[-1 - later_count] if later_count < len(tail) < _MAX_SEARCHED else None


def compute_due_backlog(task: Task, status: TaskStatus, planned: datetime, now: datetime) -> DueBacklog:
    """Return the occurrences that are due by `now`, from `planned` on, which is due itself."""
    return compute_planned_backlog(task, status, planned, now).limit_to_due(now)


def compute_planned_backlog(task: Task, status: TaskStatus, planned: datetime, until: datetime) -> DueBacklog:
    """Return the occurrences planned from `planned` up to `until`, regardless of jitter."""
    schedule, past = task.schedule, past_of(task, status)
    single = DueBacklog(task, past, planned, planned, 1)
    if isinstance(schedule, Now | Once) or counts_from_end(schedule):
        return single
    endless = without_repeat(schedule)
    following = next(endless, planned, past)
    if following is None or following > until:
        return single
    size = planned_size = 1 + count(endless, planned, until, past)
    if schedule.repeat is not None and schedule.counting == "planned":
        size = min(planned_size, schedule.repeat - status.counted)
    return single._replace(last=until, size=planned_size).oldest(size)


def counts_from_end(schedule: Schedule) -> bool:
    return isinstance(schedule, Every) and schedule.since == "end"


def without_repeat(schedule: Schedule) -> Schedule:
    """Return the schedule without its repeat limit: skipped occurrences do not use up repeats."""
    return schedule if schedule.repeat is None else _drop_repeat(schedule)


@lru_cache(maxsize=1024)
def _drop_repeat(schedule: Schedule) -> Schedule:
    return replace(schedule, repeat=None)
