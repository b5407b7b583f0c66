"""Converters for unions, literals and enums."""

from __future__ import annotations

from enum import Enum
from typing import Any

from .converter import Build, Converter, Mismatch
from .encode import dump_compact, to_jsonable
from .scalars import FLOAT, INTEGER


def union(parts: tuple[Any, ...], build: Build) -> Converter:
    """Convert with the first member that fits, in declaration order; integers stay integers."""
    members = [build(part) for part in parts]
    if FLOAT in members and INTEGER in members:
        members.sort(key=lambda member: member is FLOAT)
    wanted = " or ".join(member.expected for member in members)

    def read(value: Any) -> Any:
        inner: Mismatch | None = None
        for member in members:
            try:
                return member.read(value)
            except Mismatch as mismatch:
                # A mismatch deep inside a member is more informative than "none fits".
                inner = mismatch if mismatch.path else inner
        raise inner or Mismatch(wanted, value)

    return Converter(wanted, read, _accepted_types(members))


def _accepted_types(members: list[Converter]) -> frozenset[str] | None:
    known = [member.accepts for member in members if member.accepts is not None]
    return frozenset().union(*known) if len(known) == len(members) else None


def literal(values: tuple[Any, ...]) -> Converter:
    # Keyed by JSON text, because 1, 1.0 and True are equal in Python.
    by_text = {dump_compact(to_jsonable(value)): value for value in values}
    return _one_of("one of " + ", ".join(by_text), by_text)


def enumeration(kind: type[Enum]) -> Converter:
    """Find a member by its value, else by its name."""
    by_name = {dump_compact(name): member for name, member in kind.__members__.items()}
    by_value = {dump_compact(to_jsonable(member)): member for member in kind}
    return _one_of(f"{kind.__name__}: one of " + ", ".join(by_value), by_name | by_value)


def _one_of(wanted: str, by_text: dict[str, Any]) -> Converter:
    def read(value: Any) -> Any:
        try:
            return by_text[dump_compact(value)]
        except (KeyError, ValueError):
            raise Mismatch(wanted, value) from None

    return Converter(wanted, read)
