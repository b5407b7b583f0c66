"""The SQL of this store: named blocks in the .sql files beside it, read once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*$", re.MULTILINE)
_SHARED: Final = re.compile(r"\{(\w+_(?:columns|filter))\}")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Every named block of a file, without its comments."""
    pieces = _NAME.split(text)
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        yield name, " ".join(_COMMENT.sub("", body).split())


def _read_all() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in sorted(resources.files(__package__).joinpath("sql").iterdir(), key=lambda each: each.name):
        for name, body in blocks(file.read_text(encoding="utf-8")):
            if name in found:
                raise LookupError(f"The statement {name} is defined twice.")
            found[name] = body
    return found


STATEMENTS: Final = _read_all()


def sql(name: str) -> str:
    """One statement, with the column lists that it shares filled in."""
    return _SHARED.sub(lambda shared: STATEMENTS[shared[1]], STATEMENTS[name])


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
