"""Reads fields of JSON documents that a service has sent: a field of another type reads as absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_LATEST: Final = 253_402_300_799.0


def text(document: Any, *path: str) -> str:
    """Return the text or whole number at a path of names, as text; empty if there is none."""
    value = _at(document, path)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def number(document: Any, *path: str) -> int | None:
    value = _at(document, path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def table(document: Any, *path: str) -> Mapping[str, Any]:
    value = _at(document, path)
    return value if isinstance(value, Mapping) else {}


def tables(document: Any, *path: str) -> Iterator[Mapping[str, Any]]:
    value = _at(document, path)
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, Mapping))


def instant(seconds: str | float | None, now: datetime) -> datetime:
    """Return an instant given in seconds since 1970; now, if the service gave none that can be read."""
    try:
        value = float(seconds) if seconds is not None else -1.0
    except ValueError:
        value = -1.0
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value) if 0 < value < _LATEST else now


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document
