"""JSON Schemas of tool results: the wire shapes, reduced to what a reader of one result needs."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
NUMBER: Final[Schema] = {"type": "integer"}
OBJECT: Final[Schema] = {"type": "object"}


def maybe(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def shape(**properties: Schema) -> Schema:
    """Object schema that requires all these properties and allows others, which a later version may add."""
    return {"type": "object", "properties": properties, "required": list(properties)}


UTC: Final[Schema] = {"type": "string", "description": "RFC 3339 in UTC"}
LOCAL: Final[Schema] = {"type": "string", "description": "RFC 3339 with the offset of the zone"}
MILLISECONDS: Final[Schema] = {"type": ["number", "null"]}

FIRE: Final = shape(at=UTC, at_local=LOCAL, relative=TEXT)
TIME: Final = shape(at=UTC, at_local=LOCAL)
WARNING: Final = shape(code=TEXT, message=TEXT)
RECEIPT: Final[dict[str, Schema]] = {
    "means": {"type": "string", "description": "What was understood, in words"},
    "zone": {"type": "string", "description": "The zone that wall times are in"},
    "next_runs": many(FIRE),
    "next_if_resumed": {**many(FIRE), "description": "Of a paused task: when it would run if it were resumed now"},
    "warnings": many(WARNING),
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
    "zone": maybe(TEXT),
    "target": OBJECT,
    "payload": {},
    "key": maybe(TEXT),
    "lane": maybe(TEXT),
    "labels": OBJECT,
    "policies": OBJECT,
    "owner": TEXT,
}
TASK: Final = shape(
    id={"type": ["string", "null"], "description": "null for a task that was only tried"},
    **DEFINITION,
    state={"enum": ["active", "paused", "completed", "failed", "cancelled"]},
    means=TEXT,
    version=NUMBER,
    created=UTC,
    next=maybe(UTC),
    next_local=maybe(LOCAL),
    counted=NUMBER,
    failures=NUMBER,
    running=NUMBER,
    waiting_for=maybe(TEXT),
    pause=maybe(OBJECT),
    reason=maybe(TEXT),
    ended=maybe(UTC),
    last_result=maybe(TEXT),
    last=maybe(OBJECT),
)
ROW: Final = shape(
    id=TEXT,
    name=TEXT,
    state=TASK["properties"]["state"],
    means=TEXT,
    zone=maybe(TEXT),
    next=maybe(UTC),
    next_local=maybe(LOCAL),
    key=maybe(TEXT),
    awaiting_approval=FLAG,
    last_result=maybe(TEXT),
)
RUN: Final = shape(
    id=TEXT,
    task_id=TEXT,
    task=maybe(TEXT),
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
    reason=maybe(TEXT),
    because=maybe(TEXT),
    origin={"enum": ["scheduled", "manual", "backfill"]},
    planned=UTC,
    planned_local=LOCAL,
    due=UTC,
    attempt=NUMBER,
    started=maybe(UTC),
    ended=maybe(UTC),
    lateness_ms=MILLISECONDS,
    duration_ms=MILLISECONDS,
    count=NUMBER,
    result={},
    error=maybe(TEXT),
)
LINE: Final = shape(number=NUMBER, at=UTC, level=TEXT, text=TEXT)
QUOTAS: Final = shape(
    shortest_interval=maybe(TEXT),
    active_tasks=maybe(NUMBER),
    payload_bytes=maybe(NUMBER),
    runs_per_day=maybe(NUMBER),
    concurrent_runs=maybe(NUMBER),
    longest_life=maybe(TEXT),
)
