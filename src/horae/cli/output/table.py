"""Tables as text. On a terminal, columns are dropped by rank, then texts wrap, then the cells of a row are stacked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .line_breaks import longest_word, wrap_cell
from .styled_text import Cell, StyledText, cell_text, cell_width, render_cell, truncate_cell

_GAP: Final = 2
_INDENT: Final = 2
_NARROWEST: Final = 8


class Fit(NamedTuple):
    """How a column may shrink on a narrow terminal.

    The highest `rank` is dropped first; columns of rank 0 and 1 always stay. `cut`: it may be truncated, at the end of a
    word, to this width. `wrap`: when no column is left to drop, its texts may wrap at this width.
    """

    rank: int = 0
    cut: int | None = None
    wrap: int | None = None


STAYS: Final = Fit()
_DEFAULT: Final = Fit(wrap=_NARROWEST)
_NUMBER: Final = re.compile(r"[+-]?\d[\d.,]*(?: ?(?:%|s))?")
_ALWAYS_SHOWN: Final = 1


def render_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    room: int | None,
    colour: bool,
    fits: Sequence[Fit] | None = None,
) -> Iterator[str]:
    """Yield the lines of a table. `room` is the width of the terminal; None: no limit. Without titles, only rows."""
    whole = _with_titles(titles, rows)
    columns, widths = _measure(whole, room, fits)
    if widths is None:
        for row in rows:
            cells = [_with_title(titles[each] if titles and each else "", row[each]) for each in columns]
            yield from _stack(cells, room or 0, colour=colour)
        return
    may_cut = [fits is not None and fits[each].cut is not None for each in columns]
    for row in whole:
        cells = [
            truncate_cell(row[each], width) if short else row[each]
            for each, width, short in zip(columns, widths, may_cut, strict=True)
        ]
        yield from _lines(cells, widths, colour=colour)


def is_table(
    titles: Sequence[str], rows: Sequence[Sequence[Cell]], room: int, fits: Sequence[Fit] | None = None
) -> bool:
    """Whether the rows fit side by side below their titles; else `render_table` stacks the cells of each row."""
    return _measure(_with_titles(titles, rows), room, fits)[1] is not None


def _with_titles(titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    return [*([[StyledText(title, "dim") for title in titles]] if titles else []), *rows]


def _measure(
    whole: Sequence[Sequence[Cell]], room: int | None, fits: Sequence[Fit] | None
) -> tuple[list[int], list[int] | None]:
    """Return the columns that stay, and their widths; None if no widths fit."""
    count = len(whole[0])
    natural = [max(cell_width(row[number]) for row in whole) for number in range(count)]
    if room is None:
        return list(range(count)), natural
    ways = list(fits) if fits is not None else [_DEFAULT] * count
    columns = _columns_that_fit(ways, natural, room)
    words = [max(min(longest_word(row[each]), room) for row in whole) for each in columns]
    return columns, _shrink([ways[each] for each in columns], [natural[each] for each in columns], words, room)


def render_tabs(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield tab-separated lines without titles; `cell_text` has replaced tabs and other unprintable characters."""
    for row in rows:
        yield "\t".join(cell_text(cell) for cell in row)


def _columns_that_fit(ways: Sequence[Fit], natural: Sequence[int], room: int) -> list[int]:
    """Return the columns that stay: those of the highest rank are dropped first, and only as many as necessary."""
    columns = list(range(len(ways)))
    while True:
        least = [natural[each] if (cut := ways[each].cut) is None else min(natural[each], cut) for each in columns]
        highest = max((ways[each].rank for each in columns), default=0)
        if _total(least) <= room or highest <= _ALWAYS_SHOWN:
            return columns
        # Of several with this rank, the last one is dropped.
        columns.remove(max(each for each in columns if ways[each].rank == highest))


def _shrink(ways: Sequence[Fit], natural: Sequence[int], words: Sequence[int], room: int) -> list[int] | None:
    """Return widths that fit: first columns that may be truncated shrink, then those that may wrap, the widest first. No
    wrapped column becomes narrower than its longest word; None if that is not enough."""
    widths = list(natural)
    wraps = [None if way.wrap is None else max(way.wrap, word) for way, word in zip(ways, words, strict=True)]
    for least in ([way.cut for way in ways], wraps):
        while _total(widths) > room:
            able = [each for each, bound in enumerate(least) if bound is not None and widths[each] > bound]
            if not able:
                break
            widths[max(able, key=widths.__getitem__)] -= 1
    return widths if _total(widths) <= room else None


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _lines(row: Sequence[Cell], widths: Sequence[int], *, colour: bool) -> Iterator[str]:
    """Yield the lines of a row: as many as the tallest cell has."""
    cells = [wrap_cell(cell, width) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        shown = []
        for cell, width in zip(cells, widths, strict=True):
            part: Cell = cell[number] if number < len(cell) else ""
            shown.append(render_cell(part, colour=colour) + " " * (width - cell_width(part)))
        yield (" " * _GAP).join(shown).rstrip()


def _with_title(title: str, cell: Cell) -> Cell:
    """Put the title of the column before a bare number, which would mean nothing without it."""
    if not title or not _NUMBER.fullmatch(cell_text(cell)):
        return cell
    return (StyledText(f"{title} ", "dim"), *((cell,) if isinstance(cell, str | StyledText) else cell))


def _stack(row: Sequence[Cell], room: int, *, colour: bool) -> Iterator[str]:
    """Yield a row as a paragraph: cells next to each other as far as they fit, with later lines indented."""
    line, taken = "", 0
    for cell in row:
        text = cell_text(cell)
        if not text.strip():
            continue
        if text.startswith(" "):  # a date that is not repeated
            cell = text.strip()
        gap = _GAP if taken else 0
        if taken and taken + gap + cell_width(cell) > room:
            yield line
            line, taken, gap = " " * _INDENT, _INDENT, 0
        left = room - taken - gap
        parts = [cell] if cell_width(cell) <= left else wrap_cell(cell, room - _INDENT)
        for number, part in enumerate(parts):
            if number:
                yield line
                line, taken, gap = " " * _INDENT, _INDENT, 0
            line += " " * gap + render_cell(part, colour=colour)
            taken += gap + cell_width(part)
    yield line
