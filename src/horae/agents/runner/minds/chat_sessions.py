"""Sessions of the mind `openai`: one JSON file for each conversation, bounded in size and number."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .mind import STALE_SESSION, MindFailed

Message = Mapping[str, Any]

SESSION_DIRECTORY: Final = "/workspace/session"
MAX_SESSION_CHARACTERS: Final = 400_000
"""Of all messages as JSON: about 100,000 tokens."""
MAX_SESSIONS: Final = 500
REMOVED_NOTE: Final = "[Earlier messages of this conversation were removed to keep it short.]"
_SHORT_ANSWER: Final = 2_000
_ANSWER_CUT: Final = "\n[The rest was left out: the conversation is too long.]"
_ID: Final = re.compile(r"openai-[0-9a-f]{24}")
_ROLES: Final = frozenset({"user", "assistant", "tool"})
_MAX_FILE_BYTES: Final = 16 * 1024 * 1024


class ChatSessions:
    """Conversations by id. A file that is missing or malformed is a session that does not exist."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "openai"

    def load(self, session_id: str | None) -> list[Message]:
        """Return the messages, oldest first; raise `MindFailed` with the text of a stale session."""
        if session_id is None:
            return []
        messages = self._read(session_id) if _ID.fullmatch(session_id) else None
        if messages is None:
            raise MindFailed(f"{STALE_SESSION}: {session_id[:100]}")
        return messages

    def save(self, session_id: str | None, messages: Sequence[Message]) -> str:
        """Write the conversation, complete or not at all; return its id, a new one if there was none."""
        session_id = session_id or f"openai-{secrets.token_hex(12)}"
        data = json.dumps({"version": 1, "messages": compact(messages, MAX_SESSION_CHARACTERS)})
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self._file(session_id)
            draft = file.with_suffix(".tmp")
            draft.write_text(data, encoding="utf-8")
            draft.replace(file)
            self._remove_oldest()
        except OSError as error:
            raise MindFailed(f"the session cannot be written to {self._directory}: {error.strerror}") from None
        return session_id

    def _file(self, session_id: str) -> Path:
        return self._directory / f"{session_id}.json"

    def _read(self, session_id: str) -> list[Message] | None:
        try:
            with self._file(session_id).open("rb") as file:
                value = json.loads(file.read(_MAX_FILE_BYTES))
            messages = value["messages"]
        except (OSError, ValueError, RecursionError, TypeError, KeyError):
            return None
        is_valid = isinstance(messages, list) and all(
            isinstance(each, dict) and each.get("role") in _ROLES for each in messages
        )
        return messages if is_valid else None

    def _remove_oldest(self) -> None:
        found = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self._directory)]
        for _, path in sorted(found)[:-MAX_SESSIONS]:
            os.unlink(path)  # noqa: PTH108 - a text of scandir


def count_characters(messages: Sequence[Message]) -> int:
    return sum(len(json.dumps(message)) for message in messages)


def compact(messages: Sequence[Message], max_characters: int) -> list[Message]:
    """Drop the oldest turns until the rest fits; a note takes their place. The last turn always stays.

    A turn begins with a message of the user: an answer of a tool is never separated from its call.
    """
    turns: list[list[Message]] = []
    for message in messages:
        if message["role"] == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    sizes = [count_characters(turn) for turn in turns]
    first = 0
    while first < len(turns) - 1 and sum(sizes[first:]) > max_characters:
        first += 1
    if first == 0:
        return list(messages)
    kept = [message for turn in turns[first:] for message in turn]
    content = str(kept[0].get("content"))
    if not content.startswith(REMOVED_NOTE):
        kept[0] = {**kept[0], "content": f"{REMOVED_NOTE}\n\n{content}"}
    return kept


def shorten_tool_answers(messages: Sequence[Message]) -> list[Message]:
    """Cut long answers of tools, for a single turn that is too long for its model."""
    return [
        {**message, "content": str(message["content"])[:_SHORT_ANSWER] + _ANSWER_CUT}
        if message["role"] == "tool" and len(str(message["content"])) > _SHORT_ANSWER + len(_ANSWER_CUT)
        else message
        for message in messages
    ]
