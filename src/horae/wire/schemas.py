"""JSON Schemas of every wire shape: the files in `shapes`, and the OpenAPI components built from them.

The documentation holds copies of these files; a test compares them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from .event_shapes import EVENT_SHAPES
from .request_shapes import REQUEST_SCHEMAS
from .response_shapes import RESPONSE_SCHEMAS

Schema: TypeAlias = dict[str, Any]

_COMPONENT_NAMES: Final = {
    "task": "Task",
    "run": "Run",
    "fires": "Fires",
    "overview": "Overview",
    "node": "Node",
    "lane": "Lane",
    "bulk": "Bulk",
    "line": "Line",
    "why": "Why",
    "event": "Event",
    "queued": "Queued",
}
_URN: Final = "urn:horae:schema:"


@cache
def load_schema(name: str) -> Schema:
    """Load one schema file."""
    schema: Schema = json.loads((files(__package__) / "shapes" / f"{name}.json").read_text(encoding="utf-8"))
    return schema


def components() -> dict[str, Schema]:
    """Return all schemas by component name, with references rewritten for an OpenAPI document."""
    schemas = {name: _rewrite_references(load_schema(file)) for file, name in _COMPONENT_NAMES.items()}
    schemas["Task"] = _with_properties(schemas["Task"], {"agenda": {"type": "object"}})
    schemas["Why"] = _without(schemas["Why"], "fixes")
    schemas["NewTask"] = _new_task_schema()
    schemas |= {
        name: _rewrite_references(each)
        for name, each in {**RESPONSE_SCHEMAS, **REQUEST_SCHEMAS, **EVENT_SHAPES}.items()
    }
    schemas["Receipt"] = _receipt_schema(schemas["Task"])
    schemas["BulkReport"] = _with_properties(schemas["Bulk"], {"dry_run": {"type": "boolean"}})
    return schemas


def _new_task_schema() -> Schema:
    """Return the schema of one task of a tasks file, without the field that only simulations use."""
    file_schema = load_schema("tasks-file")
    task = _inline_definitions(file_schema["$defs"]["task"], file_schema["$defs"])
    properties = {name: each for name, each in task["properties"].items() if name != "takes"}
    return {**task, "properties": properties}


def _receipt_schema(task: Schema) -> Schema:
    more: dict[str, Schema] = {
        "next_runs": {"type": "array", "items": {"$ref": "#/components/schemas/FireTime"}},
        "warnings": {"type": "array", "items": {"$ref": "#/components/schemas/Warning"}},
        "declared": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Fields that came from the declaration of the task's function.",
        },
        "dry_run": {"type": "boolean"},
    }
    edited: dict[str, Schema] = {
        "changed": {"type": "object", "description": "Of an edit: by field, what it was and what it is."},
        "removed": {"type": "array", "items": {"$ref": "#/components/schemas/FireTime"}},
        "added": {"type": "array", "items": {"$ref": "#/components/schemas/FireTime"}},
    }
    extended = _with_properties(task, more | edited)
    return {**extended, "required": [*task["required"], *more]}


def _with_properties(base: Schema, more: dict[str, Schema]) -> Schema:
    return {**base, "properties": {**base["properties"], **more}}


def _without(base: Schema, name: str) -> Schema:
    """Drop a property, for fields that only the CLI has."""
    properties = {each: shape for each, shape in base["properties"].items() if each != name}
    return {**base, "properties": properties, "required": [each for each in base["required"] if each != name]}


def _inline_definitions(value: Any, defined: dict[str, Any]) -> Any:
    """Replace references to `$defs` of the same file by their definitions."""
    if isinstance(value, list):
        return [_inline_definitions(each, defined) for each in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        return _inline_definitions(defined[reference.removeprefix("#/$defs/")], defined)
    return {name: _inline_definitions(each, defined) for name, each in value.items()}


def _rewrite_references(value: Any) -> Any:
    """Point references into the OpenAPI document, and drop `$schema` and `$id`."""
    if isinstance(value, list):
        return [_rewrite_references(each) for each in value]
    if not isinstance(value, dict):
        return value
    rewritten = {name: _rewrite_references(each) for name, each in value.items() if name not in ("$schema", "$id")}
    reference = rewritten.get("$ref")
    if isinstance(reference, str) and reference.startswith(_URN):
        rewritten["$ref"] = f"#/components/schemas/{_COMPONENT_NAMES[reference.removeprefix(_URN)]}"
    return rewritten
