"""JSON Schemas of request bodies other than a new task."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ..model.accounts.principal import Quotas

Schema: TypeAlias = dict[str, Any]

_SCOPES: Final = ["tasks:read", "tasks:write", "tasks:run", "admin"]
_STATES: Final = ["active", "paused", "completed", "failed", "cancelled"]
_LIMIT: Final[Schema] = {"type": ["integer", "string", "null"]}


def _object(*required: str, **properties: Schema) -> Schema:
    shape: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**shape, "required": list(required)} if required else shape


def _text(max_length: int, min_length: int = 0) -> Schema:
    return {"type": "string", "minLength": min_length, "maxLength": max_length}


_POINT_IN_TIME: Final[Schema] = {
    "type": "string",
    "maxLength": 100,
    "description": "`2026-12-01T09:00Z`, `2026-12-01 09:00` in the task's zone, `tomorrow at 9am`, `in 2h`, `明天早上9点`.",
}
_QUOTAS: Final = {
    "type": ["object", "null"],
    "description": "Named quotas change: a number, a duration, null for no limit, or `usual` for the default.",
    "properties": dict.fromkeys(Quotas._fields, _LIMIT),
    "additionalProperties": False,
}

_TASK_FIELDS: Final[dict[str, Schema]] = {
    "name": _text(200, 1),
    "when": {"type": ["string", "object"], "description": "The schedule language, or canonical JSON."},
    "zone": {"type": ["string", "null"]},
    "payload": {"description": "Whatever the target takes, as JSON."},
    "lane": {"type": ["string", "null"]},
    "labels": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
    "policies": {"type": ["object", "null"]},
    "target": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
    "http": {"type": ["string", "object"]},
    "command": {"type": ["array", "object"]},
    "function": {"type": ["string", "object"]},
    "event": {"type": ["string", "object"]},
    "say": {"type": "string"},
}

REQUEST_SCHEMAS: Final[dict[str, Schema]] = {
    "TaskEdit": _object(**_TASK_FIELDS),
    "KeyedTask": _object("name", "when", **_TASK_FIELDS, key=_text(200), owner={"type": ["string", "null"]}),
    "NewTasks": _object(
        "tasks",
        tasks={
            "type": "array",
            "items": {"$ref": "#/components/schemas/NewTask"},
            "minItems": 1,
            "maxItems": 1_000,
        },
    ),
    "Action": _object(
        "action",
        action={"enum": ["pause", "resume", "run", "skip", "cancel", "delete"]},
        filter=_object(
            owner=_text(200),
            state={"type": ["string", "array"], "items": {"enum": _STATES}},
            name=_text(200),
            lane=_text(200),
            label={"type": ["string", "array"], "items": _text(201)},
            text=_text(200),
            kind=_text(200),
            prefix=_text(200),
            q={**_text(1_000), "description": "The same as a query: `state:active label:team=ops -state:paused`."},
        ),
        arguments=_object(
            note=_text(500),
            until={
                **_POINT_IN_TIME,
                "description": "Of a pause: when each task resumes by itself, in the zone of its schedule.",
            },
            zone={**_text(100), "description": "The zone of tasks that have none."},
            missed={"enum": ["skip", "latest", "all", "merge"]},
            number={"type": "integer"},
        ),
        all={"type": "boolean", "description": "With an empty filter: every task."},
        dry_run={"type": "boolean"},
    ),
    "Pause": _object(
        note={"type": ["string", "null"], "maxLength": 500}, until={**_POINT_IN_TIME, "type": ["string", "null"]}
    ),
    "Resume": _object(missed={"enum": ["skip", "latest", "all", "merge"]}),
    "RunNow": _object(),
    "Skip": _object(number={"type": "integer", "minimum": 0, "maximum": 1_000_000}),
    "BackfillRange": _object(
        "from", "to", **{"from": _POINT_IN_TIME, "to": _POINT_IN_TIME, "again": {"type": "boolean"}}
    ),
    "Approve": _object("digest", digest=_text(64, 64)),
    "Callback": _object(
        result={"description": "What it returned, as JSON."},
        error={"type": ["string", "null"], "description": "It failed, and why."},
        until={**_POINT_IN_TIME, "type": ["string", "null"], "description": "It needs more time, until then."},
    ),
    "ScheduleQuestion": _object(
        "when",
        when={"type": ["string", "object"], "description": "The schedule language, or canonical JSON."},
        zone={"type": ["string", "null"]},
        after={"type": ["string", "null"]},
        until={"type": ["string", "null"]},
        number={"type": "integer", "minimum": 1, "maximum": 1_000},
        gap={"enum": ["next", "shift", "skip", None]},
        fold={"enum": ["first", "last", "both", None]},
    ),
    "Drain": _object(draining={"type": "boolean"}),
    "LaneLimit": _object("limit", limit={"type": "integer", "minimum": 0, "maximum": 1_000_000}),
    "OwnerWish": _object(
        role={"enum": ["admin", "member", "viewer", None]},
        zone={"type": ["string", "null"], "description": "An empty text removes it."},
        quotas=_QUOTAS,
        note={"type": ["string", "null"], "maxLength": 500},
    ),
    "AgentWish": _object("quotas", quotas=_QUOTAS),
    "TokenWish": _object(
        "name",
        name=_text(200, 1),
        owner={"type": ["string", "null"]},
        scopes={"type": ["array", "null"], "items": {"enum": _SCOPES}, "minItems": 1},
        expires={"type": ["string", "null"], "format": "date-time"},
        agent={
            "type": ["string", "null"],
            "description": "The token belongs to an agent of the owner, with this name.",
        },
    ),
    "SecretValue": _object("value", value=_text(65_536, 1)),
}
