"""Messages of a chat in its stream: those of people as they arrive, and those of the assistant.

The stream has one message for each report of the service: a new message, an edit, or a deletion. Facts that a stream does
not have of its own are one object in the references of the message.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..model.messages import Message, NewMessage, encode_references
from .channel import IncomingMessage, MessageChange, QuotedMessage

ASSISTANT_SOURCE: Final = "assistant"
"""Source of the messages of the assistant, in the stream of the chat that they are sent to."""


class ChatMessage(NamedTuple):
    """`id` is that of the service; an edit or a deletion has the id of the message that it changes."""

    number: int
    id: str
    sender: str
    sender_name: str
    text: str
    sent: datetime
    change: MessageChange = MessageChange.NEW
    quoted: QuotedMessage | None = None
    attachments: tuple[str, ...] = ()
    from_me: bool = False
    is_own: bool = False
    """Written by the assistant."""
    may_trigger: bool = True
    """Whether the sender was on the list of the chat when the message arrived; others wake nothing."""
    is_direct: bool = False
    """Whether the chat is with one person."""


def to_stream_message(
    stream: str, channel: str, message: IncomingMessage, at: datetime, *, may_trigger: bool = True
) -> NewMessage:
    """Return the message for the stream of its chat; a repeated report has the same identity and is appended once."""
    quoted = message.quoted
    facts = {
        "id": message.id,
        "sender_name": message.sender_name,
        "sent": message.sent.isoformat(),
        "change": None if message.change is MessageChange.NEW else message.change.value,
        "quoted": None if quoted is None else list(quoted),
        "attachments": list(message.attachments) or None,
        "from_me": message.from_me or None,
        "may_trigger": None if may_trigger else False,
        "is_direct": message.is_direct or None,
    }
    references = encode_references([{name: value for name, value in facts.items() if value is not None}])
    sender = message.sender or channel
    return NewMessage(stream, message.text, sender, channel, message.source_id, at, references)


def assistant_message(stream: str, text: str, name: str, source_id: str, at: datetime) -> NewMessage:
    """Return a message of the assistant; `source_id` identifies it, so that another attempt does not append it again."""
    return NewMessage(stream, text, name, ASSISTANT_SOURCE, source_id, at)


def read_chat_message(stored: Message) -> ChatMessage:
    message = stored.message
    references = json.loads(message.references)
    facts: dict[str, Any] = references[0] if references and isinstance(references[0], dict) else {}
    quoted = facts.get("quoted")
    return ChatMessage(
        number=stored.number,
        id=str(facts.get("id") or message.source_id),
        sender=message.sender,
        sender_name=str(facts.get("sender_name") or message.sender),
        text=message.text,
        sent=datetime.fromisoformat(facts["sent"]) if "sent" in facts else message.at,
        change=MessageChange(facts.get("change", MessageChange.NEW)),
        quoted=None if quoted is None else QuotedMessage(*quoted),
        attachments=tuple(facts.get("attachments", ())),
        from_me=bool(facts.get("from_me")),
        is_own=message.source == ASSISTANT_SOURCE,
        may_trigger=bool(facts.get("may_trigger", True)),
        is_direct=bool(facts.get("is_direct")),
    )
