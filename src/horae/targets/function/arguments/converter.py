"""Converter from one JSON value to one typed argument, and the errors for values that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias


class Converter(NamedTuple):
    """`expected` describes the type in messages; `read` converts a value or raises `Mismatch`."""

    expected: str
    read: Callable[[Any], Any]
    accepts: frozenset[str] | None = None
    """JSON types outside of which no value can fit; None where that is not known."""


Build: TypeAlias = Callable[[Any], Converter]
"""Builds the converter of an annotation; passed to containers, which build those of their items."""


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()


class Mismatch(Exception):  # noqa: N818 - always converted to a refusal or a failure
    """A value that does not fit. Its path is built from the inside out: `[3]`, then `.ports[3]`."""

    def __init__(self, wanted: str, came: object, path: str = "") -> None:
        super().__init__(wanted, came)
        self.expected = wanted
        self.value = came
        self.path = path

    def prepend_path(self, step: str) -> Mismatch:
        self.path = f"{step}{self.path}"
        return self


class UnknownArgument(Mismatch):
    """An unknown argument name; `known` lists the existing names, comma-separated."""

    def __init__(self, known: str, came: object, path: str) -> None:
        super().__init__(f"one of these names: {known}" if known else "no arguments", came, path)
        self.known = known


class UnsupportedError(Exception):
    """An annotation to which no JSON value can be converted."""


def type_name(annotation: object) -> str:
    """Return the text of an annotation: `int`, `Person`, `list[int]`."""
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return str(annotation).replace("typing.", "")
