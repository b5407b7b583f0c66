"""JSON Schemas of responses that only HTTP has: pages, problems, accounts."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

_TEXT: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
_NULLABLE_TEXT: Final = {"type": ["string", "null"]}
_INSTANT: Final = {"type": "string", "format": "date-time"}
_NULLABLE_INSTANT: Final = {"type": ["string", "null"], "format": "date-time"}
_BOOLEAN: Final = {"type": "boolean"}
_OBJECT: Final = {"type": "object"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _closed_object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": _ref(name)}


def _page_of(name: str) -> Schema:
    return _closed_object(items=_list_of(name), next_cursor=_NULLABLE_TEXT)


def _with_optional(shape: Schema, **properties: Schema) -> Schema:
    """Add properties that are present only on request."""
    return {**shape, "properties": {**shape["properties"], **properties}}


_QUOTAS: Final = _closed_object(
    shortest_interval=_NULLABLE_TEXT,
    active_tasks={"type": ["integer", "null"]},
    payload_bytes={"type": ["integer", "null"]},
    runs_per_day={"type": ["integer", "null"]},
    concurrent_runs={"type": ["integer", "null"]},
    longest_life=_NULLABLE_TEXT,
    stored_tasks={"type": ["integer", "null"]},
    stored_bytes={"type": ["integer", "null"]},
    tokens={"type": ["integer", "null"]},
    requests_per_minute={"type": ["integer", "null"]},
    event_streams={"type": ["integer", "null"]},
    idempotency_keys={"type": ["integer", "null"]},
)
_NODE: Final = _closed_object(
    id=_TEXT,
    home=_TEXT,
    version=_TEXT,
    host=_TEXT,
    joined=_INSTANT,
    renewed=_INSTANT,
    load=_INTEGER,
    capacity=_INTEGER,
    clock_offset_ms={"type": ["number", "null"]},
    draining={"type": "boolean"},
)
_TOKEN: Final = _closed_object(
    id={"type": "string", "pattern": "^tok_"},
    owner=_TEXT,
    name=_TEXT,
    scopes={"type": "array", "items": _TEXT},
    agent=_NULLABLE_TEXT,
    created=_INSTANT,
    expires=_NULLABLE_INSTANT,
    revoked=_NULLABLE_INSTANT,
    version=_INTEGER,
)
_PROBLEM_ERROR: Final = {
    "type": "object",
    "properties": {"pointer": _TEXT, "code": _TEXT, "detail": _TEXT, "suggestion": _TEXT, "position": _INTEGER},
    "required": ["pointer", "code", "detail", "suggestion"],
    "additionalProperties": False,
}

RESPONSE_SCHEMAS: Final[dict[str, Schema]] = {
    "Problem": {
        "type": "object",
        "description": "RFC 9457. `code` is stable and never translated; title, detail and hint follow Accept-Language.",
        "properties": {
            "type": _TEXT,
            "title": _TEXT,
            "status": _INTEGER,
            "code": {"type": "string", "pattern": "^[a-z0-9_]+$"},
            "detail": _TEXT,
            "hint": _TEXT,
            "instance": _TEXT,
            "request_id": _TEXT,
            "version": _INTEGER,
            "errors": {"type": "array", "items": _PROBLEM_ERROR},
        },
        "required": ["type", "title", "status", "code", "detail", "hint", "instance", "request_id", "errors"],
        "additionalProperties": False,
        "example": {
            "type": "urn:horae:problem:unknown_field",
            "title": "invalid request",
            "status": 422,
            "code": "unknown_field",
            "detail": "'polices' is not a field here.",
            "hint": "The fields are: policies, name, when, …",
            "instance": "/v1/tasks",
            "request_id": "req_8d7a0c7c44415e72308a",
            "errors": [
                {
                    "pointer": "/polices",
                    "code": "unknown_field",
                    "detail": "'polices' is not a field here.",
                    "suggestion": "The fields are: policies, name, when, …",
                }
            ],
        },
    },
    "FireTime": _closed_object(at=_INSTANT, at_local=_INSTANT),
    "Warning": _closed_object(code=_TEXT, message=_TEXT),
    "TaskPage": _with_optional(
        _page_of("Task"),
        count={**_INTEGER, "description": "Number of matching tasks, with `count=estimated`."},
        more={**_BOOLEAN, "description": "There are more than `count`: counting stopped there."},
    ),
    "RunPage": _page_of("Run"),
    "Operation": _closed_object(
        id={"type": "string", "pattern": "^opn_"},
        owner=_TEXT,
        agent=_NULLABLE_TEXT,
        action={"enum": ["pause", "resume", "run", "skip", "cancel", "delete"]},
        filter=_OBJECT,
        arguments=_OBJECT,
        state={"enum": ["running", "finished", "cancelled", "interrupted"]},
        cancelling=_BOOLEAN,
        created=_INSTANT,
        updated=_INSTANT,
        ended=_NULLABLE_INSTANT,
        total={"type": ["integer", "null"], "description": "How many fit; null until they were counted."},
        done=_INTEGER,
        refused=_INTEGER,
        refusals={
            "type": "array",
            "items": _closed_object(task_id=_TEXT, task=_TEXT, code=_TEXT, detail=_TEXT),
            "maxItems": 100,
        },
        problem={**_NULLABLE_TEXT, "description": "What interrupted it, as a code."},
    ),
    "OperationPage": _page_of("Operation"),
    "Lines": _closed_object(items=_list_of("Line"), next_after={"type": ["integer", "null"]}),
    "MadeMany": _closed_object(
        created=_INTEGER,
        items={
            "type": "array",
            "items": _closed_object(
                id=_TEXT,
                name=_TEXT,
                next=_NULLABLE_INSTANT,
                declared={"type": "array", "items": _TEXT},
                warnings=_list_of("Warning"),
            ),
        },
        dry_run=_BOOLEAN,
    ),
    "Backfill": _closed_object(task=_ref("Task"), count=_INTEGER, dry_run=_BOOLEAN),
    "Whoami": _closed_object(
        owner=_TEXT,
        admin=_BOOLEAN,
        scopes={"type": "array", "items": _TEXT},
        agent=_NULLABLE_TEXT,
        zone=_TEXT,
        owner_zone=_NULLABLE_TEXT,
        quotas=_QUOTAS,
        token=_TEXT,
        version=_TEXT,
    ),
    "NodeList": _closed_object(
        items={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "state": {"enum": ["live", "draining", "silent"]},
                    "renewed_ago_ms": {"type": "number"},
                    "clock_step": {"anyOf": [_closed_object(at=_TEXT, by_ms={"type": "number"}), {"type": "null"}]},
                    "functions": {"type": "array", "items": _TEXT},
                },
                "required": ["id", "state", "renewed_ago_ms", "clock_step", "functions"],
            },
        },
        next_cursor={"type": "null"},
    ),
    "DrainedNodes": _closed_object(items={"type": "array", "items": _NODE}),
    "Function": _closed_object(
        name=_TEXT,
        arguments={
            "type": "array",
            "items": _closed_object(
                name=_TEXT,
                required=_BOOLEAN,
                wanted={**_TEXT, "description": "Its type, in words."},
                accepts={
                    "type": ["array", "null"],
                    "items": _TEXT,
                    "description": "The JSON types that can fit; null where that is not known.",
                },
            ),
        },
        takes_more={**_BOOLEAN, "description": "Arguments of other names are accepted too."},
        defaults={
            **_closed_object(
                zone=_NULLABLE_TEXT, lane=_NULLABLE_TEXT, labels={"type": ["object", "null"]}, policies=_OBJECT
            ),
            "description": "What its decorator declares: a task starts from it.",
        },
        registered=_INSTANT,
        nodes={**_INTEGER, "description": "How many running nodes have it."},
        uniform={**_BOOLEAN, "description": "Those nodes declare the same as the newest registration."},
    ),
    "FunctionList": _closed_object(items=_list_of("Function"), next_cursor={"type": "null"}),
    "LaneList": _closed_object(items=_list_of("Lane"), next_cursor={"type": "null"}),
    "Owner": _closed_object(
        name=_TEXT,
        role={"enum": ["admin", "member", "viewer"]},
        zone=_NULLABLE_TEXT,
        quotas=_QUOTAS,
        chosen=_OBJECT,
        note=_TEXT,
        created=_INSTANT,
        revoked=_NULLABLE_INSTANT,
        exhausted={
            **_NULLABLE_TEXT,
            "description": "The day (UTC) on which it has used up `runs_per_day`, if that is today.",
        },
        storage_full={
            "type": ["object", "null"],
            "properties": {"since": _INSTANT, "bytes": _INTEGER},
            "required": ["since", "bytes"],
            "additionalProperties": False,
            "description": "Since when it has used up `stored_bytes`, and how many bytes it stored then.",
        },
        version=_INTEGER,
    ),
    "OwnerPage": _page_of("Owner"),
    "Token": _TOKEN,
    "TokenPage": _page_of("Token"),
    "MadeToken": {
        **_TOKEN,
        "properties": {
            **_TOKEN["properties"],
            "text": {**_NULLABLE_TEXT, "description": "The token itself, shown this once."},
        },
        "required": [*_TOKEN["required"], "text"],
    },
    "Stopped": _closed_object(agent=_TEXT, tasks=_INTEGER, dry_run=_BOOLEAN),
    "Secret": _closed_object(
        name=_TEXT,
        owner=_TEXT,
        updated=_INSTANT,
        agents={"type": "array", "items": _TEXT, "description": "The agents whose tasks may reference it."},
    ),
    "Agent": _closed_object(
        name=_TEXT,
        owner=_TEXT,
        quotas={**_QUOTAS, "description": "Those that count for it now; null is without a limit."},
        chosen={"type": "object", "description": "Those that an admin set for it."},
        stopped={"type": "boolean", "description": "Its owner stopped it."},
        revoked={"type": "boolean", "description": "Its last token was revoked, and its tasks stopped with it."},
    ),
    "Review": _closed_object(
        task_id=_TEXT,
        digest={**_TEXT, "description": "What `approve` has to name."},
        awaiting_approval={"type": "boolean"},
        agent={**_NULLABLE_TEXT, "description": "The agent that made it."},
        secrets={
            "type": "array",
            "items": _closed_object(name=_TEXT, path=_TEXT),
            "description": "Every reference to a secret, and where it stands.",
        },
        lines={
            "type": "array",
            "items": _TEXT,
            "description": "The whole task for people: `path = value`, nothing left out, hidden characters as escapes.",
        },
    ),
    "SecretPage": _page_of("Secret"),
    "AuditRow": _closed_object(
        number=_INTEGER,
        at=_INSTANT,
        action=_TEXT,
        subject=_TEXT,
        owner=_TEXT,
        by=_TEXT,
        actor=_TEXT,
        via=_TEXT,
        request=_TEXT,
        agent=_NULLABLE_TEXT,
        detail=_OBJECT,
        hash=_TEXT,
    ),
    "AuditPage": _page_of("AuditRow"),
    "AuditVerdict": _closed_object(
        ok=_BOOLEAN, rows=_INTEGER, open_rows=_INTEGER, broken={"type": ["integer", "null"]}, head=_TEXT
    ),
    "Root": _closed_object(
        name=_TEXT,
        version=_TEXT,
        status={"enum": ["ready", "not ready"]},
        links={
            "type": "object",
            "additionalProperties": _TEXT,
            "description": "Paths from here, by what they lead to.",
        },
    ),
    "Health": _closed_object(status=_TEXT, version=_TEXT),
    "Readiness": _closed_object(
        status={"enum": ["ready", "not ready"]},
        version=_TEXT,
        parts=_closed_object(store=_BOOLEAN, writes=_BOOLEAN, engine=_BOOLEAN, clock=_BOOLEAN, on_time=_BOOLEAN),
        clock_steps={"type": "array", "items": _closed_object(at=_TEXT, by_ms={"type": "number"})},
        problem={"anyOf": [_closed_object(code=_TEXT, detail=_TEXT, hint=_TEXT), {"type": "null"}]},
    ),
}
