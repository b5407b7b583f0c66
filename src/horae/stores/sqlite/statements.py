"""The SQL of this store: named blocks in the .sql files beside it, read once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..named_sql import filled, read_blocks

STATEMENTS: Final = read_blocks(__package__)


def sql(name: str) -> str:
    """One statement, with the column lists that it shares filled in."""
    return filled(name, STATEMENTS)


class Bulk:
    """A statement that takes many rows at once.

    Up to a few rows every size has a text of its own, so that one statement writes them all: after each, the thread has to
    wait for the interpreter again, and whoever waits for the file waits with it. Above that there are few sizes. Each is
    compiled once and kept.
    """

    LARGEST: Final = 128
    EACH: Final = 32

    def __init__(self, name: str, width: int) -> None:
        self._width = width
        self._row = f"({', '.join('?' * width)})"
        self._statement = sql(name)
        self._texts: dict[int, str] = {}

    def parts(self, count: int) -> Iterator[tuple[str, int, int]]:
        """Statements that together take so many values: the text, and the values from–to."""
        start = 0
        while start < count:
            size = self._size((count - start) // self._width)
            text = self._texts.get(size)
            if text is None:
                text = self._texts[size] = self._statement.replace("{rows}", ", ".join([self._row] * size))
            yield text, start, start + size * self._width
            start += size * self._width

    def _size(self, rows: int) -> int:
        return rows if rows <= self.EACH else min(self.LARGEST, 1 << (rows.bit_length() - 1))
