"""SQL in named blocks, in .sql files beside the store that uses them, read once."""

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


def read_blocks(package: str) -> dict[str, str]:
    """All blocks of a store, as they are written."""
    found: dict[str, str] = {}
    for file in sorted(resources.files(package).joinpath("sql").iterdir(), key=lambda each: each.name):
        for name, body in blocks(file.read_text(encoding="utf-8")):
            if name in found:
                raise LookupError(f"The statement {name} is defined twice.")
            found[name] = body
    return found


def filled(name: str, known: dict[str, str]) -> str:
    """One statement, with the column lists that it shares filled in."""
    return _SHARED.sub(lambda shared: known[shared[1]], known[name])


def read_steps(package: str) -> list[tuple[int, str]]:
    """The numbered migrations of a store, in order."""
    files = resources.files(package).joinpath("migrations").iterdir()
    return sorted(
        (int(file.name.split("_", 1)[0]), file.read_text(encoding="utf-8"))
        for file in files
        if file.name.endswith(".sql")
    )
