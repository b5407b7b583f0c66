"""Shapes of what is asked over the wire, beside the task itself."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ..model.accounts.principal import Quotas

Schema: TypeAlias = dict[str, Any]

_SCOPES: Final = ["tasks:read", "tasks:write", "tasks:run", "admin"]
_STATES: Final = ["active", "paused", "completed", "failed", "cancelled"]
_LIMIT: Final[Schema] = {"type": ["integer", "string", "null"]}


def _some_of(*required: str, **properties: Schema) -> Schema:
    shape: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**shape, "required": list(required)} if required else shape


def _text(most: int, least: int = 0) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most}


_MOMENT: Final[Schema] = {
    "type": "string",
    "maxLength": 100,
    "description": "`2026-12-01T09:00Z`, `2026-12-01 09:00` in the task's zone, `tomorrow at 9am`, `in 2h`, `明天早上9点`.",
}
_QUOTAS: Final = {
    "type": ["object", "null"],
    "description": "Those that are named change: a number, a duration, null for no limit, or `usual`.",
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

REQUESTS: Final[dict[str, Schema]] = {
    "TaskEdit": _some_of(**_TASK_FIELDS),
    "KeyedTask": _some_of("name", "when", **_TASK_FIELDS, key=_text(200), owner={"type": ["string", "null"]}),
    "NewTasks": _some_of(
        "tasks",
        tasks={
            "type": "array",
            "items": {"$ref": "#/components/schemas/NewTask"},
            "minItems": 1,
            "maxItems": 1_000,
        },
    ),
    "Action": _some_of(
        "action",
        action={"enum": ["pause", "resume", "run", "skip", "cancel", "delete"]},
        filter=_some_of(
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
        arguments=_some_of(
            note=_text(500),
            until={**_MOMENT, "description": "Of a pause: when each goes on by itself, in the zone of its schedule."},
            zone={**_text(100), "description": "The zone of tasks that have none."},
            missed={"enum": ["skip", "latest", "all", "merge"]},
            number={"type": "integer"},
        ),
        all={"type": "boolean", "description": "With an empty filter: every task."},
        dry_run={"type": "boolean"},
    ),
    "Pause": _some_of(
        note={"type": ["string", "null"], "maxLength": 500}, until={**_MOMENT, "type": ["string", "null"]}
    ),
    "Resume": _some_of(missed={"enum": ["skip", "latest", "all", "merge"]}),
    "RunNow": _some_of(),
    "Skip": _some_of(number={"type": "integer", "minimum": 0, "maximum": 1_000_000}),
    "BackfillRange": _some_of("from", "to", **{"from": _MOMENT, "to": _MOMENT, "again": {"type": "boolean"}}),
    "Approve": _some_of("digest", digest=_text(64, 64)),
    "Callback": _some_of(
        result={"description": "What it returned, as JSON."},
        error={"type": ["string", "null"], "description": "It failed, and why."},
        until={**_MOMENT, "type": ["string", "null"], "description": "It needs more time, until then."},
    ),
    "ScheduleQuestion": _some_of(
        "when",
        when={"type": ["string", "object"], "description": "The schedule language, or canonical JSON."},
        zone={"type": ["string", "null"]},
        after={"type": ["string", "null"]},
        until={"type": ["string", "null"]},
        number={"type": "integer", "minimum": 1, "maximum": 1_000},
        gap={"enum": ["next", "shift", "skip", None]},
        fold={"enum": ["first", "last", "both", None]},
    ),
    "Drain": _some_of(draining={"type": "boolean"}),
    "LaneLimit": _some_of("limit", limit={"type": "integer", "minimum": 0, "maximum": 1_000_000}),
    "OwnerWish": _some_of(
        role={"enum": ["admin", "member", "viewer", None]},
        zone={"type": ["string", "null"], "description": "An empty one takes it away."},
        quotas=_QUOTAS,
        note={"type": ["string", "null"], "maxLength": 500},
    ),
    "AgentWish": _some_of("quotas", quotas=_QUOTAS),
    "TokenWish": _some_of(
        "name",
        name=_text(200, 1),
        owner={"type": ["string", "null"]},
        scopes={"type": ["array", "null"], "items": {"enum": _SCOPES}, "minItems": 1},
        expires={"type": ["string", "null"], "format": "date-time"},
        agent={
            "type": ["string", "null"],
            "description": "The bearer is an agent: a guest of the owner, by this name.",
        },
    ),
    "SecretValue": _some_of("value", value=_text(65_536, 1)),
}
