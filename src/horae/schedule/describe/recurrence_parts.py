"""What both languages need to know of a recurrence rule before they put it into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from ..recurrence import Frequency, Rule, completed

_MOST_LISTED_TIMES: Final = 12
_SHORTEST_RUN: Final = 3


@dataclass(frozen=True, slots=True)
class Told:
    """A rule, completed from its start where that is known."""

    rule: Rule
    complete: bool

    @classmethod
    def of(cls, rule: Rule, start: date | datetime | None) -> Told:
        if start is None:
            return cls(rule, complete=False)
        moment = start if isinstance(start, datetime) else datetime.combine(start, time())
        return cls(completed(rule, moment), complete=True)

    @property
    def seconds(self) -> tuple[int, ...]:
        """The seconds worth saying: a full minute goes without saying only where nothing else is possible."""
        return () if self.complete and self.rule.by_second == (0,) else self.rule.by_second

    @property
    def times(self) -> list[str] | None:
        """The times of day written out, when they are known and few."""
        rule = self.rule
        size = len(rule.by_hour) * len(rule.by_minute) * max(1, len(self.seconds))
        if rule.flowing or not 1 <= size <= _MOST_LISTED_TIMES:
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
        """(nth, weekday), as people would list them: from the first to the last."""
        numbered = [(nth, weekday) for weekday, nth in self.rule.by_day if nth is not None]
        return sorted(numbered, key=lambda day: (day[0] < 0, day))


def runs(numbers: Iterable[int], single: Callable[[int], str], run: Callable[[int, int], str]) -> list[str]:
    """Numbers in words, positive ones first; three or more in a row become one phrase."""
    ordered = sorted(numbers, key=lambda number: (number < 0, number))
    phrases: list[str] = []
    while ordered:
        length = _run_length(ordered)
        if length >= _SHORTEST_RUN:
            phrases.append(run(ordered[0], ordered[length - 1]))
        else:
            length = 1
            phrases.append(single(ordered[0]))
        ordered = ordered[length:]
    return phrases


def _run_length(numbers: Sequence[int]) -> int:
    """How many stand in a row at the beginning; what is counted from the end stands alone."""
    if numbers[0] < 0:
        return 1
    length = 1
    while length < len(numbers) and numbers[length] == numbers[0] + length:
        length += 1
    return length


def until_text(until: date | datetime) -> str:
    day = f"{until.year:04}-{until.month:02}-{until.day:02}"
    if not isinstance(until, datetime):
        return day
    clock = f"{until:%H:%M:%S}" if until.second else f"{until:%H:%M}"
    return f"{day} {clock}" if until.tzinfo is None else f"{day} {clock} UTC"
