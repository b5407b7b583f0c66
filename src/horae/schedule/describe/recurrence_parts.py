"""Parts of a recurrence rule that both languages describe: times, weekdays and ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from ..recurrence import Frequency, Rule, complete_rule

_MAX_LISTED_TIMES: Final = 12
_MIN_RANGE_LENGTH: Final = 3


@dataclass(frozen=True, slots=True)
class RuleParts:
    """A rule to describe, completed from its start if that is known."""

    rule: Rule
    complete: bool

    @classmethod
    def of(cls, rule: Rule, start: date | datetime | None) -> RuleParts:
        if start is None:
            return cls(rule, complete=False)
        moment = start if isinstance(start, datetime) else datetime.combine(start, time())
        return cls(complete_rule(rule, moment), complete=True)

    @property
    def seconds(self) -> tuple[int, ...]:
        """The seconds to mention; second 0 is left out only for a completed rule."""
        return () if self.complete and self.rule.by_second == (0,) else self.rule.by_second

    @property
    def times(self) -> list[str] | None:
        """The times of day as text if they are known and few; else None."""
        rule = self.rule
        size = len(rule.by_hour) * len(rule.by_minute) * max(1, len(self.seconds))
        if rule.flowing or not 1 <= size <= _MAX_LISTED_TIMES:
            return None
        minutes = [f"{hour:02}:{minute:02}" for hour in rule.by_hour for minute in rule.by_minute]
        if not self.seconds:
            return minutes
        return [f"{minute}:{second:02}" for minute in minutes for second in self.seconds]

    @property
    def week_start_matters(self) -> bool:
        rule = self.rule
        in_sets = rule.freq is Frequency.WEEKLY and (rule.interval > 1 or bool(rule.by_set_position))
        return rule.wkst != 0 and (in_sets or bool(rule.by_week_number))

    @property
    def plain_weekdays(self) -> list[int]:
        return [weekday for weekday, nth in self.rule.by_day if nth is None]

    @property
    def numbered_weekdays(self) -> list[tuple[int, int]]:
        """(nth, weekday) pairs, from the first to the last."""
        numbered = [(nth, weekday) for weekday, nth in self.rule.by_day if nth is not None]
        return sorted(numbered, key=lambda day: (day[0] < 0, day))


def describe_ranges(numbers: Iterable[int], single: Callable[[int], str], run: Callable[[int, int], str]) -> list[str]:
    """Describe numbers, positive ones first; three or more consecutive ones become one phrase."""
    ordered = sorted(numbers, key=lambda number: (number < 0, number))
    phrases: list[str] = []
    while ordered:
        length = _run_length(ordered)
        if length >= _MIN_RANGE_LENGTH:
            phrases.append(run(ordered[0], ordered[length - 1]))
        else:
            length = 1
            phrases.append(single(ordered[0]))
        ordered = ordered[length:]
    return phrases


def _run_length(numbers: Sequence[int]) -> int:
    """How many consecutive numbers the list begins with; negative ones are never grouped."""
    if numbers[0] < 0:
        return 1
    length = 1
    while length < len(numbers) and numbers[length] == numbers[0] + length:
        length += 1
    return length


def format_until(until: date | datetime) -> str:
    day = f"{until.year:04}-{until.month:02}-{until.day:02}"
    if not isinstance(until, datetime):
        return day
    clock = f"{until:%H:%M:%S}" if until.second else f"{until:%H:%M}"
    return f"{day} {clock}" if until.tzinfo is None else f"{day} {clock} UTC"
