"""Arguments of a station's function from a JSON payload, by its annotations; a value of another type is refused."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Union, get_args, get_origin

_PLAIN: Final = (str, int, bool, float)


class PayloadError(ValueError):
    """The payload does not fit the function."""


class Signature:
    """Parameters of one function. One with the annotation `context_type` gets the context, the others the payload.

    A single further parameter that is a dataclass gets the whole payload; else a payload is an object by names.
    """

    def __init__(self, function: Callable[..., Any], context_type: type) -> None:
        hints = typing.get_type_hints(function)
        self._context: str | None = None
        self._parameters: dict[str, tuple[Any, bool]] = {}
        self._takes_all = False
        for name, parameter in inspect.signature(function).parameters.items():
            hint = hints.get(name, Any)
            if hint is context_type:
                self._context = name
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                self._takes_all = True
            elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
                self._parameters[name] = hint, parameter.default is inspect.Parameter.empty

    def bind(self, payload: Any, context: Any) -> dict[str, Any]:
        """Return keyword arguments; raises `PayloadError`."""
        given = {} if self._context is None else {self._context: context}
        if len(self._parameters) == 1:
            ((name, (hint, _)),) = self._parameters.items()
            if dataclasses.is_dataclass(hint) and not (isinstance(payload, Mapping) and set(payload) == {name}):
                return {**given, name: convert(payload, hint, "payload")}
        if payload is None:
            payload = {}
        if not isinstance(payload, Mapping):
            raise PayloadError("the payload is no object")
        for name, (hint, is_required) in self._parameters.items():
            if name in payload:
                given[name] = convert(payload[name], hint, name)
            elif is_required:
                raise PayloadError(f"{name} is missing")
        further = {name: value for name, value in payload.items() if name not in self._parameters}
        if further and not self._takes_all:
            raise PayloadError(f"{', '.join(map(str, further))}: unknown")
        return {**given, **further}


def convert(value: Any, hint: Any, name: str) -> Any:
    """Return the value as the annotation wants it: plain types, dataclasses, lists, dicts and unions of these."""
    if hint is Any or hint is object:
        return value
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(value, hint, name)
    if hint is None or hint is types.NoneType:
        return _expect(value is None, value, name, "null")
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _convert_dataclass(value, hint, name)
    if hint in _PLAIN:
        is_number = hint is float and type(value) is int
        return _expect(type(value) is hint or is_number, value, name, hint.__name__)
    if hint is list or origin is list:
        _expect(isinstance(value, list), value, name, "list")
        (inner,) = get_args(hint) or (Any,)
        return [convert(each, inner, f"{name}[{place}]") for place, each in enumerate(value)]
    if hint is dict or origin in (dict, Mapping):
        _expect(isinstance(value, dict), value, name, "object")
        _, inner = get_args(hint) or (str, Any)
        return {key: convert(each, inner, f"{name}.{key}") for key, each in value.items()}
    return value


def _convert_union(value: Any, hint: Any, name: str) -> Any:
    wrong: PayloadError | None = None
    for each in get_args(hint):
        try:
            return convert(value, each, name)
        except PayloadError as error:
            wrong = error
    raise wrong or PayloadError(name)


def _convert_dataclass(value: Any, hint: type, name: str) -> Any:
    _expect(isinstance(value, dict), value, name, "object")
    hints = typing.get_type_hints(hint)
    fields = {field.name: field for field in dataclasses.fields(hint) if field.init}
    unknown = [each for each in value if each not in fields]
    if unknown:
        raise PayloadError(f"{name}.{unknown[0]}: unknown")
    values = {each: convert(value[each], hints[each], f"{name}.{each}") for each in fields if each in value}
    try:
        return hint(**values)
    except (TypeError, ValueError) as error:
        raise PayloadError(f"{name}: {error}") from None


def _expect(is_right: bool, value: Any, name: str, wanted: str) -> Any:  # noqa: FBT001 - the condition
    if not is_right:
        raise PayloadError(f"{name} is no {wanted}")
    return value
