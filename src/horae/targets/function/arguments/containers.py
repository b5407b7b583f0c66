"""Converters for composite types: lists, sets, tuples and mappings by the types of their items; unions, literals and enums."""

from __future__ import annotations

import json
from collections import abc
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final

from .converter import Build, Converter, Mismatch, type_name
from .encode import dump_compact, to_jsonable
from .scalars import FLOAT, INTEGER

_SERIES: Final[dict[Any, Callable[[Iterable[Any]], Any]]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Iterable: list,
    abc.Collection: list,
    abc.Set: frozenset,
    abc.MutableSet: set,
}
_ARRAY: Final = frozenset({"array"})
_OBJECT: Final = frozenset({"object"})
_MAPPINGS: Final = frozenset({dict, abc.Mapping, abc.MutableMapping})


def container(annotation: Any, origin: Any, parts: tuple[Any, ...], build: Build) -> Converter | None:
    """Return the converter of a container; None for any other annotation."""
    wanted = type_name(annotation)
    if origin in _SERIES:
        return _series(wanted, _SERIES[origin], build(parts[0] if parts else Any))
    if origin is tuple:
        if not parts or parts[-1] is Ellipsis:
            return _series(wanted, tuple, build(parts[0] if parts else Any))
        return _fixed(wanted, [build(part) for part in parts if part != ()])
    if origin in _MAPPINGS:
        key, value = parts or (Any, Any)
        return _mapping(wanted, build(key), build(value))
    return None


def _series(wanted: str, gather: Callable[[Iterable[Any]], Any], item: Converter) -> Converter:
    def read(value: Any) -> Any:
        if value.__class__ is not list:
            raise Mismatch(wanted, value)
        try:
            return gather(_read_each(value, item))
        except TypeError:  # a set of unhashable items
            raise Mismatch(wanted, value) from None

    return Converter(wanted, read, _ARRAY)


def _read_each(values: list[Any], item: Converter) -> list[Any]:
    items = []
    for index, value in enumerate(values):
        try:
            items.append(item.read(value))
        except Mismatch as mismatch:
            raise mismatch.prepend_path(f"[{index}]") from None
    return items


def _fixed(wanted: str, items: list[Converter]) -> Converter:
    def read(value: Any) -> Any:
        if value.__class__ is not list or len(value) != len(items):
            raise Mismatch(wanted, value)
        return tuple(_read_each([each], item)[0] for each, item in zip(value, items, strict=True))

    return Converter(wanted, read, _ARRAY)


def _mapping(wanted: str, key: Converter, item: Converter) -> Converter:
    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise Mismatch(wanted, value)
        items = {}
        for name, each in value.items():
            try:
                items[_read_key(key, name)] = item.read(each)
            except Mismatch as mismatch:
                raise mismatch.prepend_path(f"[{name!r}]") from None
        return items

    return Converter(wanted, read, _OBJECT)


def _read_key(key: Converter, name: str) -> Any:
    """Convert a key; JSON keys are strings, so a number, boolean or null is parsed from its JSON text."""
    try:
        return key.read(name)
    except Mismatch:
        try:
            return key.read(json.loads(name))
        except ValueError:
            raise Mismatch(key.expected, name) from None


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
