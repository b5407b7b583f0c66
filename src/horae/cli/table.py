"""A table for people: columns side by side, cut only where a terminal is too narrow for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .pieces import Cell, Piece, cut, painted, plain, wide

_BETWEEN: Final = 2
_NARROWEST: Final = 8


def laid_out(titles: Sequence[str], rows: Sequence[Sequence[Cell]], *, room: int | None, colour: bool) -> Iterator[str]:
    """`room` is the width of the terminal; None where there is none, and then nothing is cut."""
    whole: list[Sequence[Cell]] = [[Piece(title, "dim") for title in titles], *rows]
    widths = _fitting([max(wide(row[number]) for row in whole) for number in range(len(titles))], room)
    for row in whole:
        yield _line(row, widths, colour=colour)


def tabbed(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """For programs: one tab between columns, no titles; what is not printable was made inert before, tabs among it."""
    for row in rows:
        yield "\t".join(plain(cell) for cell in row)


def _fitting(widths: list[int], room: int | None) -> list[int]:
    """The widest column gives way first, again and again, until all of them fit or none has anything left to give."""
    if room is None:
        return widths
    while sum(widths) + _BETWEEN * (len(widths) - 1) > room:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _line(row: Sequence[Cell], widths: Sequence[int], *, colour: bool) -> str:
    shown = []
    for cell, width in zip(row, widths, strict=True):
        fitting = cut(cell, width)
        shown.append(painted(fitting, colour=colour) + " " * (width - wide(fitting)))
    return (" " * _BETWEEN).join(shown).rstrip()
