"""What turns one JSON value into one argument, and what is said when it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias


class Converter(NamedTuple):
    """`wanted` is how the type is told to people; `read` raises `Mismatch`."""

    wanted: str
    read: Callable[[Any], Any]
    accepts: frozenset[str] | None = None
    """JSON types outside of which no value can fit; None where that is not known."""


Build: TypeAlias = Callable[[Any], Converter]
"""Makes the converter of an annotation; containers get it, to ask for those of their parts."""


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()


class Mismatch(Exception):  # noqa: N818 - it is told as a refusal or as a failure, never as itself
    """A value that does not fit. The way to it grows from the inside out: `[3]`, then `.ports[3]`."""

    def __init__(self, wanted: str, came: object, path: str = "") -> None:
        super().__init__(wanted, came)
        self.wanted = wanted
        self.came = came
        self.path = path

    def inside(self, step: str) -> Mismatch:
        self.path = f"{step}{self.path}"
        return self


class UnknownArgument(Mismatch):
    """A name that no argument has; `known` are those that there are, with commas."""

    def __init__(self, known: str, came: object, path: str) -> None:
        super().__init__(f"one of these names: {known}" if known else "no arguments", came, path)
        self.known = known


class UnsupportedError(Exception):
    """An annotation that no JSON value can be turned into."""


def type_name(annotation: object) -> str:
    """`int`, `Person`, `list[int]`: how an annotation is told."""
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return str(annotation).replace("typing.", "")
