"""Validation of a recurrence rule: refuses combinations that RFC 5545 forbids or that can never match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..refusals import refuse
from .rule import Frequency, Rule

_NTH_ALLOWED: Final = frozenset({Frequency.MONTHLY, Frequency.YEARLY})
_NO_YEAR_DAY: Final = frozenset({Frequency.DAILY, Frequency.WEEKLY, Frequency.MONTHLY})


def check_combinations(rule: Rule, positions: Mapping[str, int]) -> None:
    """Refuse invalid combinations; `positions` holds where each part was written, by name."""
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
    reachable = _max_days(rule) * _max_moments(rule)
    nearest = min(rule.by_set_position, key=abs)
    if abs(nearest) > reachable:
        raise refuse("rrule_set_position_unreachable", position=positions["BYSETPOS"], value=nearest, most=reachable)


def _max_moments(rule: Rule) -> int:
    """Upper bound of the moments in one day of a period, or in one hour, minute or second."""
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


def _max_days(rule: Rule) -> int:
    """Upper bound of the days in one period of the rule."""
    match rule.freq:
        case Frequency.YEARLY:
            return _max_days_of_year(rule)
        case Frequency.MONTHLY:
            bounds = [31]
            if rule.by_month_day:
                bounds.append(len(rule.by_month_day))
            if rule.by_day:
                bounds.append(sum(5 if nth is None else 1 for _, nth in rule.by_day))
            return min(bounds) if len(bounds) > 1 else 1
        case Frequency.WEEKLY:
            return max(1, len(rule.by_day))
        case _:
            return 1


def _max_days_of_year(rule: Rule) -> int:
    months = len(rule.by_month) or 12
    bounds = []
    if rule.by_year_day:
        bounds.append(len(rule.by_year_day))
    if rule.by_month_day:
        bounds.append(len(rule.by_month_day) * months)
    if rule.by_day:
        plain, numbered = (5 * months, months) if rule.by_month else (53, 1)
        bounds.append(sum(plain if nth is None else numbered for _, nth in rule.by_day))
    if not bounds:
        return len(rule.by_week_number) or len(rule.by_month) or 1
    if rule.by_week_number:
        bounds.append(7 * len(rule.by_week_number))
    return min(bounds)
