"""Which parts of a recurrence rule go together; RFC 5545 forbids some pairs, and some can never be met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..refusals import refuse
from .rule import Frequency, Rule

_NTH_ALLOWED: Final = frozenset({Frequency.MONTHLY, Frequency.YEARLY})
_NO_YEAR_DAY: Final = frozenset({Frequency.DAILY, Frequency.WEEKLY, Frequency.MONTHLY})


def check_combinations(rule: Rule, positions: Mapping[str, int]) -> None:
    """`positions` says where each part was written, by its name."""
    if rule.count is not None and rule.until is not None:
        raise refuse("rrule_count_and_until", position=max(positions["COUNT"], positions["UNTIL"]))
    if rule.by_week_number and rule.freq is not Frequency.YEARLY:
        raise refuse("rrule_week_number_needs_yearly", position=positions["BYWEEKNO"], freq=rule.freq)
    if rule.by_year_day and rule.freq in _NO_YEAR_DAY:
        raise refuse("rrule_year_day_not_allowed", position=positions["BYYEARDAY"], freq=rule.freq)
    if rule.by_month_day and rule.freq is Frequency.WEEKLY:
        raise refuse("rrule_month_day_in_weekly", position=positions["BYMONTHDAY"])
    if any(nth is not None for _, nth in rule.by_day):
        if rule.freq not in _NTH_ALLOWED:
            raise refuse("rrule_nth_not_allowed", position=positions["BYDAY"], freq=rule.freq)
        if rule.by_week_number:
            raise refuse("rrule_nth_with_week_number", position=positions["BYDAY"])
    if rule.by_set_position:
        _check_set_positions(rule, positions)


def _check_set_positions(rule: Rule, positions: Mapping[str, int]) -> None:
    if not any(name.startswith("BY") and name != "BYSETPOS" for name in positions):
        raise refuse("rrule_set_position_alone", position=positions["BYSETPOS"])
    most = _most_days(rule) * _most_moments(rule)
    nearest = min(rule.by_set_position, key=abs)
    if abs(nearest) > most:
        raise refuse("rrule_set_position_unreachable", position=positions["BYSETPOS"], value=nearest, most=most)


def _most_moments(rule: Rule) -> int:
    """How many times of day one day of a period has, or how many moments one hour, minute or second."""
    hours, minutes, seconds = (max(1, len(part)) for part in (rule.by_hour, rule.by_minute, rule.by_second))
    match rule.freq:
        case Frequency.SECONDLY:
            return 1
        case Frequency.MINUTELY:
            return seconds
        case Frequency.HOURLY:
            return minutes * seconds
        case _:
            return hours * minutes * seconds


def _most_days(rule: Rule) -> int:
    """No period of the rule has more days than this; it may well have fewer."""
    match rule.freq:
        case Frequency.YEARLY:
            return _most_days_of_year(rule)
        case Frequency.MONTHLY:
            found = [31]
            if rule.by_month_day:
                found.append(len(rule.by_month_day))
            if rule.by_day:
                found.append(sum(5 if nth is None else 1 for _, nth in rule.by_day))
            return min(found) if len(found) > 1 else 1
        case Frequency.WEEKLY:
            return max(1, len(rule.by_day))
        case _:
            return 1


def _most_days_of_year(rule: Rule) -> int:
    months = len(rule.by_month) or 12
    found = []
    if rule.by_year_day:
        found.append(len(rule.by_year_day))
    if rule.by_month_day:
        found.append(len(rule.by_month_day) * months)
    if rule.by_day:
        plain, numbered = (5 * months, months) if rule.by_month else (53, 1)
        found.append(sum(plain if nth is None else numbered for _, nth in rule.by_day))
    if not found:
        return len(rule.by_week_number) or len(rule.by_month) or 1
    if rule.by_week_number:
        found.append(7 * len(rule.by_week_number))
    return min(found)
