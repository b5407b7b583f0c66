"""Answers of an adapter, and the handling of missing ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Fires:
    instants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    why: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    why: str


@dataclass(frozen=True, slots=True)
class Crashed:
    why: str


@dataclass(frozen=True, slots=True)
class Hung:
    why: str


Answer: TypeAlias = Fires | Refused | Unsupported | Crashed | Hung


def read_answer(message: Any, asked: str) -> Answer:
    """The answer in one line of an adapter; a line that is none counts as a crash."""
    if not isinstance(message, dict) or message.get("id") != asked:
        return Crashed(f"answered something else: {str(message)[:200]}")
    match message:
        case {"fires": list(instants)}:
            return Fires(tuple(str(instant) for instant in instants))
        case {"refused": why}:
            return Refused(str(why))
        case {"unsupported": why}:
            return Unsupported(str(why))
        case _:
            return Crashed(f"answered neither fires, refused nor unsupported: {str(message)[:200]}")
