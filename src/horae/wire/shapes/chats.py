"""Shapes of chats, their messages and deliveries."""

from __future__ import annotations

from typing import Final

from ...model.agents.delivery import DeliveryState
from ...model.messages import SENDER_CHARACTERS, SOURCE_ID_CHARACTERS, TEXT_BYTES
from ...ports.channel import MessageChange
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
    list_of,
    nullable,
    or_null,
    page_of,
    ref,
    text,
)

_CHAT_MESSAGE: Final = closed(
    {
        "number": INTEGER | {"description": "Place in the stream of the chat."},
        "id": TEXT | {"description": "Id of the service; an edit has that of the message that it changes."},
        "sender": TEXT,
        "sender_name": TEXT,
        "text": TEXT,
        "sent": INSTANT,
        "change": choice(*MessageChange),
        "quoted": or_null(closed({"id": TEXT, "sender_name": TEXT, "text": TEXT})),
        "attachments": list_of(TEXT),
        "is_own": BOOLEAN | {"description": "Written by the assistant."},
    }
)
_TRANSCRIPT_MESSAGE: Final = extend(
    _CHAT_MESSAGE,
    {
        "delivery": or_null(closed({"id": TEXT, "state": choice(*DeliveryState)})),
        "run_id": nullable(TEXT) | {"description": "The run that answered."},
    },
)
_CHAT: Final = {
    "chat": TEXT | {"description": "Address: the channel, a colon, the id of the chat there."},
    "folder": TEXT,
    "name": TEXT,
    "owner": TEXT,
    "is_writable": BOOLEAN | {"description": "Whether messages are written here: web chats only."},
}

SHAPES: Final[dict[str, Schema]] = {
    "chat-delivery": closed(
        {
            "id": TEXT | {"pattern": "^dlv_"},
            "owner": TEXT,
            "chat": TEXT,
            "text": TEXT,
            "state": choice(*DeliveryState),
            "origin": TEXT | {"description": "The run or the request that sent it."},
            "created": INSTANT,
            "next_attempt": nullable(INSTANT),
            "ended": nullable(INSTANT),
            "retried": nullable(INSTANT) | {"description": "When a person had it sent again."},
            "attempts": INTEGER,
            "parts": list_of(TEXT) | {"description": "Ids that the service gave to the parts that it has accepted."},
            "repeated_parts": INTEGER
            | {"description": "Parts that were sent again after no answer had come: they may be shown twice."},
            "uncertain": BOOLEAN | {"description": "Whether the next part may have arrived, although no answer came."},
            "problem": TEXT | {"description": "The last error, in words."},
        }
    )
    | answer_of("deliveries show", "deliveries retry"),
    "chat-deliveries": list_of(ref("chat-delivery")) | answer_of("deliveries ls"),
    "ChatDeliveryPage": page_of("chat-delivery"),
    "Chat": closed({**_CHAT, "last": or_null(_CHAT_MESSAGE), "pending": INTEGER}),
    "ChatPage": page_of("Chat"),
    "Transcript": closed(
        {
            **_CHAT,
            "is_working": BOOLEAN | {"description": "Whether the agent works now."},
            "first": INTEGER,
            "last": INTEGER,
            "messages": list_of(_TRANSCRIPT_MESSAGE),
            "next_after": nullable(INTEGER),
        }
    ),
    "NewChatMessage": closed(
        {
            "text": text(TEXT_BYTES, 1),
            "id": nullable(text(SOURCE_ID_CHARACTERS, 1))
            | {"description": "The sender's id: a repeated request appends nothing."},
            "sender_name": nullable(text(SENDER_CHARACTERS, 1)),
        },
        required=("text",),
    ),
    "ChatMessageSent": closed({"chat": TEXT, "number": INTEGER}),
}
