"""Arrays as text. The driver looks at every item of a list to find out what it is; whoever knows need not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

_NO_CHARACTER: Final = "\0"
_INSTEAD: Final = "\ufffd"


def storable(text: str) -> str:
    """The server keeps every character but one. What a target says may hold that, and its settlement must not fail."""
    return text.replace(_NO_CHARACTER, _INSTEAD) if _NO_CHARACTER in text else text


def array_text(values: Sequence[Any]) -> str:
    """As the server reads it: whole numbers or texts, with NULL for None."""
    if None in values:
        return _with_nulls(values)
    if not values:
        return "{}"
    if isinstance(values[0], str):
        text = '","'.join(values)
        if "\\" in text or text.count('"') > 2 * len(values) - 2:
            text = '","'.join([_quoted(value) for value in values])
        return storable(f'{{"{text}"}}')
    return f"{{{','.join(map(str, values))}}}"


def strides(values: list[Any], width: int) -> list[str]:
    """Of rows that stand one after the other, the columns."""
    return [array_text(values[place::width]) for place in range(width)]


def columns(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [array_text(column) for column in zip(*rows, strict=True)]


def _with_nulls(values: Sequence[Any]) -> str:
    first = next((value for value in values if value is not None), None)
    if first is None:
        return f"{{{','.join(['NULL'] * len(values))}}}"
    if isinstance(first, str):
        items = ["NULL" if value is None else f'"{_quoted(value)}"' for value in values]
        return storable(f"{{{','.join(items)}}}")
    return f"{{{','.join(map(str, values)).replace('None', 'NULL')}}}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        return value.replace("\\", "\\\\").replace('"', '\\"')
    return value
