"""Sieve: finds the first allowed day on which a stride hits an allowed time, without iterating over centuries of days.

From one day to the next the first unit on the stride moves by a constant amount around a circle of INTERVAL units.
Taking every `leap`-th day, with a leap that makes the move small, both the allowed days and the places on the circle
are evenly spaced: two slices of bytes, compared as two large numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
    """The first index at which `days` has a 1 and the rotation is at an allowed position."""
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
