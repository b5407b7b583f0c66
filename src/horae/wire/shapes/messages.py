"""Shapes of message streams, messages and cursors."""

from __future__ import annotations

from typing import Final

from ...model.messages import APPEND_MESSAGES, MAX_KEEP, REFERENCES
from .notation import (
    ANY,
    INSTANT,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
    answer_of,
    closed,
    extend,
    list_of,
    nullable,
    page_of,
    ref,
    text,
)

_STREAM: Final = closed(
    {
        "name": TEXT,
        "owner": TEXT,
        "first": INTEGER | {"description": "Number of the oldest stored message."},
        "last": INTEGER | {"description": "Number of the newest message; 0 before the first."},
        "stored": INTEGER,
        "bytes": INTEGER,
        "keep": nullable(INTEGER) | {"description": "Most messages to keep; null: the setting message_keep."},
        "keep_for_seconds": nullable(NUMBER),
        "oldest": nullable(INSTANT),
        "created": INSTANT,
    }
)
_CURSOR: Final = closed(
    {
        "reader": TEXT,
        "number": INTEGER | {"description": "All messages up to this one are handled."},
        "moved": INSTANT,
        "run_id": nullable(TEXT)
        | {
            "description": "The run that moved it there, for 30 days; null where no run did, and in answers that do not read it."
        },
    }
)
_GAP: Final = closed(
    {
        "first": INTEGER,
        "last": INTEGER,
        "count": INTEGER | {"description": "Messages that were removed unread."},
        "at": INSTANT,
    }
)
_MESSAGE: Final = closed(
    {
        "number": INTEGER,
        "at": INSTANT,
        "sender": TEXT,
        "source": TEXT | {"description": "The system that assigned the id."},
        "id": TEXT | {"description": "Unique with its source: a repeated append returns the first number."},
        "text": TEXT,
        "references": list_of(ANY),
    }
)
_DRAFT: Final = closed(
    {
        "text": TEXT,
        "sender": nullable(text(200)),
        "id": nullable(text(200)) | {"description": "The sender's id: a repeated request appends nothing."},
        "source": nullable(text(100)),
        "references": list_of(ANY) | {"maxItems": REFERENCES},
    },
    required=(),
)

SHAPES: Final[dict[str, Schema]] = {
    "stream": _STREAM | answer_of("messages set"),
    "streams": list_of(ref("stream")) | answer_of("messages ls"),
    "stream-state": extend(_STREAM, {"cursors": list_of(_CURSOR), "gaps": list_of(_GAP)}) | answer_of("messages show"),
    "cursor": _CURSOR | answer_of("messages reader"),
    "sent": closed({"stream": TEXT, "numbers": list_of(INTEGER)}) | answer_of("messages send"),
    "messages": closed(
        {
            "stream": TEXT,
            "owner": TEXT,
            "after": INTEGER,
            "last": INTEGER,
            "messages": list_of(_MESSAGE),
            "gaps": list_of(_GAP),
            "next_after": nullable(INTEGER),
        }
    )
    | answer_of("messages read"),
    "StreamPage": page_of("stream"),
    "StreamFields": closed(
        {
            "keep": nullable(INTEGER) | {"minimum": 1, "maximum": MAX_KEEP},
            "keep_for": nullable(text(40)) | {"description": "A duration: 30d, PT1H."},
        },
        required=(),
    ),
    "NewMessages": closed(
        {"messages": list_of(_DRAFT) | {"minItems": 1, "maxItems": APPEND_MESSAGES}},
    ),
    "ReaderFields": closed(
        {"after": nullable(INTEGER) | {"minimum": 0, "description": "Its first position; null: the end."}},
        required=(),
    ),
}
