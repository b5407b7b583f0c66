"""Shapes of events, webhooks and deliveries."""

from __future__ import annotations

from typing import Final

from ...model.events.destination import Occasion
from ...model.events.event import EventKind
from ...model.stations.station import StationKind
from .notation import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    TEXT,
    Schema,
    answer_of,
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

DESTINATION: Final = closed(
    {
        "id": TEXT | {"pattern": "^dst_"},
        "name": TEXT,
        "owner": TEXT,
        "url": TEXT | {"description": "Its schema alone: slack://…"},
        "service": TEXT,
        "zone": TEXT,
        "quiet": nullable(TEXT),
        "reminders": BOOLEAN | {"description": "What tasks say is sent there, unless they name destinations."},
        "language": choice("en", "zh"),
        "failing_since": nullable(INSTANT),
        "blocked": nullable(closed({"networks": list_of(TEXT), "detail": TEXT, "hint": TEXT})),
        "last": nullable(closed({"at": INSTANT, "ok": BOOLEAN, "answer": TEXT})),
        "created": INSTANT,
        "version": INTEGER,
    }
)

SHAPES: Final[dict[str, Schema]] = {
    "event": closed(
        {
            "number": INTEGER,
            "type": choice(*EventKind),
            "at": INSTANT,
            "owner": TEXT,
            "task_id": TEXT | {"pattern": "^(tsk_|$)", "description": "Empty for a message that no task has sent."},
            "run_id": nullable(TEXT),
            "detail": nullable(TEXT),
        }
    )
    | answer_of("watch", "events --follow"),
    "events": list_of(ref("event")) | answer_of("events"),
    "webhook": WEBHOOK | answer_of("webhook show"),
    "webhooks": list_of(ref("webhook")) | answer_of("webhook ls"),
    "webhook-made": MADE_WEBHOOK | answer_of("webhook add", "webhook rotate"),
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
    | answer_of("webhook test", "webhook redeliver"),
    "deliveries": list_of(ref("delivery")) | answer_of("webhook deliveries"),
    "destination": DESTINATION | answer_of("notify add", "notify set"),
    "destinations": list_of(ref("destination")) | answer_of("notify ls"),
    "notice": closed(
        {
            "id": TEXT | {"pattern": "^dlv_"},
            "destination": TEXT | {"pattern": "^dst_"},
            "owner": TEXT,
            "on": choice(*Occasion),
            "task_id": TEXT,
            "task": TEXT,
            "run_id": nullable(TEXT),
            "text": TEXT | {"description": "The result or the error, or the words of a reminder."},
            "at": INSTANT,
            "state": choice("pending", "delivered", "failed"),
            "created": INSTANT,
            "next_attempt": nullable(INSTANT),
            "attempts": list_of(closed({"at": INSTANT, "status": nullable(INTEGER), "answer": TEXT, "ok": BOOLEAN})),
        }
    )
    | answer_of("notify test"),
    "notices": list_of(ref("notice")) | answer_of("notify notices"),
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
    "DestinationPage": page_of("destination"),
    "StationPage": page_of("station"),
    "StationKey": closed(
        {
            "key": text(100) | {"description": "Public CURVE key, forty characters."},
            "kind": choice(*StationKind, None) | {"description": "By default api, or that of the station."},
            "worker": nullable(text(100)) | {"description": "The only worker that may use the key; a voter needs it."},
        },
        optional=("kind", "worker"),
    ),
    "DestinationFields": closed(
        {
            "url": text(2_048) | {"description": "Where messages go: mailto://…, slack://…, json://…; never returned."},
            "zone": nullable(TEXT),
            "quiet": nullable(text(20)) | {"description": "Hours in which messages are held: 22:00-07:00."},
            "reminders": nullable(BOOLEAN),
            "language": choice("en", "zh", None),
        },
        required=(),
    ),
    "NoticePage": page_of("notice"),
}
