"""Shapes of events, webhooks and deliveries."""

from __future__ import annotations

from typing import Final

from ...model.events.event import EventKind
from .notation import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    TEXT,
    Schema,
    choice,
    closed,
    extend,
    extensible,
    list_of,
    nullable,
    page_of,
    ref,
    text,
)
from .runs import TASK_ID

_URL: Final = text(2_048, 1)
_NOTE: Final = nullable(TEXT) | {"maxLength": 500}
_TYPES: Final = list_of(TEXT) | {
    "description": "Kinds of events, or patterns such as `run.*`; none of them: everything."
}
WEBHOOK: Final = closed(
    {
        "id": TEXT | {"pattern": "^whk_"},
        "owner": TEXT,
        "url": TEXT,
        "types": _TYPES,
        "note": TEXT,
        "enabled": BOOLEAN,
        "disabled": choice("requested", "gone", "failing", "backlog", None),
        "disabled_at": nullable(INSTANT),
        "failing_since": nullable(INSTANT),
        "blocked": nullable(closed({"networks": list_of(TEXT), "detail": TEXT, "hint": TEXT}))
        | {
            "description": "Set while the node that delivers may not call the address, or has no key to sign with: "
            "`hint` says what to set there. `networks` is empty where the key is missing."
        },
        "both_until": nullable(INSTANT) | {"description": "Until then the former secret signs too."},
        "after": INTEGER | {"description": "Events after this one are delivered."},
        "created": INSTANT,
        "version": INTEGER,
    }
)

MADE_WEBHOOK: Final = extend(
    WEBHOOK,
    {
        "secret": nullable(TEXT)
        | {"description": "The signing secret, `whsec_…`, shown only once; null if the request is repeated."}
    },
)

SHAPES: Final[dict[str, Schema]] = {
    "event": closed(
        {
            "number": INTEGER,
            "type": choice(*EventKind),
            "at": INSTANT,
            "owner": TEXT,
            "task_id": TASK_ID,
            "run_id": nullable(TEXT),
            "detail": nullable(TEXT),
        }
    )
    | {"title": "One event (horae watch, horae events --follow)"},
    "events": list_of(ref("event")) | {"title": "horae events"},
    "webhook": WEBHOOK | {"title": "horae webhook show"},
    "webhooks": list_of(ref("webhook")) | {"title": "horae webhook ls"},
    "webhook-made": MADE_WEBHOOK | {"title": "horae webhook add, rotate"},
    "delivery": closed(
        {
            "id": TEXT | {"pattern": "^dlv_"},
            "webhook": TEXT,
            "owner": TEXT,
            "message": TEXT | {"description": "The webhook-id, the same over all attempts."},
            "type": TEXT,
            "task_id": TEXT,
            "state": choice("pending", "delivered", "failed"),
            "created": INSTANT,
            "next_attempt": nullable(INSTANT),
            "attempts": list_of(closed({"at": INSTANT, "status": nullable(INTEGER), "answer": TEXT, "ok": BOOLEAN})),
        }
    )
    | {"title": "horae webhook test, redeliver"},
    "deliveries": list_of(ref("delivery")) | {"title": "horae webhook deliveries"},
    "CloudEvent": extensible(
        {
            "specversion": {"const": "1.0"},
            "id": TEXT,
            "source": TEXT,
            "type": TEXT | {"pattern": "^dev\\.horae\\."},
            "subject": TEXT,
            "time": INSTANT,
            "datacontenttype": {"const": "application/json"},
            "sequence": TEXT | {"pattern": "^[0-9]{19}$"},
            "position": INTEGER
            | {"description": "For admins only: the position in the log, `after` of the next event."},
            "data": extensible(
                {
                    "number": INTEGER,
                    "kind": TEXT,
                    "owner": TEXT,
                    "task_id": TEXT,
                    "run_id": nullable(TEXT),
                    "detail": nullable(TEXT),
                },
                optional=("number", "task_id", "run_id", "detail"),
            ),
        },
        optional=("sequence", "position"),
    )
    | {
        "description": "CloudEvents 1.0. `sequence` counts the events of the owner in `source`, with leading zeros: it orders as a text."
    },
    "EventPage": closed(
        {
            "items": list_of(ref("CloudEvent")),
            "next": INTEGER | {"description": "`after` of the next page."},
            "last": INTEGER | {"description": "`after` for new events only."},
        }
    ),
    "WebhookPage": page_of("webhook"),
    "WebhookMade": MADE_WEBHOOK,
    "NewWebhook": closed(
        {
            "url": _URL,
            "types": _TYPES,
            "note": _NOTE,
            "owner": nullable(TEXT),
        },
        optional=("types", "note", "owner"),
    ),
    "WebhookChange": closed(
        {
            "url": _URL,
            "types": _TYPES,
            "note": _NOTE,
            "enabled": BOOLEAN,
        },
        required=(),
    ),
    "DeliveryPage": page_of("delivery"),
}
