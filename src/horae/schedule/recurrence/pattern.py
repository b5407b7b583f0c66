"""Wall times of a recurrence rule from one start, computed from any point, and a cost estimate that refuses rare rules.

The calendar ends with year 9999. Within it WEEKLY, MONTHLY, YEARLY and DAILY rules are exact; an HOURLY, MINUTELY or
SECONDLY rule without a match within 400 years of the requested time has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from ..days import FIRST_LOCAL, LAST_LOCAL, day_number
from ..instants import DAY, wall_reading, wall_seconds
from ..refusals import refuse
from .periods import PeriodSearch
from .rule import Frequency, Rule, complete_rule
from .strides import StrideSearch


class Search(Protocol):
    def on_or_after(self, local: int) -> int | None:
        """The first match at or after `local`, which is within the calendar and not before the start."""


@dataclass(frozen=True, slots=True)
class RulePattern:
    """COUNT, and an UNTIL in UTC, are not applied here: they refer to instants, not to wall times."""

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
        match = self._search.on_or_after(max(local + 1, self.start))
        return match if match is not None and match <= self._last else None

    def count_local(self, first: int, last: int) -> int | None:  # noqa: ARG002
        """None: only iterating can count them."""
        return None


def _search_for(rule: Rule, start: int) -> Search:
    complete = complete_rule(rule, wall_reading(start))
    if rule.freq is Frequency.DAILY or rule.flowing:
        return StrideSearch(complete, start)
    return PeriodSearch(complete, start)


def _last_local(rule: Rule) -> int:
    until = rule.until
    if until is None:
        return LAST_LOCAL
    if not isinstance(until, datetime):
        return day_number(until) * DAY + DAY - 1
    return wall_seconds(until) if until.tzinfo is None else LAST_LOCAL


_SAMPLE: Final = 6
# Days examined one by one for one result, and the cost of a longer search in such days.
_NEAR_DAYS: Final = 100
_FAR_COST: Final = 2000
_MAX_COST: Final = 20_000


def is_too_costly(rule: Rule, start: int, times: int) -> bool:
    """Whether `times` occurrences cost too much; estimated from the first gaps, never from a clock, so it is deterministic."""
    pattern, at, cost, sampled = RulePattern(rule, start), start - 1, 0, 0
    while sampled < min(_SAMPLE, times) and (following := pattern.next_local(at)) is not None:
        cost += _cost_of_gap(rule, (following - at) // DAY)
        at, sampled = following, sampled + 1
    return sampled > 0 and cost * times > _MAX_COST * sampled


def _cost_of_gap(rule: Rule, days: int) -> int:
    """The cost of one result, in days examined."""
    parts = (rule.by_month, rule.by_week_number, rule.by_year_day, rule.by_month_day, rule.by_day)
    cost = 1 + sum(map(bool, parts)) + (4 if rule.by_set_position else 0)
    if rule.freq is Frequency.WEEKLY:
        return cost + (days // 7 if rule.by_month else 0)
    limited = any(parts) or rule.by_hour or rule.by_minute or rule.by_second
    if not rule.flowing or not limited:
        return cost
    # Strides filtered by limits: no table shows how rare their matches are.
    return cost + 4 + (0 if rule.interval == 1 else days if days < _NEAR_DAYS else _FAR_COST)
