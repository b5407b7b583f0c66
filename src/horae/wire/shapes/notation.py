"""Notation for JSON Schemas as Python values, in which every wire shape is declared once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]
Properties: TypeAlias = dict[str, Schema]

URN: Final = "urn:horae:schema:"

ANY: Final[Schema] = {}
NULL: Final[Schema] = {"type": "null"}
TEXT: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
OBJECT: Final[Schema] = {"type": "object"}
INSTANT: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "pattern": "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?Z$",
}
DATE_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
"""With the offset of the task's zone."""


def nullable(schema: Schema) -> Schema:
    """Return a schema with one type that also allows null."""
    return {**schema, "type": [schema["type"], "null"]}


def or_null(schema: Schema) -> Schema:
    """Return a schema without a type of its own, such as a choice or a reference, that also allows null."""
    return {"anyOf": [schema, NULL]}


def choice(*values: object) -> Schema:
    """Return the schema of a closed list of values; members of an enum stand for their values."""
    return {"enum": [getattr(each, "value", each) for each in values]}


def text(max_length: int, min_length: int = 0) -> Schema:
    return {"type": "string", **({"minLength": min_length} if min_length else {}), "maxLength": max_length}


def list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def extensible(
    properties: Properties, *, required: Collection[str] | None = None, optional: Collection[str] = ()
) -> Schema:
    """Return an object schema. All properties are required unless `required` names those that are, or `optional` those
    that are not."""
    names = [name for name in properties if name not in optional and (required is None or name in required)]
    return {"type": "object", "properties": properties, **({"required": names} if names else {})}


def closed(
    properties: Properties, *, required: Collection[str] | None = None, optional: Collection[str] = ()
) -> Schema:
    """Same as `extensible`, without any other properties."""
    return {**extensible(properties, required=required, optional=optional), "additionalProperties": False}


def extend(schema: Schema, properties: Properties, *, optional: Collection[str] = ()) -> Schema:
    """Return an object schema with further properties, which are required unless `optional`."""
    required = [*schema.get("required", ()), *(name for name in properties if name not in optional)]
    return {**schema, "properties": {**schema["properties"], **properties}, "required": required}


def omit(schema: Schema, *names: str) -> Schema:
    """Return an object schema without these properties."""
    properties = {name: each for name, each in schema["properties"].items() if name not in names}
    return {**schema, "properties": properties, "required": [each for each in schema["required"] if each not in names]}


def ref(name: str) -> Schema:
    """Return a reference to a shape by its name in `horae.wire.schemas`."""
    return {"$ref": f"{URN}{name}"}


def page_of(name: str) -> Schema:
    """Return the schema of one page of a list."""
    return closed({"items": list_of(ref(name)), "next_cursor": nullable(TEXT)})
