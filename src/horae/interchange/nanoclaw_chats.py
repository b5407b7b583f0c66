"""Chats of a NanoClaw installation: addresses, messages, the position up to which they were handled, and sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import Refusal
from ..model.agents.group import CHAT_CHARACTERS
from ..model.messages import SENDER_CHARACTERS, SOURCE_ID_CHARACTERS, TEXT_BYTES
from .database import Database, Row, open_read_only
from .files import read_bytes, read_json
from .import_result import AgentGroup, replace_control_characters

MAX_MESSAGES: Final = 10_000
"""Newest messages of one chat that are imported."""
_MESSAGES: Final = "messages"
_CHATS: Final = "chats"
_STATE: Final = "router_state"
_SESSIONS: Final = "sessions"
_DEFAULT_TRIGGER: Final = "@Andy"
_SESSION_CHARACTERS: Final = 200
_QUOTED_CHARACTERS: Final = 2_000
_CHANNEL: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PREFIXES: Final = {"tg": "telegram", "dc": "discord", "fs": "feishu", "lark": "feishu"}
_KNOWN_CHANNELS: Final = frozenset({"feishu", "slack", "telegram", "web", "whatsapp", "xmpp"})
_WHATSAPP: Final = "whatsapp"
_WHATSAPP_PERSON: Final = "@s.whatsapp.net"
_WHATSAPP_OTHERS: Final = ("@g.us", "@lid", "@broadcast", "@newsletter")


class ChatMessages(NamedTuple):
    """Messages of one chat, oldest first; the first `handled` of them were handled. `older` and `unreadable` were left out."""

    messages: tuple[OldMessage, ...] = ()
    handled: int = 0
    older: int = 0
    unreadable: int = 0


class OldMessage(NamedTuple):
    """`is_own`: the assistant wrote it. `quoted` is id, sender and text of the message that it answers."""

    id: str
    sender: str
    sender_name: str
    text: str
    sent: datetime
    from_me: bool = False
    is_own: bool = False
    quoted: tuple[str, str, str] | None = None


class Conversation(NamedTuple):
    """Chat of a group in its database. `handled_until` is NanoClaw's cursor of the chat; None: it has none."""

    database: Path
    folder: str
    jid: str
    chat: str
    trigger: str
    handled_until: datetime | None = None
    session: str | None = None

    @property
    def is_reachable(self) -> bool:
        """Whether a channel of Horae can send to the chat; WhatsApp's Cloud API has no group chats."""
        channel, _, name = self.chat.partition(":")
        return channel in _KNOWN_CHANNELS and not name.endswith(_WHATSAPP_OTHERS)


def chat_address(jid: str, channel: str | None = None) -> str:
    """Return the address of a chat in Horae; `channel` is what NanoClaw recorded of it, if anything."""
    if jid.endswith(_WHATSAPP_PERSON):
        return f"{_WHATSAPP}:{re.split('[@:]', jid, maxsplit=1)[0]}"
    if jid.endswith(_WHATSAPP_OTHERS):
        return f"{_WHATSAPP}:{jid}"
    prefix, colon, name = jid.partition(":")
    if colon and name and _CHANNEL.fullmatch(prefix):
        return f"{_PREFIXES.get(prefix, prefix)}:{name}"
    return f"{channel if channel and _CHANNEL.fullmatch(channel) else 'nanoclaw'}:{jid}"


def read_conversations(database: Database, path: Path, groups: tuple[AgentGroup, ...]) -> tuple[Conversation, ...]:
    """Read cursors and sessions of the chats of registered groups. Older versions have them in files beside the database."""
    channels = _texts(database, _CHATS, "jid", "channel")
    cursors = _read_cursors(database, path)
    sessions = _texts(database, _SESSIONS, "group_folder", "session_id") or _read_object(path, "sessions.json")
    found: list[Conversation] = []
    for group in groups:
        session = sessions.get(group.folder)
        found.append(
            Conversation(
                path,
                group.folder,
                group.jid,
                chat_address(group.jid, channels.get(group.jid))[:CHAT_CHARACTERS],
                group.trigger or _DEFAULT_TRIGGER,
                _instant(cursors.get(group.jid)),
                session if isinstance(session, str) and _is_session(session) else None,
            )
        )
    return tuple(found)


def read_messages(conversation: Conversation) -> ChatMessages:
    """Read the newest messages of one chat. Without a cursor the assistant's last message is the end of the handled ones."""
    with open_read_only(conversation.database) as database:
        if _MESSAGES not in database.tables:
            return ChatMessages()
        total = database.count_of(_MESSAGES, "chat_jid", conversation.jid)
        rows = list(database.rows_of(_MESSAGES, "chat_jid", conversation.jid, "timestamp", MAX_MESSAGES))
    messages: list[OldMessage] = []
    unreadable = 0
    for row in reversed(rows):
        message = _read_message(row, conversation)
        if message is None:
            unreadable += 1
        else:
            messages.append(message)
    messages.sort(key=lambda each: each.sent)
    until = conversation.handled_until
    if until is None:
        until = max((each.sent for each in messages if each.is_own), default=None)
    handled = 0 if until is None else sum(each.sent <= until for each in messages)
    return ChatMessages(tuple(messages), handled, total - len(rows), unreadable)


def _read_message(row: Row, conversation: Conversation) -> OldMessage | None:
    """Return a message; None for one that no stream could keep."""
    sent, text, name = _instant(row.get("timestamp")), row.get("content"), _identity(row.get("id"), conversation)
    if sent is None or not isinstance(text, str) or not name:
        return None
    text = text.replace("\0", "")
    if not text or len(text.encode(errors="replace")) > TEXT_BYTES:
        return None
    sender = _name(row.get("sender")) or _name(row.get("sender_name")) or "-"
    assistant = conversation.trigger.removeprefix("@")
    # Versions without the column mark the assistant's messages by its name alone.
    is_own = bool(row["is_bot_message"]) if row.get("is_bot_message") is not None else False
    is_own = is_own or text.startswith(f"{assistant}:")
    return OldMessage(
        name,
        sender,
        _name(row.get("sender_name")) or sender,
        text.removeprefix(f"{assistant}:").lstrip() or text if is_own else text,
        sent,
        bool(row.get("is_from_me")),
        is_own,
        _quoted(row),
    )


def _identity(value: object, conversation: Conversation) -> str:
    """Return the id of a message; empty for one that a stream could not keep, also with the id of its chat before it."""
    name = replace_control_characters(value) if isinstance(value, str) else ""
    return name if len(name) + len(conversation.chat) < SOURCE_ID_CHARACTERS else ""


def _quoted(row: Row) -> tuple[str, str, str] | None:
    parts = [row.get(f"reply_to_{name}") for name in ("message_id", "sender_name", "message_content")]
    if not isinstance(parts[0], str) or not parts[0]:
        return None
    number, sender, text = (
        each.replace("\0", "")[:_QUOTED_CHARACTERS] if isinstance(each, str) else "" for each in parts
    )
    return number, sender, text


def _name(value: object) -> str:
    return replace_control_characters(value)[:SENDER_CHARACTERS] if isinstance(value, str) else ""


def _read_cursors(database: Database, path: Path) -> Mapping[str, Any]:
    stored = _texts(database, _STATE, "key", "value")
    if not stored:
        cursors = _read_object(path, "router_state.json").get("last_agent_timestamp")
        return cursors if isinstance(cursors, dict) else {}
    try:
        cursors = json.loads(stored.get("last_agent_timestamp") or "{}")
    except ValueError:
        return {}
    return cursors if isinstance(cursors, dict) else {}


def _read_object(database: Path, name: str) -> Mapping[str, Any]:
    """Read a JSON object of an older version, beside the directory of the database."""
    file = database.parent.parent / "data" / name
    if database.parent.name != "store" or not file.is_file():
        return {}
    try:
        value = read_json(read_bytes(file))
    except Refusal:
        return {}
    return value if isinstance(value, dict) else {}


def _texts(database: Database, table: str, key: str, value: str) -> dict[str, str]:
    if table not in database.tables:
        return {}
    rows = ((row.get(key), row.get(value)) for row in database.rows(table, limit=100_000))
    return {name: text for name, text in rows if isinstance(name, str) and isinstance(text, str)}


def _is_session(text: str) -> bool:
    return 0 < len(text) <= _SESSION_CHARACTERS and text.isprintable()


def _instant(value: object) -> datetime | None:
    """Return the instant of an ISO text; one without an offset is UTC, as NanoClaw writes it."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        if at is None:
            return None
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
