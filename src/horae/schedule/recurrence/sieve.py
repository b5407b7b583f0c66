"""Finds the first allowed day that a stride meets at an allowed time, without walking through centuries of days.

From one day to the next the first unit on the stride moves by a constant amount around a circle of INTERVAL units.
Taking every `leap`-th day, with a leap that makes the move small, both the allowed days and the places on the circle
are evenly spaced: two slices of bytes, compared as two large numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_LONGEST_LEAP: Final = 800


@dataclass(frozen=True, slots=True)
class Rotation:
    """A place on a circle that moves by `step` each day; `table` says which of the first places are good (1)."""

    table: bytes
    circle: int
    begin: int
    step: int

    def leap(self, days: int) -> tuple[int, int]:
        """(days, move): the leap that cuts `days` into the fewest runs, and how far it moves, perhaps backwards."""
        best = (days + 1.0, 1, 0)
        moved = 0
        for leap in range(1, _LONGEST_LEAP + 1):
            if leap >= best[0]:
                break  # a longer one has more runs than the best already has
            moved = (moved + self.step) % self.circle
            signed = moved if moved * 2 <= self.circle else moved - self.circle
            best = min(best, (leap + days * abs(signed) / self.circle, leap, signed))
        return best[1], best[2]

    def mirrored(self) -> Rotation:
        """The same circle walked the other way round."""
        begin = (len(self.table) - 1 - self.begin) % self.circle
        return Rotation(self.table[::-1], self.circle, begin, -self.step % self.circle)


def first_common(days: bytes, rotation: Rotation) -> int | None:
    """The first index at which `days` has a 1 and the rotation stands on a good place."""
    leap, move = rotation.leap(len(days))
    if move < 0:
        rotation, move = rotation.mirrored(), -move
    best = len(days)
    for phase in range(min(leap, best)):
        place = (rotation.begin + phase * rotation.step) % rotation.circle
        found = _first_in_phase(days[phase:best:leap], rotation, place, move)
        if found is not None:
            best = phase + found * leap
    return best if best < len(days) else None


def _first_in_phase(days: bytes, rotation: Rotation, place: int, move: int) -> int | None:
    table, circle = rotation.table, rotation.circle
    if move == 0:
        found = days.find(1) if place < len(table) and table[place] else -1
        return found if found >= 0 else None
    index = 0
    while index < len(days):
        if place < len(table):
            good = table[place::move]
            common = int.from_bytes(good, "little") & int.from_bytes(days[index : index + len(good)], "little")
            if common:
                return index + (common & -common).bit_length() // 8
        steps = -(-(circle - place) // move)
        index += steps
        place += steps * move - circle
    return None
