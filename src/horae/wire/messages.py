"""Message streams, messages, cursors and gaps to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ..errors import Refusal
from ..model.messages import Cursor, Gap, Message, MessagePage, NewMessage, Stream, StreamState
from ..model.refusals import refuse
from ..service.messages.streams import MessageDraft
from .fields import check_fields
from .instants import parse_instant, parse_optional_instant, utc


def stream_json(stream: Stream) -> dict[str, Any]:
    return {
        "name": stream.name,
        "owner": stream.owner,
        "first": stream.first,
        "last": stream.last,
        "stored": stream.stored,
        "bytes": stream.bytes,
        "keep": stream.keep,
        "keep_for_seconds": None if stream.keep_for is None else stream.keep_for.total_seconds(),
        "oldest": utc(stream.oldest),
        "created": utc(stream.created),
    }


def read_stream(data: Mapping[str, Any]) -> Stream:
    keep_for = data["keep_for_seconds"]
    return Stream(
        data["owner"],
        data["name"],
        parse_instant(data["created"]),
        data["first"],
        data["last"],
        data["bytes"],
        data["keep"],
        None if keep_for is None else timedelta(seconds=keep_for),
        parse_optional_instant(data["oldest"]),
    )


def cursor_json(cursor: Cursor) -> dict[str, Any]:
    return {
        "reader": cursor.reader,
        "number": cursor.number,
        "moved": utc(cursor.moved),
        "run_id": cursor.run_id,
    }


def read_cursor(data: Mapping[str, Any]) -> Cursor:
    return Cursor(data["reader"], data["number"], parse_instant(data["moved"]), data.get("run_id"))


def gap_json(gap: Gap) -> dict[str, Any]:
    return {"first": gap.first, "last": gap.last, "count": gap.length, "at": utc(gap.at)}


def read_gap(data: Mapping[str, Any]) -> Gap:
    return Gap(data["first"], data["last"], parse_instant(data["at"]))


def stream_state_json(state: StreamState) -> dict[str, Any]:
    return {
        **stream_json(state.stream),
        "cursors": [cursor_json(each) for each in state.cursors],
        "gaps": [gap_json(each) for each in state.gaps],
    }


def read_stream_state(data: Mapping[str, Any]) -> StreamState:
    return StreamState(read_stream(data), tuple(map(read_cursor, data["cursors"])), tuple(map(read_gap, data["gaps"])))


def message_json(message: Message) -> dict[str, Any]:
    number, content = message.number, message.message
    return {
        "number": number,
        "at": utc(content.at),
        "sender": content.sender,
        "source": content.source,
        "id": content.source_id,
        "text": content.text,
        "references": json.loads(content.references),
    }


def read_drafts(body: Mapping[str, Any]) -> list[MessageDraft]:
    """Return the messages of a request; refuses what is no list of objects with known fields."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise refuse("bad_policy", name="messages", value=messages, wanted="list")
    return [_read_draft(each, place) for place, each in enumerate(messages)]


def _read_draft(value: object, place: int) -> MessageDraft:
    try:
        return MessageDraft(**check_fields("messages", value, MessageDraft._fields))
    except Refusal as refusal:
        if refusal.code == "unknown_field":
            refusal.facts["place"] = place
        raise


def message_page_json(page: MessagePage) -> dict[str, Any]:
    return {
        "stream": page.stream.name,
        "owner": page.stream.owner,
        "after": page.after,
        "last": page.stream.last,
        "messages": [message_json(each) for each in page.messages],
        "gaps": [gap_json(each) for each in page.gaps],
        "next_after": page.next_after,
    }


def read_message_page(data: Mapping[str, Any], stream: Stream) -> MessagePage:
    messages = tuple(
        Message(
            stream.owner,
            each["number"],
            NewMessage(
                stream.name,
                each["text"],
                each["sender"],
                each["source"],
                each["id"],
                parse_instant(each["at"]),
                json.dumps(each["references"], ensure_ascii=False, separators=(",", ":")),
            ),
        )
        for each in data["messages"]
    )
    return MessagePage(stream, data["after"], messages, tuple(map(read_gap, data["gaps"])), data["next_after"])
