"""JSON Schemas of events, webhooks and deliveries."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

_TEXT: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
_NULLABLE_TEXT: Final = {"type": ["string", "null"]}
_INSTANT: Final = {"type": "string", "format": "date-time"}
_NULLABLE_INSTANT: Final = {"type": ["string", "null"], "format": "date-time"}
_URL: Final = {"type": "string", "minLength": 1, "maxLength": 2_048}
_TYPES: Final = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Kinds of events, or patterns such as `run.*`; none of them: everything.",
}
_NOTE: Final = {"type": ["string", "null"], "maxLength": 500}


def _closed_object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _object_with_optional(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


_WEBHOOK: Final = _closed_object(
    id={"type": "string", "pattern": "^whk_"},
    owner=_TEXT,
    url=_TEXT,
    types=_TYPES,
    note=_TEXT,
    enabled={"type": "boolean"},
    disabled={"enum": [None, "requested", "gone", "failing", "backlog"]},
    disabled_at=_NULLABLE_INSTANT,
    failing_since=_NULLABLE_INSTANT,
    blocked={
        "description": (
            "Set while the node that delivers may not call the address, or has no key to sign with: "
            "`hint` says what to set there. `networks` is empty where the key is missing."
        ),
        "oneOf": [
            {"type": "null"},
            _closed_object(networks={"type": "array", "items": _TEXT}, detail=_TEXT, hint=_TEXT),
        ],
    },
    both_until={**_NULLABLE_INSTANT, "description": "Until then a former secret signs, too."},
    after={**_INTEGER, "description": "Events after this one are delivered."},
    created=_INSTANT,
    version=_INTEGER,
)

EVENT_SHAPES: Final[dict[str, Schema]] = {
    "CloudEvent": {
        "type": "object",
        "description": (
            "CloudEvents 1.0. `sequence` counts the events of the owner in `source`, with leading zeros: it orders as a text."
        ),
        "properties": {
            "specversion": {"const": "1.0"},
            "id": _TEXT,
            "source": _TEXT,
            "type": {"type": "string", "pattern": "^dev\\.horae\\."},
            "subject": _TEXT,
            "time": _INSTANT,
            "datacontenttype": {"const": "application/json"},
            "sequence": {"type": "string", "pattern": "^[0-9]{19}$"},
            "position": {
                **_INTEGER,
                "description": "For admins only: the position in the log, `after` of the next event.",
            },
            "data": {
                "type": "object",
                "properties": {
                    "number": _INTEGER,
                    "kind": _TEXT,
                    "owner": _TEXT,
                    "task_id": _TEXT,
                    "run_id": _NULLABLE_TEXT,
                    "detail": _NULLABLE_TEXT,
                },
                "required": ["kind", "owner"],
            },
        },
        "required": ["specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data"],
    },
    "EventPage": _closed_object(
        items=_list_of("CloudEvent"),
        next={**_INTEGER, "description": "`after` of the next page."},
        last={**_INTEGER, "description": "`after` for new events only."},
    ),
    "Webhook": _WEBHOOK,
    "WebhookPage": _closed_object(items=_list_of("Webhook"), next_cursor=_NULLABLE_TEXT),
    "WebhookMade": {
        **_WEBHOOK,
        "properties": {
            **_WEBHOOK["properties"],
            "secret": {
                **_NULLABLE_TEXT,
                "description": "`whsec_…`, shown this once; null when the answer is repeated.",
            },
        },
        "required": [*_WEBHOOK["required"], "secret"],
    },
    "NewWebhook": _object_with_optional("url", url=_URL, types=_TYPES, note=_NOTE, owner=_NULLABLE_TEXT),
    "WebhookChange": _object_with_optional(url=_URL, types=_TYPES, note=_NOTE, enabled={"type": "boolean"}),
    "Delivery": _closed_object(
        id={"type": "string", "pattern": "^dlv_"},
        webhook=_TEXT,
        owner=_TEXT,
        message={**_TEXT, "description": "The `webhook-id`, the same over all attempts."},
        type=_TEXT,
        task_id=_TEXT,
        state={"enum": ["pending", "delivered", "failed"]},
        created=_INSTANT,
        next_attempt=_NULLABLE_INSTANT,
        attempts={
            "type": "array",
            "items": _closed_object(
                at=_INSTANT, status={"type": ["integer", "null"]}, answer=_TEXT, ok={"type": "boolean"}
            ),
        },
    ),
    "DeliveryPage": _closed_object(items=_list_of("Delivery"), next_cursor=_NULLABLE_TEXT),
}
