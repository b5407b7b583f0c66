"""Whether a rule can be followed through many occurrences in a moment: some come so rarely that each one is a search."""

from __future__ import annotations

from typing import Final

from ..instants import DAY
from .pattern import RulePattern
from .rule import Frequency, Rule

_SAMPLE: Final = 6
# Days that may be looked through one by one for one answer, and what a longer search costs, told in such days.
_NEAR: Final = 100
_FAR: Final = 2000
_MOST: Final = 20_000


def is_too_costly(rule: Rule, start: int, times: int) -> bool:
    """Judged by the first few gaps, never by a clock, so that every machine refuses the same rules."""
    pattern, at, effort, found = RulePattern(rule, start), start - 1, 0, 0
    while found < min(_SAMPLE, times) and (following := pattern.next_local(at)) is not None:
        effort += _effort(rule, (following - at) // DAY)
        at, found = following, found + 1
    return found > 0 and effort * times > _MOST * found


def _effort(rule: Rule, days: int) -> int:
    """What one answer costs, told in days looked at."""
    parts = (rule.by_month, rule.by_week_number, rule.by_year_day, rule.by_month_day, rule.by_day)
    effort = 1 + sum(map(bool, parts)) + (4 if rule.by_set_position else 0)
    if rule.freq is Frequency.WEEKLY:
        return effort + (days // 7 if rule.by_month else 0)
    limited = any(parts) or rule.by_hour or rule.by_minute or rule.by_second
    if not rule.flowing or not limited:
        return effort
    # Strides through limits: how rare they are no table tells.
    return effort + 4 + (0 if rule.interval == 1 else days if days < _NEAR else _FAR)
