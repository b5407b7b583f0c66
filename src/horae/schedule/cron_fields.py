"""Cron field parser: turns cron text into sets of numbers.

The dialect is Debian cron's, with seconds, `L`, `L-n`, `LW`, `nW`, `d#n`, `dL` and `d#L`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .refusals import refuse

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class FieldKind:
    """The range and the names that one of the fields accepts."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    chinese: str = ""

    @property
    def names_in_languages(self) -> tuple[str, str]:
        return self.name, self.chinese

    @property
    def star_highest(self) -> int:
        """The highest value of `*`: Sunday is both 0 and 7, but `*` includes it once."""
        return 6 if self.name == "weekday" else self.highest


SECOND: Final = FieldKind("second", 0, 59, chinese="秒")
MINUTE: Final = FieldKind("minute", 0, 59, chinese="分")
HOUR: Final = FieldKind("hour", 0, 23, chinese="时")
DAY: Final = FieldKind("day", 1, 31, chinese="日")
MONTH: Final = FieldKind(
    "month", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), "月"
)
WEEKDAY: Final = FieldKind("weekday", 0, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), "星期")
_FIELDS: Final = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)


@dataclass(frozen=True, slots=True)
class Field:
    """One parsed field; only the two day fields use the special parts."""

    text: str
    values: frozenset[int]
    last: bool = False  # L
    last_working: bool = False  # LW
    nearest_working: frozenset[int] = frozenset()  # nW
    nth: frozenset[tuple[int, int]] = frozenset()  # d#n
    last_weekdays: frozenset[int] = frozenset()  # dL, d#L
    before_last: frozenset[int] = frozenset()  # L-n

    @property
    def is_starred(self) -> bool:
        return self.text.startswith("*")


@dataclass(frozen=True, slots=True)
class CronFields:
    """A parsed cron expression; weekdays keep cron's numbers (Sunday is 0)."""

    second: Field
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def flowing(self) -> bool:
        """Whether it follows real time through a clock change, because it is not tied to an hour and minute."""
        return self.minute.is_starred or self.hour.is_starred

    @property
    def is_one_date(self) -> bool:
        """Whether it matches one day of one month, such as 29 February."""
        plain_day = len(self.day.values) == 1 and not (
            self.day.last or self.day.last_working or self.day.nearest_working or self.day.before_last
        )
        return plain_day and len(self.month.values) == 1 and self.weekday.text == "*"

    @property
    def both_day_fields(self) -> bool:
        """Whether a day must match both day fields, instead of either."""
        return self.day.is_starred or self.weekday.is_starred


def normalize(expression: str) -> str:
    """Normalize the spelling: single blanks, names in capitals, aliases expanded."""
    words = expression.split()
    if len(words) == 1 and words[0].startswith("@"):
        alias = ALIASES.get(words[0].lower())
        if alias is None:
            raise refuse("unknown_alias", 0, alias=words[0], known=", ".join(ALIASES))
        return alias
    return " ".join(words).upper()


@lru_cache(maxsize=1024)
def parse_fields(expression: str) -> CronFields:
    words = [(match.group(), match.start()) for match in re.finditer(r"\S+", expression)]
    if len(words) not in (5, 6):
        code = "empty" if not words else "field_count"
        raise refuse(code, min(len(expression), words[6][1]) if len(words) > 6 else len(expression), count=len(words))
    kinds = _FIELDS if len(words) == 5 else (SECOND, *_FIELDS)
    fields = [_read_field_at(position, word, kind) for (word, position), kind in zip(words, kinds, strict=True)]
    return CronFields(*(fields if len(fields) == 6 else [Field("0", frozenset({0})), *fields]))


def _read_field_at(position: int, word: str, kind: FieldKind) -> Field:
    from ..errors import InvalidSchedule  # noqa: PLC0415 - only needed to relocate a refusal

    try:
        return _read_field(word.upper(), kind)
    except InvalidSchedule as refusal:
        raise refusal.located(" " * position + word, position) from None


@lru_cache(maxsize=4096)
def _read_field(text: str, kind: FieldKind) -> Field:
    builder = _FieldBuilder(kind)
    position = 0
    for item in text.split(","):
        builder.add(item, position)
        position += len(item) + 1
    return builder.field(text)


class _FieldBuilder:
    """Collects the items of one field's comma-separated list."""

    def __init__(self, kind: FieldKind) -> None:
        self._kind = kind
        self._values: set[int] = set()
        self._nearest: set[int] = set()
        self._nth: set[tuple[int, int]] = set()
        self._last_weekdays: set[int] = set()
        self._before_last: set[int] = set()
        self._last = self._last_working = False

    def add(self, item: str, position: int) -> None:
        if not item:
            raise refuse("empty_item", position, field=self._kind.names_in_languages)
        special = {"day": self._add_day_special, "weekday": self._add_weekday_special}.get(self._kind.name)
        if special is None or not special(item, position):
            self._values.update(_read_range(item, position, self._kind))

    def _add_day_special(self, item: str, position: int) -> bool:
        if item == "L":
            self._last = True
        elif item == "LW":
            self._last_working = True
        elif item.startswith("L-"):
            self._before_last.add(_parse_days_before_last(item[2:], position))
        elif item.endswith("W"):
            self._nearest.add(_parse_number(item[:-1], position, DAY))
        else:
            return False
        return True

    def _add_weekday_special(self, item: str, position: int) -> bool:
        weekday, hash_sign, nth = item.partition("#")
        if hash_sign:
            number = _parse_numbered_weekday(weekday, position, item)
            if nth == "L":
                self._last_weekdays.add(number)
            elif nth in ("1", "2", "3", "4", "5"):
                self._nth.add((number, int(nth)))
            else:
                raise refuse("bad_nth", position + len(weekday) + 1, value=nth)
        elif item.startswith("L"):
            raise refuse("last_of_what", position, value=item)
        elif item.endswith("L"):
            self._last_weekdays.add(_parse_numbered_weekday(item[:-1], position, item))
        else:
            return False
        return True

    def field(self, text: str) -> Field:
        values = {value % 7 for value in self._values} if self._kind is WEEKDAY else self._values
        return Field(
            text,
            frozenset(values),
            self._last,
            self._last_working,
            frozenset(self._nearest),
            frozenset(self._nth),
            frozenset(self._last_weekdays),
            frozenset(self._before_last),
        )


def _parse_days_before_last(text: str, position: int) -> int:
    """Parse the n of `L-n`; the longest month has 30 days before its last one."""
    days = int(text) if text.isascii() and text.isdigit() and len(text) <= 2 else 0
    if not 1 <= days < DAY.highest:
        raise refuse("bad_days_before_last", position + 2, value=text)
    return days


def _parse_numbered_weekday(text: str, position: int, item: str) -> int:
    """Parse the weekday in front of `#` or `L` (Sunday is 0); a range is refused."""
    first, dash, _ = text.partition("-")
    if dash and first:
        raise refuse("range_numbered", position, value=item)
    return _parse_number(text, position, WEEKDAY) % 7


def _read_range(item: str, position: int, kind: FieldKind) -> range:
    body, slash, step_text = item.partition("/")
    first, last = _parse_ends(body, position, kind, stepped=bool(slash))
    if not slash:
        return range(first, last + 1)
    step_place = position + len(body) + 1
    step = _parse_digits(step_text, step_place, kind)
    if step == 0:
        raise refuse("step_zero", step_place, field=kind.names_in_languages)
    if last == first:
        raise refuse("step_without_range", step_place, field=kind.names_in_languages, value=first)
    if step > last - first:
        raise refuse(
            "step_too_large",
            step_place,
            field=kind.names_in_languages,
            step=step,
            first=first,
            last=last,
            most=last - first,
        )
    return range(first, last + 1, step)


def _parse_ends(body: str, position: int, kind: FieldKind, *, stepped: bool) -> tuple[int, int]:
    if body == "*":
        return kind.lowest, kind.star_highest
    first_text, dash, last_text = body.partition("-")
    first = _parse_number(first_text, position, kind)
    if not dash:
        return first, kind.highest if stepped else first
    last = (
        7 if kind is WEEKDAY and last_text == "SUN" else _parse_number(last_text, position + len(first_text) + 1, kind)
    )
    if last < first:
        raise refuse("backwards_range", position, field=kind.names_in_languages, range=body)
    return first, last


def _parse_number(text: str, position: int, kind: FieldKind) -> int:
    if text in kind.names:
        return kind.names.index(text) + kind.lowest
    value = _parse_digits(text, position, kind)
    if not kind.lowest <= value <= kind.highest:
        raise refuse(
            "out_of_range",
            position,
            field=kind.names_in_languages,
            value=value,
            lowest=kind.lowest,
            highest=kind.highest,
        )
    return value


def _parse_digits(text: str, position: int, kind: FieldKind) -> int:
    if text == "?":
        raise refuse("question_mark", position)
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise refuse(
            "not_a_number",
            position,
            field=kind.names_in_languages,
            value=text,
            lowest=kind.lowest,
            highest=kind.highest,
        )
    return int(text)
