"""Loader for named SQL statements (`-- name:` blocks) and numbered migrations in .sql files of a store's package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_ALSO: Final = re.compile(r"^-- also: (.+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*$", re.MULTILINE)
_COLUMN_LIST: Final = re.compile(r"\{(\w+_(?:columns|filter))\}")


_CONDITION: Final = re.compile(r"\{(\w+_filter) ([\w.]+) (\d+)\}")


def parse_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every block of a file, without comments and line breaks.

    `-- also:` lists further names of a statement: other stores need a statement of its own for each of them.
    """
    parts = _NAME.split(text)
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        statement = " ".join(_COMMENT.sub("", body).split())
        for each in (name, *(also for names in _ALSO.findall(body) for also in names.split(", "))):
            yield each, statement


def read_blocks(package: str) -> dict[str, str]:
    """Read all blocks of a store by name; raises LookupError for a name that is defined twice."""
    statements: dict[str, str] = {}
    for file in sorted(resources.files(package).joinpath("sql").iterdir(), key=lambda file: file.name):
        for name, body in parse_blocks(file.read_text(encoding="utf-8")):
            if name in statements:
                raise LookupError(f"The statement {name} is defined twice.")
            statements[name] = body
    return statements


def expand_columns(name: str, statements: dict[str, str]) -> str:
    """Return a statement with its `{…_columns}` and `{…_filter}` placeholders replaced by the shared blocks.

    `{…_filter COLUMN NUMBER}` also fills in the column and the number of the parameter that the condition is about.
    """
    expanded = _COLUMN_LIST.sub(lambda match: statements[match[1]], statements[name])
    return _CONDITION.sub(
        lambda match: statements[match[1]].replace("COLUMN", match[2]).replace("NUMBER", match[3]), expanded
    )


def latest_schema(package: str) -> int:
    """Return the number of the last migration."""
    return max(number for number, _ in read_migrations(package))


def read_migrations(package: str) -> list[tuple[int, str]]:
    """Read the migrations of a store as (number, SQL), in order."""
    files = resources.files(package).joinpath("migrations").iterdir()
    return sorted(
        (int(file.name.split("_", 1)[0]), file.read_text(encoding="utf-8"))
        for file in files
        if file.name.endswith(".sql")
    )
