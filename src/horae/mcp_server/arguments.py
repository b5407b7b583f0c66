"""Validates tool arguments against the tool's JSON Schema: known names, right types, enums and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..model.refusals import refuse
from ..wire.fields import check_fields
from .call import Arguments

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "object": (Mapping,),
}
_TYPE_NAMES: Final = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "JSON object"}


def check_arguments(schema: Mapping[str, Any], other_names: tuple[str, ...], given: object) -> Arguments:
    """Return the arguments without nulls. `other_names` are names from another dialect, which the tool itself checks.
    Raises a refusal for the first invalid argument."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    fields = check_fields("arguments", given, (*properties, *other_names))
    # Models often send null for an argument that they leave out.
    present = {name: value for name, value in fields.items() if value is not None}
    for name, value in present.items():
        if name in properties:
            _check(name, value, properties[name])
    return present


def _check(name: str, value: object, schema: Mapping[str, Any]) -> None:
    declared = schema.get("type", ())
    types: tuple[str, ...] = (declared,) if isinstance(declared, str) else tuple(declared)
    if types and not any(_has_type(value, each) for each in types):
        raise refuse("bad_policy", name=name, value=value, wanted=" / ".join(_TYPE_NAMES[each] for each in types))
    if "enum" in schema and value not in schema["enum"]:
        raise refuse("bad_choice", name=name, value=value, allowed=", ".join(schema["enum"]))
    if "maximum" in schema and isinstance(value, int) and not schema["minimum"] <= value <= schema["maximum"]:
        raise refuse("bad_number", name=name, value=value, least=schema["minimum"], most=schema["maximum"])


def _has_type(value: object, kind: str) -> bool:
    # bool is a subclass of int in Python; JSON keeps them apart.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def require(arguments: Arguments, name: str) -> Any:
    """Return an argument; refuse if it is missing."""
    if name not in arguments:
        raise refuse("missing_field", name=name)
    return arguments[name]
