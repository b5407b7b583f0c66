"""PostgreSQL array literals as text, which is faster than the driver's encoding: it inspects the type of every item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

_NUL: Final = "\0"
_REPLACEMENT: Final = "\ufffd"


def replace_nul(text: str) -> str:
    """Replace NUL, the one character that PostgreSQL cannot store: the output of a target must not fail its settlement."""
    return text.replace(_NUL, _REPLACEMENT) if _NUL in text else text


def encode_array(values: Sequence[Any]) -> str:
    """Return an array literal of integers or texts, with NULL for None."""
    if None in values:
        return _array_text_with_nulls(values)
    if not values:
        return "{}"
    if isinstance(values[0], str):
        text = '","'.join(values)
        if "\\" in text or text.count('"') > 2 * len(values) - 2:
            text = '","'.join([_escape(value) for value in values])
        return replace_nul(f'{{"{text}"}}')
    return f"{{{','.join(map(str, values))}}}"


def encode_flat_columns(values: list[Any], width: int) -> list[str]:
    """Return the columns of rows that are given as one flat list."""
    return [encode_array(values[column::width]) for column in range(width)]


def encode_columns(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [encode_array(column) for column in zip(*rows, strict=True)]


def _array_text_with_nulls(values: Sequence[Any]) -> str:
    first = next((value for value in values if value is not None), None)
    if first is None:
        return f"{{{','.join(['NULL'] * len(values))}}}"
    if isinstance(first, str):
        items = ["NULL" if value is None else f'"{_escape(value)}"' for value in values]
        return replace_nul(f"{{{','.join(items)}}}")
    return f"{{{','.join(map(str, values)).replace('None', 'NULL')}}}"


def _escape(value: str) -> str:
    if "\\" in value or '"' in value:
        return value.replace("\\", "\\\\").replace('"', '\\"')
    return value
