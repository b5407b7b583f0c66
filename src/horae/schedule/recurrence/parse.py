"""RRULE parser: text to `Rule`; refuses invalid text with its position, and combinations that can never match."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from ..refusals import refuse
from .rule import WEEKDAY_NAMES, Frequency, Rule

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


MAX_TEXT_LENGTH: Final = 16_384  # every value of every part written out stays below this
MAX_COUNT: Final = 10_000
MAX_INTERVAL: Final = 999_999_999
_MAX_DIGITS: Final = len(str(MAX_INTERVAL))
_PREFIX: Final = re.compile(r"\s*(?:RRULE:)?\s*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"([+-]?)([0-9]+)")
_NTH_WEEKDAY: Final = re.compile(r"([+-]?[0-9]*)(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?")


@dataclass(frozen=True, slots=True)
class Part:
    """One NAME=VALUE in upper case, with its position in the text."""

    name: str
    value: str
    position: int


def parse_rule(text: str) -> Rule:
    parts = _split(text)
    fields = {_FIELDS[part.name][0]: _FIELDS[part.name][1](part) for part in parts.values()}
    if "freq" not in fields:
        raise refuse("rrule_missing_freq", position=min(part.position for part in parts.values()))
    rule = Rule(**fields)
    check_combinations(rule, {name: part.position for name, part in parts.items()})
    return rule


def _split(text: str) -> dict[str, Part]:
    if len(text) > MAX_TEXT_LENGTH:
        raise refuse("rrule_too_long", position=MAX_TEXT_LENGTH, longest=f"{MAX_TEXT_LENGTH:,}")
    prefix = _PREFIX.match(text)
    position = prefix.end() if prefix else 0
    body = text[position:].rstrip()
    if not body:
        raise refuse("rrule_empty", position=position)
    parts: dict[str, Part] = {}
    for piece in body.removesuffix(";").split(";"):
        part = _parse_part(piece, position)
        if part.name in parts:
            raise refuse("rrule_repeated_part", position=position, part=part.name)
        parts[part.name] = part
        position += len(piece) + 1
    return parts


def _parse_part(piece: str, position: int) -> Part:
    name, equals, value = piece.partition("=")
    if not equals or not name or not value:
        raise refuse("rrule_bad_part", position=position, part=piece)
    # Upper case of other letters can be ASCII ("ſ" becomes "S"), so non-ASCII text is refused first.
    if not name.isascii() or name.upper() not in _FIELDS:
        raise refuse("rrule_unknown_part", position=position, part=name)
    if not value.isascii():
        raise refuse("rrule_bad_value", position=position, part=name.upper(), value=value)
    return Part(name.upper(), value.upper(), position)


def _parse_frequency(part: Part) -> Frequency:
    try:
        return Frequency(part.value)
    except ValueError:
        raise refuse("rrule_bad_freq", position=part.position, value=part.value) from None


def _parse_interval(part: Part) -> int:
    return _parse_positive(part, "rrule_bad_interval", MAX_INTERVAL)


def _parse_count(part: Part) -> int:
    return _parse_positive(part, "rrule_bad_count", MAX_COUNT)


def _parse_positive(part: Part, code: str, most: int) -> int:
    number = int(part.value) if part.value.isdigit() and len(part.value) <= _MAX_DIGITS else 0
    if not 1 <= number <= most:
        raise refuse(code, position=part.position, value=part.value, most=f"{most:,}")
    return number


def _parse_weekday(part: Part) -> int:
    if part.value not in WEEKDAY_NAMES:
        raise refuse("rrule_bad_value", position=part.position, part=part.name, value=part.value)
    return WEEKDAY_NAMES.index(part.value)


def _parse_until(part: Part) -> date | datetime:
    match = _UNTIL.fullmatch(part.value)
    numbers = [int(digits or 0) for digits in match.group(1, 2, 3, 4, 5, 6)] if match else [0] * 6
    year, month, day, hour, minute, second = numbers
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC if match and match[7] else None)
    except ValueError:
        raise refuse("rrule_bad_until", position=part.position, value=part.value) from None
    return moment if "T" in part.value else moment.date()


def _number_list_parser(low: int, high: int, *, signed: bool = False) -> Callable[[Part], tuple[int, ...]]:
    def read(part: Part) -> tuple[int, ...]:
        return tuple(sorted({_parse_number(part, item, low, high, signed=signed) for item in part.value.split(",")}))

    return read


def _parse_number(part: Part, item: str, low: int, high: int, *, signed: bool) -> int:
    match = _NUMBER.fullmatch(item)
    if match is None or (match[1] == "+" and not signed):
        raise refuse("rrule_bad_value", position=part.position, part=part.name, value=item)
    size = int(match[2]) if len(match[2]) <= _MAX_DIGITS else high + 1
    if not low <= size <= high or (match[1] == "-" and not signed):
        limits = f"{low}…{high}, -{high}…-{low}" if signed else f"{low}…{high}"
        raise refuse("rrule_out_of_range", position=part.position, part=part.name, value=item, limits=limits)
    return -size if match[1] == "-" else size


def _parse_weekdays(part: Part) -> tuple[tuple[int, int | None], ...]:
    days = {_parse_nth_weekday(part, item) for item in part.value.split(",")}
    return tuple(sorted(days, key=lambda day: (day[0], day[1] or 0)))


def _parse_nth_weekday(part: Part, item: str) -> tuple[int, int | None]:
    match = _NTH_WEEKDAY.fullmatch(item)
    if match is None or match[1] in ("+", "-"):
        raise refuse("rrule_bad_value", position=part.position, part=part.name, value=item)
    nth = _parse_number(part, match[1], 1, 53, signed=True) if match[1] else None
    return WEEKDAY_NAMES.index(match[2]), nth


_FIELDS: Final[dict[str, tuple[str, Callable[[Part], Any]]]] = {
    "FREQ": ("freq", _parse_frequency),
    "INTERVAL": ("interval", _parse_interval),
    "COUNT": ("count", _parse_count),
    "UNTIL": ("until", _parse_until),
    "WKST": ("wkst", _parse_weekday),
    "BYMONTH": ("by_month", _number_list_parser(1, 12)),
    "BYWEEKNO": ("by_week_number", _number_list_parser(1, 53, signed=True)),
    "BYYEARDAY": ("by_year_day", _number_list_parser(1, 366, signed=True)),
    "BYMONTHDAY": ("by_month_day", _number_list_parser(1, 31, signed=True)),
    "BYDAY": ("by_day", _parse_weekdays),
    "BYHOUR": ("by_hour", _number_list_parser(0, 23)),
    "BYMINUTE": ("by_minute", _number_list_parser(0, 59)),
    "BYSECOND": ("by_second", _number_list_parser(0, 59)),
    "BYSETPOS": ("by_set_position", _number_list_parser(1, 366, signed=True)),
}
