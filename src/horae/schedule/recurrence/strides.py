"""Search for DAILY and finer rules: every Nth day, hour, minute or second from the start, on allowed days and times.

A *unit* is one day, hour, minute or second; units are numbered from 1970-01-01 00:00 on the wall clock. The rule's
coarser parts allow or forbid whole units, its finer parts expand every allowed unit into the same moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..days import DAYS_OF_400_YEARS, FIRST_LOCAL, LAST_DAY, LAST_LOCAL, lowest_bit
from ..instants import DAY
from ..wall import ListedTimes, Times
from .moments import SetPositions, expand_moments
from .rule import Frequency, Rule
from .year_days import DayChoice, YearDays, flags

_MAX_LEAP: Final = 800


@dataclass(frozen=True, slots=True)
class Rotation:
    """A position on a circle that moves by `step` each day; `table` marks the allowed positions with 1."""

    table: bytes
    circle: int
    begin: int
    step: int

    def leap(self, days: int) -> tuple[int, int]:
        """(days, move): the leap that splits `days` into the fewest runs, and its move on the circle (negative: backwards)."""
        best = (days + 1.0, 1, 0)
        moved = 0
        for leap in range(1, _MAX_LEAP + 1):
            if leap >= best[0]:
                break  # a longer leap has more runs than the best one
            moved = (moved + self.step) % self.circle
            signed = moved if moved * 2 <= self.circle else moved - self.circle
            best = min(best, (leap + days * abs(signed) / self.circle, leap, signed))
        return best[1], best[2]

    def mirror(self) -> Rotation:
        """The same circle in the opposite direction."""
        begin = (len(self.table) - 1 - self.begin) % self.circle
        return Rotation(self.table[::-1], self.circle, begin, -self.step % self.circle)


def first_common(days: bytes, rotation: Rotation) -> int | None:
    """Return the first index at which `days` has a 1 and the rotation is at an allowed position.

    From one day to the next the first unit on the stride moves by a constant amount around a circle of INTERVAL units.
    Taking every `leap`-th day, with a leap that makes the move small, both the allowed days and the positions on the
    circle are evenly spaced: two slices of bytes, compared as two large numbers, without iterating over centuries.
    """
    leap, move = rotation.leap(len(days))
    if move < 0:
        rotation, move = rotation.mirror(), -move
    best = len(days)
    for phase in range(min(leap, best)):
        position = (rotation.begin + phase * rotation.step) % rotation.circle
        index = _first_in_phase(days[phase:best:leap], rotation, position, move)
        if index is not None:
            best = phase + index * leap
    return best if best < len(days) else None


def _first_in_phase(days: bytes, rotation: Rotation, position: int, move: int) -> int | None:
    table, circle = rotation.table, rotation.circle
    if move == 0:
        first_day = days.find(1) if position < len(table) and table[position] else -1
        return first_day if first_day >= 0 else None
    index = 0
    while index < len(days):
        if position < len(table):
            allowed = table[position::move]
            common = int.from_bytes(allowed, "little") & int.from_bytes(days[index : index + len(allowed)], "little")
            if common:
                return index + (common & -common).bit_length() // 8
        steps = -(-(circle - position) // move)
        index += steps
        position += steps * move - circle
    return None


_UNIT_SECONDS: Final = {
    Frequency.DAILY: DAY,
    Frequency.HOURLY: 3600,
    Frequency.MINUTELY: 60,
    Frequency.SECONDLY: 1,
}
MAX_GAP_SECONDS: Final = DAYS_OF_400_YEARS * DAY  # longest gap between matches of rules finer than a day
_NEAR_DAYS: Final = 100  # allowed days examined one by one, before the sieve searches 400 years at once


class StrideSearch:
    __slots__ = ("_days", "_interval", "_max_gap", "_moments", "_origin", "_per_day", "_stride_mask", "_times", "_unit")

    def __init__(self, rule: Rule, start: int) -> None:
        choice = DayChoice.of(rule)
        self._unit = _UNIT_SECONDS[rule.freq]
        self._per_day = DAY // self._unit
        self._interval = rule.interval
        self._origin = start // self._unit
        self._days = YearDays(choice) if choice else None
        self._times = _allowed_times(rule)
        self._stride_mask = _stride_mask(rule.interval, self._per_day) if self._times else 0
        self._moments = _select_moments(rule)
        self._max_gap = MAX_GAP_SECONDS if rule.flowing else LAST_LOCAL - FIRST_LOCAL

    def on_or_after(self, local: int) -> int | None:
        moments = self._moments
        if moments is None:
            return None
        unit, second = divmod(local, self._unit)
        moment_in_unit = moments.after(second - 1)
        match = self._first_unit(unit if moment_in_unit is not None else unit + 1)
        if match is None:
            return None
        moment = match * self._unit + (
            moment_in_unit if match == unit and moment_in_unit is not None else moments.first
        )
        return moment if moment <= local + self._max_gap else None

    def _first_unit(self, unit: int) -> int | None:
        """The first allowed unit on the stride at or after `unit`."""
        unit += (self._origin - unit) % self._interval
        if self._days is None and self._times is None:
            return unit
        for _ in range(_NEAR_DAYS):
            day = unit // self._per_day
            allowed = self._days.on_or_after(day) if self._days else day
            if allowed is None or allowed > LAST_DAY:
                return None
            if allowed > day:
                unit = self._on_stride(allowed * self._per_day)
                if unit // self._per_day > allowed:
                    continue
            match = self._first_in_day(unit)
            if match is not None:
                return match
            unit = self._on_stride((allowed + 1) * self._per_day)
        return self._search_far(unit)

    def _on_stride(self, unit: int) -> int:
        return unit + (self._origin - unit) % self._interval

    def _first_in_day(self, unit: int) -> int | None:
        """The first allowed unit from `unit` (on the stride, its day allowed) to the end of its day."""
        if self._times is None:
            return unit
        hits = self._times >> unit % self._per_day & self._stride_mask
        return unit + lowest_bit(hits) if hits else None

    def _search_far(self, unit: int) -> int | None:
        """Search whole 400 years; earlier units of the day of `unit` are not on the stride."""
        day = unit // self._per_day
        if day > LAST_DAY:
            return None
        days = self._days.flags(day) if self._days else bytes([1]) * DAYS_OF_400_YEARS
        if self._per_day == 1:
            return self._search_far_day(unit, days)
        wait = first_common(days, self._rotation(day))
        return None if wait is None else self._first_in_day(self._on_stride((day + wait) * self._per_day))

    def _search_far_day(self, day: int, days: bytes) -> int | None:
        """Search whole days: one slice for each 400 years, up to the end of the calendar."""
        skipped = 0
        while day + skipped <= LAST_DAY:
            wait = (self._origin - day - skipped) % self._interval
            index = days[wait :: self._interval].find(1)
            if index >= 0:
                return day + skipped + wait + index * self._interval
            skipped += DAYS_OF_400_YEARS
        return None

    def _rotation(self, day: int) -> Rotation:
        """The rotation of the stride: its first unit in a day moves by a constant amount from day to day."""
        times = self._times or (1 << self._per_day) - 1
        length = min(self._interval, self._per_day)
        return Rotation(
            table=flags(_fold_mask(times, self._per_day, length), length),
            circle=self._interval,
            begin=(self._origin - day * self._per_day) % self._interval,
            step=-self._per_day % self._interval,
        )


def _select_moments(rule: Rule) -> Times | None:
    """The moments of a unit after BYSETPOS, the same for every unit; None if none remains."""
    moments = expand_moments(rule)
    if not rule.by_set_position:
        return moments
    selected = SetPositions(rule.by_set_position).of(len(moments))
    return ListedTimes(tuple(map(moments.at, selected))) if selected else None


def _allowed_times(rule: Rule) -> int | None:
    """Bit mask of the units of a day that BYHOUR, BYMINUTE and BYSECOND allow; None if they allow all."""
    hours = _bits(rule.by_hour, 24)
    minutes = _bits(rule.by_minute, 60)
    seconds = _bits(rule.by_second, 60)
    match rule.freq:
        case Frequency.HOURLY if rule.by_hour:
            return hours
        case Frequency.MINUTELY if rule.by_hour or rule.by_minute:
            return _nest_masks(hours, 24, minutes, 60)
        case Frequency.SECONDLY if rule.by_hour or rule.by_minute or rule.by_second:
            return _nest_masks(hours, 24, _nest_masks(minutes, 60, seconds, 60), 3600)
        case _:
            return None


def _bits(numbers: tuple[int, ...], size: int) -> int:
    return sum(1 << number for number in numbers) if numbers else (1 << size) - 1


def _nest_masks(outer: int, size: int, inner: int, width: int) -> int:
    """`inner`, `width` bits wide, repeated at every position where `outer` has a bit."""
    return sum(inner << position * width for position in range(size) if outer >> position & 1)


@lru_cache(maxsize=64)
def _stride_mask(interval: int, size: int) -> int:
    """Bits 0, interval, 2 * interval … below `size`."""
    comb, width = 1, interval
    while width < size:
        comb |= comb << width
        width *= 2
    return comb & (1 << size) - 1


def _fold_mask(mask: int, size: int, length: int) -> int:
    """Bit mask of the set bits of a `size`-bit mask, modulo `length`."""
    while size > length:
        half = length * (-(-size // length) // 2)
        mask, size = mask & (1 << half) - 1 | mask >> half, max(half, size - half)
    return mask
