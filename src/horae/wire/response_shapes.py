"""Shapes of answers that only the wire has: pages, problems, accounts."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_MAYBE: Final = {"type": ["string", "null"]}
_INSTANT: Final = {"type": "string", "format": "date-time"}
_MAYBE_INSTANT: Final = {"type": ["string", "null"], "format": "date-time"}
_YES_NO: Final = {"type": "boolean"}
_OBJECT: Final = {"type": "object"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _all_of(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": _ref(name)}


def _page_of(name: str) -> Schema:
    return _all_of(items=_list_of(name), next_cursor=_MAYBE)


def _some_more(shape: Schema, **properties: Schema) -> Schema:
    """The same with what is there only where somebody asked for it."""
    return {**shape, "properties": {**shape["properties"], **properties}}


_QUOTAS: Final = _all_of(
    shortest_interval=_MAYBE,
    active_tasks={"type": ["integer", "null"]},
    payload_bytes={"type": ["integer", "null"]},
    runs_per_day={"type": ["integer", "null"]},
    concurrent_runs={"type": ["integer", "null"]},
    longest_life=_MAYBE,
    stored_tasks={"type": ["integer", "null"]},
    stored_bytes={"type": ["integer", "null"]},
    tokens={"type": ["integer", "null"]},
    requests_per_minute={"type": ["integer", "null"]},
    event_streams={"type": ["integer", "null"]},
    idempotency_keys={"type": ["integer", "null"]},
)
_NODE: Final = _all_of(
    id=_TEXT,
    home=_TEXT,
    version=_TEXT,
    host=_TEXT,
    joined=_INSTANT,
    renewed=_INSTANT,
    load=_WHOLE,
    capacity=_WHOLE,
    clock_offset_ms={"type": ["number", "null"]},
    draining={"type": "boolean"},
)
_TOKEN: Final = _all_of(
    id={"type": "string", "pattern": "^tok_"},
    owner=_TEXT,
    name=_TEXT,
    scopes={"type": "array", "items": _TEXT},
    agent=_MAYBE,
    created=_INSTANT,
    expires=_MAYBE_INSTANT,
    revoked=_MAYBE_INSTANT,
    version=_WHOLE,
)
_PROBLEM_ERROR: Final = {
    "type": "object",
    "properties": {"pointer": _TEXT, "code": _TEXT, "detail": _TEXT, "suggestion": _TEXT, "position": _WHOLE},
    "required": ["pointer", "code", "detail", "suggestion"],
    "additionalProperties": False,
}

ANSWERS: Final[dict[str, Schema]] = {
    "Problem": {
        "type": "object",
        "description": "RFC 9457. `code` is stable and never translated; title, detail and hint follow Accept-Language.",
        "properties": {
            "type": _TEXT,
            "title": _TEXT,
            "status": _WHOLE,
            "code": {"type": "string", "pattern": "^[a-z0-9_]+$"},
            "detail": _TEXT,
            "hint": _TEXT,
            "instance": _TEXT,
            "request_id": _TEXT,
            "version": _WHOLE,
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
    "FireTime": _all_of(at=_INSTANT, at_local=_INSTANT),
    "Warning": _all_of(code=_TEXT, message=_TEXT),
    "TaskPage": _some_more(
        _page_of("Task"),
        count={**_WHOLE, "description": "How many fit, where `count=estimated` was asked for."},
        more={**_YES_NO, "description": "There are more than `count`: so far, and no further, they were counted."},
    ),
    "RunPage": _page_of("Run"),
    "Operation": _all_of(
        id={"type": "string", "pattern": "^opn_"},
        owner=_TEXT,
        agent=_MAYBE,
        action={"enum": ["pause", "resume", "run", "skip", "cancel", "delete"]},
        filter=_OBJECT,
        arguments=_OBJECT,
        state={"enum": ["running", "finished", "cancelled", "interrupted"]},
        cancelling=_YES_NO,
        created=_INSTANT,
        updated=_INSTANT,
        ended=_MAYBE_INSTANT,
        total={"type": ["integer", "null"], "description": "How many fit; null until they were counted."},
        done=_WHOLE,
        refused=_WHOLE,
        refusals={
            "type": "array",
            "items": _all_of(task_id=_TEXT, task=_TEXT, code=_TEXT, detail=_TEXT),
            "maxItems": 100,
        },
        problem={**_MAYBE, "description": "What interrupted it, as a code."},
    ),
    "OperationPage": _page_of("Operation"),
    "Lines": _all_of(items=_list_of("Line"), next_after={"type": ["integer", "null"]}),
    "MadeMany": _all_of(
        created=_WHOLE,
        items={
            "type": "array",
            "items": _all_of(
                id=_TEXT,
                name=_TEXT,
                next=_MAYBE_INSTANT,
                declared={"type": "array", "items": _TEXT},
                warnings=_list_of("Warning"),
            ),
        },
        dry_run=_YES_NO,
    ),
    "Backfill": _all_of(task=_ref("Task"), count=_WHOLE, dry_run=_YES_NO),
    "Whoami": _all_of(
        owner=_TEXT,
        admin=_YES_NO,
        scopes={"type": "array", "items": _TEXT},
        agent=_MAYBE,
        zone=_TEXT,
        owner_zone=_MAYBE,
        quotas=_QUOTAS,
        token=_TEXT,
        version=_TEXT,
    ),
    "NodeList": _all_of(
        items={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "state": {"enum": ["live", "draining", "silent"]},
                    "renewed_ago_ms": {"type": "number"},
                    "clock_step": {"anyOf": [_all_of(at=_TEXT, by_ms={"type": "number"}), {"type": "null"}]},
                    "functions": {"type": "array", "items": _TEXT},
                },
                "required": ["id", "state", "renewed_ago_ms", "clock_step", "functions"],
            },
        },
        next_cursor={"type": "null"},
    ),
    "DrainedNodes": _all_of(items={"type": "array", "items": _NODE}),
    "Function": _all_of(
        name=_TEXT,
        arguments={
            "type": "array",
            "items": _all_of(
                name=_TEXT,
                required=_YES_NO,
                wanted={**_TEXT, "description": "Its type, in words."},
                accepts={
                    "type": ["array", "null"],
                    "items": _TEXT,
                    "description": "The JSON types that can fit; null where that is not known.",
                },
            ),
        },
        takes_more={**_YES_NO, "description": "Arguments of other names are accepted too."},
        defaults={
            **_all_of(zone=_MAYBE, lane=_MAYBE, labels={"type": ["object", "null"]}, policies=_OBJECT),
            "description": "What its decorator declares: a task starts from it.",
        },
        registered=_INSTANT,
        nodes={**_WHOLE, "description": "How many running nodes have it."},
        uniform={**_YES_NO, "description": "Those nodes declare the same as the newest registration."},
    ),
    "FunctionList": _all_of(items=_list_of("Function"), next_cursor={"type": "null"}),
    "LaneList": _all_of(items=_list_of("Lane"), next_cursor={"type": "null"}),
    "Owner": _all_of(
        name=_TEXT,
        role={"enum": ["admin", "member", "viewer"]},
        zone=_MAYBE,
        quotas=_QUOTAS,
        chosen=_OBJECT,
        note=_TEXT,
        created=_INSTANT,
        revoked=_MAYBE_INSTANT,
        exhausted={**_MAYBE, "description": "The day (UTC) on which it has used up `runs_per_day`, if that is today."},
        storage_full={
            "type": ["object", "null"],
            "properties": {"since": _INSTANT, "bytes": _WHOLE},
            "required": ["since", "bytes"],
            "additionalProperties": False,
            "description": "Since when it has used up `stored_bytes`, and how many bytes it stored then.",
        },
        version=_WHOLE,
    ),
    "OwnerPage": _page_of("Owner"),
    "Token": _TOKEN,
    "TokenPage": _page_of("Token"),
    "MadeToken": {
        **_TOKEN,
        "properties": {**_TOKEN["properties"], "text": {**_MAYBE, "description": "The token itself, shown this once."}},
        "required": [*_TOKEN["required"], "text"],
    },
    "Stopped": _all_of(agent=_TEXT, tasks=_WHOLE, dry_run=_YES_NO),
    "Secret": _all_of(
        name=_TEXT,
        owner=_TEXT,
        updated=_INSTANT,
        agents={"type": "array", "items": _TEXT, "description": "The agents whose tasks may reference it."},
    ),
    "Agent": _all_of(
        name=_TEXT,
        owner=_TEXT,
        quotas={**_QUOTAS, "description": "Those that count for it now; null is without a limit."},
        chosen={"type": "object", "description": "Those that an admin set for it."},
        stopped={"type": "boolean", "description": "Its owner stopped it."},
        revoked={"type": "boolean", "description": "Its last token was revoked, and its tasks stopped with it."},
    ),
    "Review": _all_of(
        task_id=_TEXT,
        digest={**_TEXT, "description": "What `approve` has to name."},
        awaiting_approval={"type": "boolean"},
        agent={**_MAYBE, "description": "The agent that made it."},
        secrets={
            "type": "array",
            "items": _all_of(name=_TEXT, path=_TEXT),
            "description": "Every reference to a secret, and where it stands.",
        },
        lines={
            "type": "array",
            "items": _TEXT,
            "description": "The whole task for people: `path = value`, nothing left out, hidden characters as escapes.",
        },
    ),
    "SecretPage": _page_of("Secret"),
    "AuditRow": _all_of(
        number=_WHOLE,
        at=_INSTANT,
        action=_TEXT,
        subject=_TEXT,
        owner=_TEXT,
        by=_TEXT,
        actor=_TEXT,
        via=_TEXT,
        request=_TEXT,
        agent=_MAYBE,
        detail=_OBJECT,
        hash=_TEXT,
    ),
    "AuditPage": _page_of("AuditRow"),
    "AuditVerdict": _all_of(
        ok=_YES_NO, rows=_WHOLE, open_rows=_WHOLE, broken={"type": ["integer", "null"]}, head=_TEXT
    ),
    "Root": _all_of(
        name=_TEXT,
        version=_TEXT,
        status={"enum": ["ready", "not ready"]},
        links={
            "type": "object",
            "additionalProperties": _TEXT,
            "description": "Paths from here, by what they lead to.",
        },
    ),
    "Health": _all_of(status=_TEXT, version=_TEXT),
    "Readiness": _all_of(
        status={"enum": ["ready", "not ready"]},
        version=_TEXT,
        parts=_all_of(store=_YES_NO, writes=_YES_NO, engine=_YES_NO, clock=_YES_NO, on_time=_YES_NO),
        clock_steps={"type": "array", "items": _all_of(at=_TEXT, by_ms={"type": "number"})},
        problem={"anyOf": [_all_of(code=_TEXT, detail=_TEXT, hint=_TEXT), {"type": "null"}]},
    ),
}
