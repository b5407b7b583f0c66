"""Cost estimate for recurrence rules: refuses rules so rare that counting many occurrences would take long searches."""

from __future__ import annotations

from typing import Final

from ..instants import DAY
from .pattern import RulePattern
from .rule import Frequency, Rule

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
