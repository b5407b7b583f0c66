"""The wall times of a recurrence rule from one start, asked from anywhere.

The horizon: the calendar ends with year 9999. Within it WEEKLY, MONTHLY, YEARLY and DAILY rules are exact; an HOURLY,
MINUTELY or SECONDLY rule that has nothing within 400 years of the time asked is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ..days import day_number
from ..instants import DAY, wall_reading, wall_seconds
from ..refusals import refuse
from .periods import PeriodSearch
from .rule import Frequency, Rule, completed
from .spans import FIRST_LOCAL, LAST_LOCAL
from .strides import StrideSearch


class Search(Protocol):
    def on_or_after(self, local: int) -> int | None:
        """The first wall time of the rule at or after `local`, which lies in the calendar and not before the start."""


@dataclass(frozen=True, slots=True)
class RulePattern:
    """COUNT, and an UNTIL in UTC, are not applied here: they speak of instants, not of wall times."""

    rule: Rule
    start: int
    _search: Search = field(init=False, repr=False, compare=False)
    _last: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not FIRST_LOCAL <= self.start <= LAST_LOCAL:
            raise refuse("rrule_start_out_of_range")
        object.__setattr__(self, "_search", _search_for(self.rule, self.start))
        object.__setattr__(self, "_last", LAST_LOCAL)
        first = self.next_local(self.start - 1)
        if first is None:
            raise refuse("rrule_never", rule=self.rule.text)
        object.__setattr__(self, "_last", _last_local(self.rule))
        if first > self._last:
            raise refuse("rrule_ends_before_first", first=wall_reading(first), until=self.rule.until)

    def next_local(self, local: int) -> int | None:
        """The first occurrence strictly after `local`, and not before the start."""
        if local >= self._last:
            return None
        found = self._search.on_or_after(max(local + 1, self.start))
        return found if found is not None and found <= self._last else None

    def count_local(self, first: int, last: int) -> int | None:  # noqa: ARG002
        """Only walking can tell how many there are."""
        return None


def _search_for(rule: Rule, start: int) -> Search:
    told = completed(rule, wall_reading(start))
    if rule.freq is Frequency.DAILY or rule.flowing:
        return StrideSearch(told, start)
    return PeriodSearch(told, start)


def _last_local(rule: Rule) -> int:
    until = rule.until
    if until is None:
        return LAST_LOCAL
    if not isinstance(until, datetime):
        return day_number(until) * DAY + DAY - 1
    return wall_seconds(until) if until.tzinfo is None else LAST_LOCAL
