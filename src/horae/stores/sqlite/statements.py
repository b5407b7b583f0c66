"""SQL statements of the SQLite store by name, read once from its .sql files, and multi-row statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..named_sql import expand_columns, read_blocks

STATEMENTS: Final = read_blocks(__package__)


def sql(name: str) -> str:
    """Return a statement by name, with its shared column lists expanded."""
    return expand_columns(name, STATEMENTS)


class BulkStatement:
    """A statement that writes many rows at once.

    Up to `EACH` rows there is a text for every size, so that one statement writes all rows: after each statement the
    thread has to get the GIL again, while it holds the write lock. Above that, sizes are powers of two. Each text is
    compiled once and kept in the statement cache.
    """

    MAX_ROWS: Final = 128
    MAX_EXACT_ROWS: Final = 32

    def __init__(self, name: str, width: int) -> None:
        self._width = width
        self._row = f"({', '.join('?' * width)})"
        self._statement = sql(name)
        self._texts: dict[int, str] = {}

    def split(self, count: int) -> Iterator[tuple[str, int, int]]:
        """Yield the statements for `count` values as (text, start, end) of their slice of the values."""
        start = 0
        while start < count:
            size = self._size((count - start) // self._width)
            text = self._texts.get(size)
            if text is None:
                text = self._texts[size] = self._statement.replace("{rows}", ", ".join([self._row] * size))
            yield text, start, start + size * self._width
            start += size * self._width

    def _size(self, rows: int) -> int:
        return rows if rows <= self.MAX_EXACT_ROWS else min(self.MAX_ROWS, 1 << (rows.bit_length() - 1))
