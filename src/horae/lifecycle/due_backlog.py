"""A pile: the occurrences of a task that came due and are not accounted for yet. Counted, never listed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from ..model.run import Span
from ..model.task import Standing, Task, past_of
from ..schedule import Every, Now, Once, Past, Schedule, count, due, iterate, next  # noqa: A004 - the product's own question

MICROSECOND: Final = timedelta(microseconds=1)
_FEW: Final = 4
"""So many occurrences are walked; more are found by counting."""
_A_CROWD: Final = 64
"""Where occurrences crowd together, walking back to one of them would take longer than counting."""


class Pile(NamedTuple):
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

    def oldest(self, wanted: int) -> Pile:
        """The first so many of them; at least one."""
        return self._replace(last=self.nth(wanted), size=wanted)

    def cut(self, wanted: int) -> tuple[Pile, Pile]:
        """The first so many of them, and the rest; at least one each."""
        return self._cut_behind(self.nth(wanted), wanted)

    def _cut_behind(self, last: datetime, wanted: int) -> tuple[Pile, Pile]:
        first = next(without_repeat(self.task.schedule), last, self.past) or self.last
        return self._replace(last=last, size=wanted), self._replace(first=first, size=self.size - wanted)

    def due_before(self, at: datetime) -> tuple[Pile | None, Pile | None]:
        """Those of them that were due before an instant, and the rest."""
        if self.first >= at:
            return None, self
        until = at - MICROSECOND
        planned = min(self.size, 1 + count(without_repeat(self.task.schedule), self.first, until, self.past))
        # They end at `until`, or just before it: that is enough to find the last one.
        earlier = self._replace(last=min(self.last, until), size=planned)
        wanted = planned - self._is_later(planned, until)
        if wanted in (0, self.size):
            return (self, None) if wanted else (None, self)
        return self._cut_behind(earlier.nth(wanted), wanted)

    def due_by(self, at: datetime) -> Pile:
        """Those of them that are due at an instant at which all have been planned."""
        return self.oldest(self.size - 1) if self.size > 1 and self._is_later(self.size, at) else self

    def _is_later(self, number: int, at: datetime) -> bool:
        """Jitter never goes past the next occurrence: only the last one can be planned by an instant and due after it."""
        return self.task.schedule.jitter is not None and self.due(self.nth(number)) > at

    def nth(self, wanted: int) -> datetime:
        """The instant with this number, counted from 1; found among millions without walking through them.

        For this, `last` need not be an occurrence: it is enough that there are `size` of them up to it.
        """
        behind = self.size - wanted
        if behind < _FEW < wanted and (near := self._back_from_the_end(behind)) is not None:
            return near
        after, until, left, total = self.first, self.last, wanted - 1, self.size - 1
        endless, guess = without_repeat(self.task.schedule), True
        while left > _FEW:
            # A guess is nearly right where occurrences are evenly spread; where they are not, halves get there.
            middle = after + (until - after) * ((left - _FEW / 2) / total if guess else 0.5)
            found = count(endless, after, middle, self.past)
            if found < left:
                after, left, total = middle, left - found, total - found
            else:
                until, total = middle, found
            guess = not guess
        return [after, *islice(iterate(endless, after, self.past), left)][-1]

    def _back_from_the_end(self, behind: int) -> datetime | None:
        """The one that has so many behind it, if a look at the last few gaps of average length shows it."""
        after = self.last - (self.last - self.first) / self.size * (behind + 2)
        endless = without_repeat(self.task.schedule)
        found = list(islice(iterate(endless, after, self.past, until=self.last), _A_CROWD))
        return found[-1 - behind] if behind < len(found) < _A_CROWD else None


def pile_of(task: Task, standing: Standing, planned: datetime, now: datetime) -> Pile:
    """What is due by now, from `planned` on, which is."""
    return planned_pile(task, standing, planned, now).due_by(now)


def planned_pile(task: Task, standing: Standing, planned: datetime, until: datetime) -> Pile:
    """What is planned from one occurrence up to an instant; how late jitter makes them due is another question."""
    schedule, past = task.schedule, past_of(task, standing)
    single = Pile(task, past, planned, planned, 1)
    if isinstance(schedule, Now | Once) or counts_from_end(schedule):
        return single
    endless = without_repeat(schedule)
    following = next(endless, planned, past)
    if following is None or following > until:
        return single
    size = most = 1 + count(endless, planned, until, past)
    if schedule.repeat is not None and schedule.counting == "planned":
        size = min(most, schedule.repeat - standing.counted)
    return single._replace(last=until, size=most).oldest(size)


def counts_from_end(schedule: Schedule) -> bool:
    return isinstance(schedule, Every) and schedule.since == "end"


def without_repeat(schedule: Schedule) -> Schedule:
    """Skipped occurrences do not use up repeats, so a stretch is counted as if there were no limit."""
    return schedule if schedule.repeat is None else _endless(schedule)


@lru_cache(maxsize=1024)
def _endless(schedule: Schedule) -> Schedule:
    return replace(schedule, repeat=None)
