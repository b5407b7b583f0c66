"""Reads the events of Feishu and Lark: decryption, signature, and texts of messages; pure but for the cipher."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from ...ports.channel import IncomingMessage, MessageChange, QuotedMessage
from .fields import instant, table, tables
from .fields import text as text_at
from .webhook import read_json_object


def is_signed(headers: Mapping[str, str], body: bytes, encrypt_key: str) -> bool:
    """Whether the service signed exactly these bytes: SHA-256 of timestamp, nonce, key and body."""
    stamp, nonce = headers.get("x-lark-request-timestamp", ""), headers.get("x-lark-request-nonce", "")
    expected = sha256(f"{stamp}{nonce}{encrypt_key}".encode() + body).hexdigest()
    return hmac.compare_digest(expected.encode(), headers.get("x-lark-signature", "").encode())


def decrypt(encrypted: str, encrypt_key: str) -> dict[str, Any] | None:
    """Return the document; None for one that another key encrypted. The key of AES-256-CBC is the hash of the encrypt key."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.padding import PKCS7  # noqa: PLC0415

    try:
        data = b64decode(encrypted, validate=True)
        cipher = Cipher(algorithms.AES256(sha256(encrypt_key.encode()).digest()), modes.CBC(data[:16]))
        decryptor, unpadder = cipher.decryptor(), PKCS7(128).unpadder()
        padded = decryptor.update(data[16:]) + decryptor.finalize()
        return read_json_object(unpadder.update(padded) + unpadder.finalize())
    except ValueError:
        return None


def read_event(document: Mapping[str, Any], now: datetime) -> IncomingMessage | None:
    """Return the message of an event, with an id in place of the sender's name; None for other events and other bots."""
    event = table(document, "event")
    match text_at(document, "header", "event_type"):
        case "im.message.receive_v1" if text_at(event, "sender", "sender_type") == "user":
            return _read_message(event, now)
        case "im.message.recalled_v1":
            message_id, chat = text_at(event, "message_id"), text_at(event, "chat_id")
            sent = _instant(text_at(event, "recall_time"), now)
            source_id = f"{message_id}:recalled"
            return IncomingMessage(chat, message_id, source_id, "", "", "", sent, MessageChange.DELETED)
        case _:
            return None


def _read_message(event: Mapping[str, Any], now: datetime) -> IncomingMessage:
    message = table(event, "message")
    kind, message_id = text_at(message, "message_type"), text_at(message, "message_id")
    sender, parent = text_at(event, "sender", "sender_id", "open_id"), text_at(message, "parent_id")
    content = read_json_object(text_at(message, "content").encode(errors="replace")) or {}
    text = text_at(content, "text") if kind == "text" else "\n".join(_lines(content)) if kind == "post" else ""
    # The longest key first: @_user_1 is the beginning of @_user_10.
    for mention in sorted(tables(message, "mentions"), key=lambda each: -len(text_at(each, "key"))):
        if text_at(mention, "key"):
            text = text.replace(text_at(mention, "key"), f"@{text_at(mention, 'name')}")
    return IncomingMessage(
        chat=text_at(message, "chat_id"),
        id=message_id,
        source_id=message_id,
        sender=sender,
        sender_name=sender,
        text=text,
        sent=_instant(text_at(message, "create_time"), now),
        quoted=QuotedMessage(parent) if parent else None,
        attachments=() if kind in {"text", "post"} else (kind,),
        is_direct=text_at(message, "chat_type") == "p2p",
    )


def _lines(post: Mapping[str, Any]) -> Iterator[str]:
    """Yield the title and the lines of a rich text."""
    if text_at(post, "title"):
        yield text_at(post, "title")
    paragraphs = post.get("content")
    for paragraph in paragraphs if isinstance(paragraphs, list) else ():
        parts = [each for each in paragraph if isinstance(each, Mapping)] if isinstance(paragraph, list) else []
        yield "".join(_inline(part) for part in parts)


def _inline(part: Mapping[str, Any]) -> str:
    match text_at(part, "tag"):
        case "at":
            return f"@{text_at(part, 'user_name')}"
        case "a":
            return f"{text_at(part, 'text')} ({text_at(part, 'href')})"
        case "img" | "media":
            return f"[{text_at(part, 'tag')}]"
        case _:
            return text_at(part, "text")


def _instant(milliseconds: str, now: datetime) -> datetime:
    return instant(int(milliseconds) / 1_000 if milliseconds.isdecimal() and len(milliseconds) < 16 else None, now)


def encode_text(text: str) -> str:
    """Return the content of a text message: JSON inside of the JSON of the request."""
    return json.dumps({"text": text}, ensure_ascii=False)
