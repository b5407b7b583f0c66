"""JSON Schemas of tool results: the wire shapes, reduced to the properties and types that a reader of one result needs."""

from __future__ import annotations

from typing import Final

from ..wire.shapes import accounts, runs, tasks
from ..wire.shapes.notation import BOOLEAN, OBJECT, TEXT, Properties, Schema, extensible, list_of, nullable

UTC: Final[Schema] = {"type": "string", "description": "RFC 3339 in UTC"}
LOCAL: Final[Schema] = {"type": "string", "description": "RFC 3339 with the offset of the zone"}


def object_of(**properties: Schema) -> Schema:
    """Object schema that requires all these properties and allows others, which a later version may add."""
    return extensible(properties)


def pick(shape: Schema, *names: str) -> Properties:
    """Return these properties of a wire shape, each reduced to its type or its list of values."""
    return {name: _reduce(shape["properties"][name]) for name in names}


def _reduce(schema: Schema) -> Schema:
    if "anyOf" in schema:
        reduced = _reduce(schema["anyOf"][0])
        return nullable(TEXT if "enum" in reduced else reduced)
    if "$ref" in schema:
        return OBJECT
    if "enum" in schema or "type" not in schema:
        return {name: each for name, each in schema.items() if name == "enum"}
    if schema.get("format") == "date-time":
        return (UTC if "pattern" in schema else LOCAL) | {"type": schema["type"]}
    return {"type": schema["type"]}


TIME: Final = extensible(pick(tasks.FIRE_TIME, "at", "at_local"))
FIRE: Final = extensible({**TIME["properties"], "relative": TEXT})
WARNING: Final = extensible(pick(tasks.WARNING, "code", "message"))
RECEIPT: Final[Properties] = {
    "means": {"type": "string", "description": "What was understood, in words"},
    "zone": {"type": "string", "description": "The zone that wall times are in"},
    "next_runs": list_of(FIRE),
    "next_if_resumed": {**list_of(FIRE), "description": "Of a paused task: when it would run if it were resumed now"},
    "warnings": list_of(WARNING),
}

APPROVAL: Final[Properties] = {
    "awaiting_approval": {"type": "boolean", "description": "It runs only after a person has approved it"},
    "approval_digest": {"type": ["string", "null"], "description": "Of exactly what is to be approved"},
    "review": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "description": "While it waits: the whole task as a person has to see it, secrets first",
    },
}

DEFINITION: Final[Properties] = {
    **pick(tasks.TASK, "name"),
    "when": {"type": "object", "description": "The canonical schedule"},
    **pick(tasks.TASK, "zone", "target", "payload", "key", "lane", "labels", "policies", "owner"),
}
TASK: Final = extensible(
    {
        "id": {"type": ["string", "null"], "description": "null for a task that was only tried"},
        **DEFINITION,
        **pick(tasks.TASK, "state", "means", "version", "created", "next", "next_local", "counted", "failures"),
        **pick(tasks.TASK, "running", "waiting_for", "pause", "reason", "ended", "last_result", "last"),
    }
)
ROW: Final = extensible(
    {
        **pick(tasks.TASK, "id", "name", "state", "means", "zone", "next", "next_local", "key"),
        "awaiting_approval": BOOLEAN,
        **pick(tasks.TASK, "last_result"),
    }
)
RUN: Final = extensible(
    {
        **pick(runs.RUN, "id", "task_id", "task", "state", "reason", "because", "origin", "planned", "planned_local"),
        **pick(
            runs.RUN, "due", "attempt", "started", "ended", "lateness_ms", "duration_ms", "count", "result", "error"
        ),
    }
)
LINE: Final = extensible(pick(runs.LINE, "number", "at", "level", "text"))
QUOTAS: Final = extensible(
    pick(accounts.QUOTAS, "shortest_interval", "active_tasks", "payload_bytes", "runs_per_day", "concurrent_runs")
    | pick(accounts.QUOTAS, "longest_life")
)
