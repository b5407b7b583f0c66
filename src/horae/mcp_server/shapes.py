"""JSON Schemas of tool results: the wire shapes, reduced to what a reader of one result needs."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
NUMBER: Final[Schema] = {"type": "integer"}
OBJECT: Final[Schema] = {"type": "object"}


def nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def array_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def object_of(**properties: Schema) -> Schema:
    """Object schema that requires all these properties and allows others, which a later version may add."""
    return {"type": "object", "properties": properties, "required": list(properties)}


UTC: Final[Schema] = {"type": "string", "description": "RFC 3339 in UTC"}
LOCAL: Final[Schema] = {"type": "string", "description": "RFC 3339 with the offset of the zone"}
MILLISECONDS: Final[Schema] = {"type": ["number", "null"]}

FIRE: Final = object_of(at=UTC, at_local=LOCAL, relative=TEXT)
TIME: Final = object_of(at=UTC, at_local=LOCAL)
WARNING: Final = object_of(code=TEXT, message=TEXT)
RECEIPT: Final[dict[str, Schema]] = {
    "means": {"type": "string", "description": "What was understood, in words"},
    "zone": {"type": "string", "description": "The zone that wall times are in"},
    "next_runs": array_of(FIRE),
    "next_if_resumed": {**array_of(FIRE), "description": "Of a paused task: when it would run if it were resumed now"},
    "warnings": array_of(WARNING),
}

APPROVAL: Final[dict[str, Schema]] = {
    "awaiting_approval": {"type": "boolean", "description": "It runs only after a person has approved it"},
    "approval_digest": {"type": ["string", "null"], "description": "Of exactly what is to be approved"},
    "review": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "description": "While it waits: the whole task as a person has to see it, secrets first",
    },
}

DEFINITION: Final[dict[str, Schema]] = {
    "name": TEXT,
    "when": {"type": "object", "description": "The canonical schedule"},
    "zone": nullable(TEXT),
    "target": OBJECT,
    "payload": {},
    "key": nullable(TEXT),
    "lane": nullable(TEXT),
    "labels": OBJECT,
    "policies": OBJECT,
    "owner": TEXT,
}
TASK: Final = object_of(
    id={"type": ["string", "null"], "description": "null for a task that was only tried"},
    **DEFINITION,
    state={"enum": ["active", "paused", "completed", "failed", "cancelled"]},
    means=TEXT,
    version=NUMBER,
    created=UTC,
    next=nullable(UTC),
    next_local=nullable(LOCAL),
    counted=NUMBER,
    failures=NUMBER,
    running=NUMBER,
    waiting_for=nullable(TEXT),
    pause=nullable(OBJECT),
    reason=nullable(TEXT),
    ended=nullable(UTC),
    last_result=nullable(TEXT),
    last=nullable(OBJECT),
)
ROW: Final = object_of(
    id=TEXT,
    name=TEXT,
    state=TASK["properties"]["state"],
    means=TEXT,
    zone=nullable(TEXT),
    next=nullable(UTC),
    next_local=nullable(LOCAL),
    key=nullable(TEXT),
    awaiting_approval=FLAG,
    last_result=nullable(TEXT),
)
RUN: Final = object_of(
    id=TEXT,
    task_id=TEXT,
    task=nullable(TEXT),
    state={
        "enum": [
            "claimed",
            "running",
            "waiting",
            "succeeded",
            "failed",
            "timed_out",
            "lost",
            "cancelled",
            "skipped",
        ]
    },
    reason=nullable(TEXT),
    because=nullable(TEXT),
    origin={"enum": ["scheduled", "manual", "backfill"]},
    planned=UTC,
    planned_local=LOCAL,
    due=UTC,
    attempt=NUMBER,
    started=nullable(UTC),
    ended=nullable(UTC),
    lateness_ms=MILLISECONDS,
    duration_ms=MILLISECONDS,
    count=NUMBER,
    result={},
    error=nullable(TEXT),
)
LINE: Final = object_of(number=NUMBER, at=UTC, level=TEXT, text=TEXT)
QUOTAS: Final = object_of(
    shortest_interval=nullable(TEXT),
    active_tasks=nullable(NUMBER),
    payload_bytes=nullable(NUMBER),
    runs_per_day=nullable(NUMBER),
    concurrent_runs=nullable(NUMBER),
    longest_life=nullable(TEXT),
)
