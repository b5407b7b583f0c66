"""Converters for types with fields: dataclasses, named tuples, typed dictionaries, pydantic models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar, is_dataclass
from inspect import Parameter, signature
from typing import Any, NamedTuple, NotRequired, Required, TypeAlias, get_origin, get_type_hints, is_typeddict

from .converter import MISSING, Build, Converter, Mismatch, UnknownArgument, UnsupportedError


class FieldConverter(NamedTuple):
    converter: Converter
    required: bool


def read_fields(
    parts: Mapping[str, FieldConverter], given: Mapping[str, Any], rest: Converter | None = None
) -> dict[str, Any]:
    """Convert each field; `rest` converts unknown names, which raise `UnknownArgument` without it."""
    values = {}
    for name, part in parts.items():
        if name in given:
            values[name] = _read_part(name, part.converter, given[name])
        elif part.required:
            raise Mismatch(part.converter.expected, MISSING, name)
    if len(values) < len(given):
        for name in given.keys() - values.keys():
            if rest is None:
                raise UnknownArgument(", ".join(parts), given[name], name)
            values[name] = _read_part(name, rest, given[name])
    return values


def _read_part(name: str, converter: Converter, value: Any) -> Any:
    try:
        return converter.read(value)
    except Mismatch as mismatch:
        if mismatch.path and not mismatch.path.startswith("["):
            name += "."
        raise mismatch.prepend_path(name) from None


BuiltConverters: TypeAlias = dict[Any, Converter]
"""Converters built or being built, by type: a recursive type finds itself here."""


def structure(kind: Any, build: Build, known: BuiltConverters) -> Converter | None:
    """Return the converter of a type with fields; None for any other annotation."""
    if not isinstance(kind, type):
        return None
    if kind in known:
        return known[kind]
    if hasattr(kind, "model_validate"):
        return _validated(kind, kind.model_validate)
    if is_typeddict(kind):
        return _object(kind, _keys_of, dict, (build, known))
    if is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return _object(kind, _fields_of, kind, (build, known))
    return None


def _object(
    kind: type,
    fields_of: Callable[[Any, Build], Mapping[str, FieldConverter]],
    construct: Callable[..., Any],
    builder: tuple[Build, BuiltConverters],
) -> Converter:
    parts: dict[str, FieldConverter] = {}

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise Mismatch(kind.__name__, value)
        values = read_fields(parts, value)
        try:
            return construct(**values)
        except (ValueError, TypeError) as error:  # raised by its __post_init__
            raise Mismatch(f"{kind.__name__} ({error})", value) from None

    build, known = builder
    converter = known[kind] = Converter(kind.__name__, read, frozenset({"object"}))
    try:
        parts.update(fields_of(kind, build))
    except NameError as error:  # an annotation that names a type local to a function
        raise UnsupportedError(f"{kind.__name__} ({error})") from None
    return converter


def _fields_of(kind: Any, build: Build) -> dict[str, FieldConverter]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: FieldConverter(build(_without_init_var(hints.get(name, Any))), parameter.default is Parameter.empty)
        for name, parameter in signature(kind).parameters.items()
    }


def _without_init_var(hint: Any) -> Any:
    return hint.type if isinstance(hint, InitVar) else hint


def _keys_of(kind: Any, build: Build) -> dict[str, FieldConverter]:
    return {
        name: FieldConverter(build(hint), _is_required(kind, name, hint))
        for name, hint in get_type_hints(kind, include_extras=True).items()
    }


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Whether a key is required; its own marker wins, since `__required_keys__` ignores markers in text annotations."""
    marker = get_origin(hint)
    return marker is Required or (marker is not NotRequired and name in kind.__required_keys__)


def _validated(kind: type, validate: Callable[[Any], Any]) -> Converter:
    def read(value: Any) -> Any:
        try:
            return validate(value)
        except (ValueError, TypeError) as error:
            raise Mismatch(f"{kind.__name__} ({error})", value) from None

    return Converter(kind.__name__, read)
