"""SQL literals: values are escaped into the statement text, as the driver has no server-side parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final

_ESCAPES: Final = str.maketrans(
    {"\0": "\\0", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z", '"': '\\"', "'": "\\'"}
)
"""Safe only for the character set and the `sql_mode` that every connection of the store sets."""


class LastInsertOffset(int):
    """An offset from LAST_INSERT_ID(), the last number that the server assigned on this connection."""


def _quote(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _null(_: None) -> str:
    return "NULL"


_RENDERERS: Final[dict[type, Callable[[Any], str]]] = {
    int: int.__repr__,
    bool: lambda value: str(int(value)),
    NoneType: _null,
    str: _quote,
    LastInsertOffset: lambda value: f"LAST_INSERT_ID()+{int(value)}",
}


def render_literal(value: Any) -> str:
    """Return the literal of an int, str, bool or None; a string enumeration member is its text."""
    render = _RENDERERS.get(value.__class__)
    if render is not None:
        return render(value)
    if isinstance(value, str):
        return _quote(str(value))
    raise TypeError(f"{type(value).__name__} cannot be written into a statement")


def render_list(value: Any) -> str:
    """Return the members of a list, separated by commas, for IN (…); an empty list becomes NULL, which equals nothing."""
    if isinstance(value, list):
        return ",".join(map(render_literal, value)) or "NULL"
    return render_literal(value)


def render_rows(columns: Sequence[Sequence[Any]]) -> str:
    """Return columns of equal length as rows in brackets, for VALUES; no rows become one row of NULLs."""
    rows = [f"({','.join(map(render_literal, row))})" for row in zip(*columns, strict=True)]
    return ",".join(rows) or f"({','.join(['NULL'] * len(columns))})"
