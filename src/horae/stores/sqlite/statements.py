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

    It comes in a few sizes, each half of the one before, so that every size is compiled once and kept.
    """

    LARGEST: Final = 128

    def __init__(self, name: str, width: int) -> None:
        row = f"({', '.join('?' * width)})"
        self._sizes: list[tuple[int, str]] = []
        size = self.LARGEST
        while size:
            self._sizes.append((size * width, sql(name).replace("{rows}", ", ".join([row] * size))))
            size //= 2

    def parts(self, count: int) -> Iterator[tuple[str, int, int]]:
        """Statements that together take so many values: the text, and the values from–to."""
        start = 0
        for size, text in self._sizes:
            while count - start >= size:
                yield text, start, start + size
                start += size
