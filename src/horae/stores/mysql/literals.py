"""Values as they are written into the text of a statement: the driver has no other way of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final

_ESCAPED: Final = str.maketrans(
    {"\0": "\\0", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z", '"': '\\"', "'": "\\'"}
)
"""Right for the character set and the `sql_mode` that each of our connections sets for itself, and for no other."""


class AfterLast(int):
    """A number that counts on from the last one that the server has told this connection."""


def _quoted(text: str) -> str:
    return f"'{text.translate(_ESCAPED)}'"


def _nothing(_: None) -> str:
    return "NULL"


_WAYS: Final[dict[type, Callable[[Any], str]]] = {
    int: int.__repr__,
    bool: lambda value: str(int(value)),
    NoneType: _nothing,
    str: _quoted,
    AfterLast: lambda value: f"LAST_INSERT_ID()+{int(value)}",
}


def literal(value: Any) -> str:
    """A number, a text or nothing; a member of an enumeration is its text."""
    way = _WAYS.get(value.__class__)
    if way is not None:
        return way(value)
    if isinstance(value, str):
        return _quoted(str(value))
    raise TypeError(f"{type(value).__name__} cannot be written into a statement")


def listed(value: Any) -> str:
    """A list as it stands between brackets; an empty one holds nothing that could be equal to anything."""
    if isinstance(value, list):
        return ",".join(map(literal, value)) or "NULL"
    return literal(value)


def in_brackets(columns: Sequence[Sequence[Any]]) -> str:
    """Columns of equal length as rows, each in brackets."""
    found = [f"({','.join(map(literal, row))})" for row in zip(*columns, strict=True)]
    return ",".join(found) or f"({','.join(['NULL'] * len(columns))})"
