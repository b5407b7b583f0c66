"""Chat that no group has yet: its name and last activity, kept without its messages so that an operator can register it; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..record import Record
from .group import is_folder

KNOWN_CHAT_KIND: Final = "chat.known"
KNOWN_CHAT_RETENTION: Final = timedelta(days=90)
MAX_KNOWN_CHATS: Final = 1_000
_NO_FOLDER: Final = re.compile(r"[^a-z0-9]+")
_FOLDER_CHARACTERS: Final = 40


class KnownChat(NamedTuple):
    """`chat` is the address `channel:id`."""

    chat: str
    name: str
    last_activity: datetime
    is_direct: bool = False
    version: int = 1


def known_chat_record(known: KnownChat) -> Record:
    body = {"name": known.name, "last_activity": known.last_activity.isoformat(), "is_direct": known.is_direct}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    expires = known.last_activity + KNOWN_CHAT_RETENTION
    return Record(KNOWN_CHAT_KIND, known.chat, "", text, known.version, expires)


def known_chat_from(record: Record) -> KnownChat:
    body = json.loads(record.body)
    last_activity = datetime.fromisoformat(body["last_activity"])
    return KnownChat(record.key, body["name"], last_activity, body["is_direct"], record.version)


def suggest_folder(known: KnownChat, taken: Collection[str]) -> str:
    """Return a folder for the group of a chat, from its name, else from its address, that no group has."""
    channel, _, identity = known.chat.partition(":")
    candidates = (_to_folder(text) for text in (known.name, f"{channel}-{identity}", channel))
    stem = next((each for each in candidates if is_folder(each)), "chat")
    folder, number = stem, 1
    while folder in taken:
        number += 1
        folder = f"{stem}-{number}"
    return folder


def _to_folder(text: str) -> str:
    return _NO_FOLDER.sub("-", text.lower()).strip("-")[:_FOLDER_CHARACTERS].strip("-")
