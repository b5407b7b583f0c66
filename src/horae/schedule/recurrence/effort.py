"""Whether a rule can be followed through many occurrences in a moment: some come so rarely that each one is a search."""

from __future__ import annotations

from typing import Final

from ..instants import DAY
from .pattern import RulePattern
from .rule import Rule

_SAMPLE: Final = 6
# Days that may be looked through one by one for one answer, and what a longer search costs, told in such days.
_NEAR: Final = 100
_FAR: Final = 2000
_MOST: Final = 20_000


def is_too_costly(rule: Rule, start: int, times: int) -> bool:
    """Judged by the first few gaps, never by a clock, so that every machine refuses the same rules.

    Only a stride through hours, minutes or seconds that is also limited to certain days or times can be rare in a way
    that no table tells; all others are cheap however often they are asked.
    """
    limited = rule.by_month or rule.by_year_day or rule.by_month_day or rule.by_day or rule.by_hour
    limited = limited or rule.by_minute or rule.by_second
    if not (rule.flowing and rule.interval > 1 and limited):
        return False
    pattern, at, effort, found = RulePattern(rule, start), start - 1, 0, 0
    while found < min(_SAMPLE, times) and (following := pattern.next_local(at)) is not None:
        days = (following - at) // DAY
        effort += 1 + (days if days < _NEAR else _FAR)
        at, found = following, found + 1
    return found > 0 and effort * times > _MOST * found
