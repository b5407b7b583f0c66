"""A recurrence rule as an immutable value: its parts sorted and without duplicates, independent of any start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Final

WEEKDAY_NAMES: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


class Frequency(StrEnum):
    YEARLY = "YEARLY"
    MONTHLY = "MONTHLY"
    WEEKLY = "WEEKLY"
    DAILY = "DAILY"
    HOURLY = "HOURLY"
    MINUTELY = "MINUTELY"
    SECONDLY = "SECONDLY"


FLOWING_FREQUENCIES: Final = frozenset({Frequency.HOURLY, Frequency.MINUTELY, Frequency.SECONDLY})


@dataclass(frozen=True, slots=True)
class Rule:
    """Weekdays are 0 = Monday … 6 = Sunday; every tuple is sorted without duplicates; empty means absent."""

    freq: Frequency
    interval: int = 1
    count: int | None = None
    until: date | datetime | None = None  # a date, a wall time, or an aware instant in UTC
    wkst: int = 0
    by_month: tuple[int, ...] = ()
    by_week_number: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_day: tuple[tuple[int, int | None], ...] = ()
    by_hour: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_second: tuple[int, ...] = ()
    by_set_position: tuple[int, ...] = ()

    @property
    def flowing(self) -> bool:
        """Whether the rule follows real time through a clock change instead of being pinned to wall times."""
        return self.freq in FLOWING_FREQUENCIES

    @property
    def text(self) -> str:
        """The canonical text: upper case, fixed order of parts, defaults left out."""
        parts = [f"FREQ={self.freq}"]
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.count is not None:
            parts.append(f"COUNT={self.count}")
        if self.until is not None:
            parts.append(f"UNTIL={_format_until(self.until)}")
        for name, numbers in self._list_parts():
            if numbers:
                parts.append(f"{name}={','.join(numbers)}")
        if self.wkst:
            parts.append(f"WKST={WEEKDAY_NAMES[self.wkst]}")
        return ";".join(parts)

    def _list_parts(self) -> tuple[tuple[str, list[str]], ...]:
        days = ["{}{}".format("" if nth is None else nth, WEEKDAY_NAMES[weekday]) for weekday, nth in self.by_day]
        return (
            ("BYMONTH", [*map(str, self.by_month)]),
            ("BYWEEKNO", [*map(str, self.by_week_number)]),
            ("BYYEARDAY", [*map(str, self.by_year_day)]),
            ("BYMONTHDAY", [*map(str, self.by_month_day)]),
            ("BYDAY", days),
            ("BYHOUR", [*map(str, self.by_hour)]),
            ("BYMINUTE", [*map(str, self.by_minute)]),
            ("BYSECOND", [*map(str, self.by_second)]),
            ("BYSETPOS", [*map(str, self.by_set_position)]),
        )


def complete_rule(rule: Rule, start: datetime) -> Rule:
    """The rule with the parts filled in that RFC 5545 takes from the start."""
    rule = _complete_days(rule, start)
    pinned = not rule.flowing
    return replace(
        rule,
        by_hour=rule.by_hour or ((start.hour,) if pinned else ()),
        by_minute=rule.by_minute or ((start.minute,) if pinned or rule.freq is Frequency.HOURLY else ()),
        by_second=rule.by_second or ((start.second,) if rule.freq is not Frequency.SECONDLY else ()),
    )


def _complete_days(rule: Rule, start: datetime) -> Rule:
    if rule.by_day or rule.by_month_day or rule.by_year_day:
        return rule
    if rule.by_week_number or rule.freq is Frequency.WEEKLY:
        return replace(rule, by_day=((start.weekday(), None),))
    if rule.freq is Frequency.MONTHLY:
        return replace(rule, by_month_day=(start.day,))
    if rule.freq is Frequency.YEARLY:
        return replace(rule, by_month=rule.by_month or (start.month,), by_month_day=(start.day,))
    return rule


def _format_until(until: date | datetime) -> str:
    day = f"{until.year:04}{until.month:02}{until.day:02}"
    if not isinstance(until, datetime):
        return day
    return f"{day}T{until:%H%M%S}{'' if until.tzinfo is None else 'Z'}"
