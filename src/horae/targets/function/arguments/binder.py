"""Binds payloads to a function's signature, read once: a converter for each argument, and the context parameter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature, isroutine, signature, unwrap
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from ....model.refusals import refuse
from ..context import Context
from .build import converter_for
from .converter import MISSING, Converter, Mismatch, UnknownArgument, UnsupportedError, type_name
from .structures import FieldConverter, read_fields

_CONTEXT_NAMES: Final = frozenset({"ctx", "context"})
_EMPTY_PAYLOADS: Final = frozenset({"{}", "null", ""})


class Binding(NamedTuple):
    """Converters of the arguments, `rest` of `**kwargs`; `needs_nothing` means that no argument is required."""

    fields: Mapping[str, FieldConverter]
    positional_only: tuple[Parameter, ...]
    rest: Converter | None
    context: str | None
    needs_nothing: bool

    def read(self, payload: str) -> dict[str, Any]:
        """Return the arguments by name; raises `Mismatch`."""
        if payload in _EMPTY_PAYLOADS:
            return {} if self.needs_nothing else read_fields(self.fields, {}, self.rest)
        return read_fields(self.fields, _object(payload), self.rest)

    def read_for_gate(self, payload: str, state: str) -> dict[str, Any]:
        """Return the arguments of a gate by name: of the payload only those that the function has, and `state`."""
        given = json.loads(payload or "null")
        named = dict(given) if isinstance(given, dict) else {}
        named["state"] = json.loads(state)
        taken = named if self.rest is not None else {name: named[name] for name in named if name in self.fields}
        return read_fields(self.fields, taken, self.rest)

    def adapt(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the function so that all arguments can be passed by name."""
        leading = self.positional_only

        def by_name(**arguments: Any) -> Any:
            positional = [arguments.pop(each.name, each.default) for each in leading]
            return call(*positional, **arguments)

        return by_name if leading else call


def _object(payload: str) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        raise Mismatch("a JSON object", payload, "payload") from None
    if value.__class__ is not dict:
        raise Mismatch("a JSON object", value, "payload")
    return value


def bind(name: str, call: Callable[..., Any]) -> Binding:
    """Build the binding; raises a refusal for a function that no payload can call."""
    try:
        described = signature(call)
    except (ValueError, TypeError):
        raise refuse("bad_function", name=name) from None
    hints = _hints(call, described)
    parameters = [each for each in described.parameters.values() if each.kind is not Parameter.VAR_POSITIONAL]
    context = next((each.name for each in parameters if _wants_context(each, hints[each.name])), None)
    named = [each for each in parameters if each.name != context and each.kind is not Parameter.VAR_KEYWORD]
    parts = {each.name: part for each in named if (part := _part(name, each, hints[each.name])) is not None}
    rest = next(
        (_part(name, each, hints[each.name]) for each in parameters if each.kind is Parameter.VAR_KEYWORD), None
    )
    return Binding(
        fields=parts,
        positional_only=tuple(each for each in parameters if each.kind is Parameter.POSITIONAL_ONLY),
        rest=None if rest is None else rest.converter,
        context=context,
        needs_nothing=not any(part.required for part in parts.values()),
    )


def _part(function: str, parameter: Parameter, hint: Any) -> FieldConverter | None:
    """Return the converter of a parameter; None if JSON cannot hold its type and it has a default to keep."""
    required = parameter.default is Parameter.empty
    try:
        return FieldConverter(converter_for(hint), required)
    except UnsupportedError as error:
        if not required:
            return None
        raise refuse("bad_parameter", function=function, argument=parameter.name, wanted=error) from None


def _wants_context(parameter: Parameter, hint: Any) -> bool:
    if hint is Parameter.empty:
        return parameter.name in _CONTEXT_NAMES
    if isinstance(hint, str):  # imported for the type checker only: the annotation stays text
        return hint.removesuffix(" | None").rpartition(".")[2] == "Context"
    if get_origin(hint) in (Union, UnionType, Annotated):
        return any(part is Context for part in get_args(hint))
    return hint is Context


def _hints(call: Callable[..., Any], described: Signature) -> dict[str, Any]:
    """Return every parameter's annotation as a type, or as its text where it cannot be evaluated."""
    owner = _annotation_owner(call)
    try:
        hints = get_type_hints(owner, include_extras=True)
    except Exception:  # noqa: BLE001 - an annotation is code, and one that raises must not affect the others
        hints = {name: _hint(owner, each) for name, each in getattr(owner, "__annotations__", {}).items()}
    return {name: hints.get(name, Parameter.empty) for name in described.parameters}


def _annotation_owner(call: Any) -> Any:
    """Return the object that holds the annotations: the function inside a partial or wrapper, or `__call__`."""
    while isinstance(call, partial):
        call = call.func
    call = unwrap(call)
    return call if isroutine(call) else getattr(call, "__call__", call)  # noqa: B004 - the method itself is wanted


def _hint(owner: Any, annotation: Any) -> Any:
    single = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(single, getattr(owner, "__globals__", {}), include_extras=True)["it"]
    except Exception:  # noqa: BLE001 - likewise
        return annotation


def describe_mismatch(mismatch: Mismatch, function: str) -> str:
    """Describe a mismatch in one sentence: the argument, the value, and the expected type."""
    argument = f"argument '{mismatch.path}' of {function}"
    if mismatch.value is MISSING:
        return f"{argument} is missing; wanted: {mismatch.expected}"
    if isinstance(mismatch, UnknownArgument):
        return f"{argument} is not known; its arguments are: {mismatch.known or 'none'}"
    return f"{argument} cannot be {describe_value(mismatch.value)}; wanted: {mismatch.expected}"


def describe_value(value: object) -> str:
    if value is MISSING:
        return repr(value)
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:79] + '…'} ({type_name(type(value))})"
