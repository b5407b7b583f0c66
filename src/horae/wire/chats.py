"""Chats, their messages and deliveries to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.agents.delivery import Delivery, DeliveryState
from ..ports.chat_messages import ChatMessage
from ..service.chats.chats import ChatSummary, Transcript, TranscriptMessage
from .instants import parse_instant, parse_optional_instant, utc


def chat_delivery_json(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "owner": delivery.owner,
        "chat": delivery.chat,
        "text": delivery.text,
        "state": delivery.state.value,
        "origin": delivery.origin,
        "created": utc(delivery.created),
        "next_attempt": utc(delivery.not_before),
        "ended": utc(delivery.ended),
        "retried": utc(delivery.retried),
        "attempts": delivery.attempts,
        "parts": list(delivery.parts),
        "repeated_parts": delivery.repeated_parts,
        "uncertain": delivery.uncertain_since is not None,
        "problem": delivery.problem,
    }


def read_chat_delivery(data: Mapping[str, Any]) -> Delivery:
    created = parse_instant(data["created"])
    return Delivery(
        data["id"],
        data["owner"],
        data["chat"],
        data["text"],
        created,
        data["origin"],
        DeliveryState(data["state"]),
        data["attempts"],
        tuple(data["parts"]),
        parse_optional_instant(data["next_attempt"]),
        parse_optional_instant(data["ended"]),
        data["problem"],
        repeated_parts=data["repeated_parts"],
        uncertain_since=created if data["uncertain"] else None,
        retried=parse_optional_instant(data["retried"]),
    )


def chat_message_json(message: ChatMessage) -> dict[str, Any]:
    quoted = message.quoted
    return {
        "number": message.number,
        "id": message.id,
        "sender": message.sender,
        "sender_name": message.sender_name,
        "text": message.text,
        "sent": utc(message.sent),
        "change": message.change.value,
        "quoted": None if quoted is None else quoted._asdict(),
        "attachments": list(message.attachments),
        "is_own": message.is_own,
    }


def transcript_message_json(row: TranscriptMessage) -> dict[str, Any]:
    delivery = row.delivery
    return {
        **chat_message_json(row.message),
        "delivery": None if delivery is None else {"id": delivery.id, "state": delivery.state.value},
        "run_id": row.run_id,
    }


def chat_json(summary: ChatSummary) -> dict[str, Any]:
    group = summary.group
    return {
        "chat": group.chat,
        "folder": group.folder,
        "name": group.name,
        "owner": group.owner,
        "is_writable": summary.is_writable,
        "last": None if summary.last is None else chat_message_json(summary.last),
        "pending": summary.pending,
    }


def transcript_json(transcript: Transcript) -> dict[str, Any]:
    group = transcript.group
    return {
        "chat": group.chat,
        "folder": group.folder,
        "name": group.name,
        "owner": group.owner,
        "is_writable": transcript.is_writable,
        "is_working": transcript.is_working,
        "first": transcript.first,
        "last": transcript.last,
        "messages": [transcript_message_json(each) for each in transcript.messages],
        "next_after": transcript.next_after,
    }
