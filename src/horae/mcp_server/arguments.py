"""The arguments of a call, looked at before any tool sees them: known names, each of the type that its schema says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..model.refusals import refuse
from ..wire.fields import check_fields
from .call import Said

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "object": (Mapping,),
}
_WORDS: Final = {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "JSON object"}


def checked(schema: Mapping[str, Any], also: tuple[str, ...], given: object) -> Said:
    """Only what fits; `also` are names that another dialect has for the same, which the tool itself looks at."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    said = check_fields("arguments", given, (*properties, *also))
    # A model that leaves something out often says null instead.
    kept = {name: value for name, value in said.items() if value is not None}
    for name, value in kept.items():
        if name in properties:
            _check(name, value, properties[name])
    return kept


def _check(name: str, value: object, schema: Mapping[str, Any]) -> None:
    said = schema.get("type", ())
    types: tuple[str, ...] = (said,) if isinstance(said, str) else tuple(said)
    if types and not any(_is(value, each) for each in types):
        raise refuse("bad_policy", name=name, value=value, wanted=" / ".join(_WORDS[each] for each in types))
    if "enum" in schema and value not in schema["enum"]:
        raise refuse("bad_choice", name=name, value=value, allowed=", ".join(schema["enum"]))
    if "maximum" in schema and isinstance(value, int) and not schema["minimum"] <= value <= schema["maximum"]:
        raise refuse("bad_number", name=name, value=value, least=schema["minimum"], most=schema["maximum"])


def _is(value: object, kind: str) -> bool:
    # In Python true is a number; in JSON it is none.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def needed(said: Said, name: str) -> Any:
    if name not in said:
        raise refuse("missing_field", name=name)
    return said[name]
