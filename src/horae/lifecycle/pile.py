"""A pile: the occurrences of a task that came due and are not accounted for yet. Counted, never listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from ..model.run import Span
from ..model.task import Standing, Task, past_of
from ..schedule import Every, Now, Once, Past, Schedule, count, iterate, next  # noqa: A004 - the product's own question

_MICROSECOND: Final = timedelta(microseconds=1)


class Pile(NamedTuple):
    """Planned instants of one schedule from `first` to `last`, both included, `size` of them."""

    schedule: Schedule
    past: Past
    first: datetime
    last: datetime
    size: int

    @property
    def span(self) -> Span:
        return Span(self.first, self.last, self.size)

    def newest(self, wanted: int) -> tuple[datetime, ...]:
        """The last so many, oldest first; found by counting, so that a month of seconds costs no more than a day."""
        if wanted >= self.size:
            return (self.first, *iterate(self.schedule, self.first, self.past, until=self.last))
        width = (self.last - self.first) * (wanted / self.size) + _MICROSECOND
        while count(self.schedule, self.last - width, self.last, self.past) < wanted:
            width *= 2
        return tuple(iterate(self.schedule, self.last - width, self.past, until=self.last))[-wanted:]

    def split(self, at: datetime) -> tuple[Pile | None, Pile | None]:
        """Those before an instant, and those from it on."""
        if self.first >= at:
            return None, self
        if self.last < at:
            return self, None
        size = 1 + count(self.schedule, self.first, at - _MICROSECOND, self.past)
        after = self._after(at - _MICROSECOND)
        head = self._replace(size=size)
        return head.ending_before(at), self._replace(first=after, size=self.size - size)

    def ending_before(self, at: datetime) -> Pile:
        """The same start and size, with the true last instant before `at`."""
        if self.size == 1:
            return self._replace(last=self.first)
        width = (at - self.first) / self.size + _MICROSECOND
        found: tuple[datetime, ...] = ()
        while not found:
            found = tuple(iterate(self.schedule, at - width, self.past, until=at - _MICROSECOND))
            width *= 2
        return self._replace(last=found[-1])

    def drop_oldest(self, wanted: int) -> tuple[Pile, Pile | None]:
        """The oldest so many, and the rest."""
        if wanted >= self.size:
            return self, None
        last = self.first
        for _ in range(wanted - 1):
            last = self._after(last)
        return self._replace(last=last, size=wanted), self._replace(first=self._after(last), size=self.size - wanted)

    def _after(self, instant: datetime) -> datetime:
        found = next(self.schedule, instant, self.past)
        return self.last if found is None else found


def pile_of(task: Task, standing: Standing, planned: datetime, until: datetime) -> Pile:
    """What is planned from `planned`, which is due, up to `until`."""
    schedule = task.schedule
    past = past_of(task, standing)
    if isinstance(schedule, Now | Once) or counts_from_end(schedule):
        return Pile(schedule, past, planned, planned, 1)
    endless = without_repeat(schedule)
    following = next(endless, planned, past)
    if following is None or following > until:
        return Pile(endless, past, planned, planned, 1)
    size = 1 + count(endless, planned, until, past)
    if schedule.counting == "planned" and schedule.repeat is not None:
        return Pile(endless, past, planned, until, size).drop_oldest(max(1, schedule.repeat - standing.counted))[0]
    return Pile(endless, past, planned, until, size).ending_before(until + _MICROSECOND)


def counts_from_end(schedule: Schedule) -> bool:
    return isinstance(schedule, Every) and schedule.since == "end"


@lru_cache(maxsize=1024)
def without_repeat(schedule: Schedule) -> Schedule:
    """Skipped occurrences do not use up repeats, so a stretch is counted as if there were no limit."""
    return schedule if schedule.repeat is None else replace(schedule, repeat=None)
