"""Every shape of JSON that goes over the wire, as JSON Schema: the files in `shapes`, and what is built from them.

The same files stand in the documentation; a test compares them.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from .event_shapes import EVENT_SHAPES
from .request_shapes import REQUESTS
from .response_shapes import ANSWERS

Schema: TypeAlias = dict[str, Any]

_NAMES: Final = {
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
def shape(name: str) -> Schema:
    """One file, as it stands in the documentation too."""
    found: Schema = json.loads((files(__package__) / "shapes" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def components() -> dict[str, Schema]:
    """Every shape by its name in the document, with references that lead to each other."""
    found = {name: _referring(shape(file)) for file, name in _NAMES.items()}
    found["Task"] = _opened(found["Task"], {"agenda": {"type": "object"}})
    found["Why"] = _without(found["Why"], "fixes")
    found["NewTask"] = _new_task()
    found |= {name: _referring(each) for name, each in {**ANSWERS, **REQUESTS, **EVENT_SHAPES}.items()}
    found["Receipt"] = _receipt(found["Task"])
    found["BulkReport"] = _opened(found["Bulk"], {"dry_run": {"type": "boolean"}})
    return found


def _new_task() -> Schema:
    """What a file of tasks says of one, without what only a simulation asks."""
    whole = shape("tasks-file")
    task = _inlined(whole["$defs"]["task"], whole["$defs"])
    properties = {name: each for name, each in task["properties"].items() if name != "takes"}
    return {**task, "properties": properties}


def _receipt(task: Schema) -> Schema:
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
    opened = _opened(task, more | edited)
    return {**opened, "required": [*task["required"], *more]}


def _opened(base: Schema, more: dict[str, Schema]) -> Schema:
    return {**base, "properties": {**base["properties"], **more}}


def _without(base: Schema, name: str) -> Schema:
    """What only the command line says: it is about commands."""
    properties = {each: shape for each, shape in base["properties"].items() if each != name}
    return {**base, "properties": properties, "required": [each for each in base["required"] if each != name]}


def _inlined(value: Any, defined: dict[str, Any]) -> Any:
    """With what is defined elsewhere in the same file put in its place."""
    if isinstance(value, list):
        return [_inlined(each, defined) for each in value]
    if not isinstance(value, dict):
        return value
    place = value.get("$ref")
    if isinstance(place, str) and place.startswith("#/$defs/"):
        return _inlined(defined[place.removeprefix("#/$defs/")], defined)
    return {name: _inlined(each, defined) for name, each in value.items()}


def _referring(value: Any) -> Any:
    """The same with references that lead into the document, and without what only a file of its own has."""
    if isinstance(value, list):
        return [_referring(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: _referring(each) for name, each in value.items() if name not in ("$schema", "$id")}
    place = found.get("$ref")
    if isinstance(place, str) and place.startswith(_URN):
        found["$ref"] = f"#/components/schemas/{_NAMES[place.removeprefix(_URN)]}"
    return found
