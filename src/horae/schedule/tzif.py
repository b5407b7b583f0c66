"""TZif reader: a zone's recorded offset changes and its POSIX rule for the future, from the `tzdata` package."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import tzdata

from .days import days_in_month, first_of_month, is_leap, new_year

TZDATA_VERSION: Final[str] = tzdata.IANA_VERSION

_HEADER: Final = struct.Struct(">4s1s15x6l")
_FOLDER: Final = Path(tzdata.__file__).parent / "zoneinfo"
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class YearlyChange:
    """One of the two yearly changes in a POSIX footer, e.g. `M3.2.0/2`: a day of the year, and the second of that day."""

    month: int  # 0: a day of the year instead
    week: int
    weekday: int  # Sunday is 0, as in POSIX
    day: int
    counts_leap_day: bool
    second: int

    def local_second(self, year: int) -> int:
        return self._day_number(year) * _DAY + self.second

    def _day_number(self, year: int) -> int:
        if self.month == 0:
            after_february = not self.counts_leap_day and self.day >= 59 and is_leap(year)
            return new_year(year) + self.day + after_february
        first = first_of_month(year, self.month)
        sunday_first = (first + 4) % 7
        day = first + (self.weekday - sunday_first) % 7 + 7 * (self.week - 1)
        return day if day < first + days_in_month(year, self.month) else day - 7


@dataclass(frozen=True, slots=True)
class Footer:
    """The POSIX rule that a zone follows after its last recorded change."""

    standard: int
    saving: int | None
    begins: YearlyChange | None
    ends: YearlyChange | None

    def changes(self, year: int) -> list[tuple[int, int]]:
        if self.saving is None or self.begins is None or self.ends is None:
            return []
        return sorted(
            [
                (self.begins.local_second(year) - self.standard, self.saving),
                (self.ends.local_second(year) - self.saving, self.standard),
            ]
        )


@dataclass(frozen=True, slots=True)
class History:
    """Offsets in seconds east of Greenwich: the first one, the recorded changes, and the rule after them."""

    first_offset: int
    changes: tuple[tuple[int, int], ...]
    footer: Footer

    def through(self, year: int) -> Iterator[tuple[int, int]]:
        """Yield (instant, new offset) for every change before the end of `year` that changes the offset."""
        offset = self.first_offset
        for instant, new_offset in self._all_changes(year):
            if new_offset != offset:
                yield instant, new_offset
                offset = new_offset

    def _all_changes(self, year: int) -> Iterator[tuple[int, int]]:
        yield from self.changes
        last = self.changes[-1][0] if self.changes else 0
        for each in range(1970 + last // 31_556_952 - 1, year + 1):
            yield from (change for change in self.footer.changes(each) if change[0] > last)


@cache
def zone_names() -> frozenset[str]:
    return frozenset((_FOLDER.parent / "zones").read_text(encoding="utf-8").split())


def read_history(name: str) -> History:
    """Read the history of a zone whose name is in `zone_names()`."""
    return _decode((_FOLDER / name).read_bytes())


def _decode(data: bytes) -> History:
    _, _, *counts = _HEADER.unpack_from(data)
    body = _HEADER.size + _body_length(counts, time_size=4)
    _, _, *counts = _HEADER.unpack_from(data, body)
    _, _, _, times, kinds, _ = counts
    start = body + _HEADER.size
    instants = struct.unpack_from(f">{times}q", data, start)
    indexes = data[start + times * 8 : start + times * 9]
    offsets = [struct.unpack_from(">l", data, start + times * 9 + kind * 6)[0] for kind in range(kinds)]
    footer = data[start + _body_length(counts, time_size=8) :].decode("ascii").strip("\n")
    changes = tuple((instant, offsets[index]) for instant, index in zip(instants, indexes, strict=True))
    return History(offsets[0], changes, _read_footer(footer))


def _body_length(counts: list[int], time_size: int) -> int:
    universal, standard, leaps, times, kinds, abbreviation_bytes = counts
    return times * (time_size + 1) + kinds * 6 + abbreviation_bytes + leaps * (time_size + 4) + standard + universal


_NAME: Final = r"(?:<[^>]+>|[A-Za-z]+)"
_OFFSET: Final = r"[+-]?\d+(?::\d+){0,2}"
_FOOTER: Final = re.compile(rf"{_NAME}({_OFFSET})(?:{_NAME}({_OFFSET})?,([^,]+),([^,]+))?")


def _read_footer(text: str) -> Footer:
    match = _FOOTER.fullmatch(text)
    if match is None:
        raise ValueError(f"unreadable zone footer: {text!r}")
    standard_text, saving_text, begins, ends = match.groups()
    standard = -_parse_seconds(standard_text)
    if begins is None:
        return Footer(standard, None, None, None)
    saving = -_parse_seconds(saving_text) if saving_text else standard + 3600
    return Footer(standard, saving, _read_change(begins), _read_change(ends))


def _read_change(text: str) -> YearlyChange:
    date, _, time = text.partition("/")
    second = _parse_seconds(time) if time else 7200
    if date.startswith("M"):
        month, week, weekday = map(int, date[1:].split("."))
        return YearlyChange(month, week, weekday, 0, counts_leap_day=True, second=second)
    if date.startswith("J"):
        return YearlyChange(0, 0, 0, int(date[1:]) - 1, counts_leap_day=False, second=second)
    return YearlyChange(0, 0, 0, int(date), counts_leap_day=True, second=second)


def _parse_seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    return sign * sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
