"""Record of an executed command of a chat: written with its effect, so that it is executed once, and read by /undo."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ...model.agents.group import Group
from ...model.record import Record
from ..router.chat_commands import ChatVerb

COMMAND_KIND: Final = "chat.command"
COMMAND_RETENTION: Final = timedelta(days=30)


class ExecutedCommand(NamedTuple):
    """`number` is that of its message. `task_id` is the task that it changed, with its owner; empty: it changed nothing.

    `pause_change` is the body of the change of a pause, or of the pause before a cancel, for /undo; empty: the change is
    final. `cancelled_at` is the instant of a cancel in microseconds. `undone`: /undo has taken it back. `is_answered`: the
    chat has its answer.
    """

    number: int
    verb: ChatVerb
    task_id: str = ""
    task_owner: str = ""
    task_name: str = ""
    pause_change: str = ""
    cancelled_at: int = 0
    undone: bool = False
    undoes: str = ""
    """Verb of the command that this one has undone."""
    is_answered: bool = False
    listed: tuple[tuple[str, str], ...] = ()
    """Id and owner of each task of the answer to /tasks: the next commands may name them by their numbers."""
    version: int | None = None

    @property
    def is_change(self) -> bool:
        return bool(self.pause_change) or self.cancelled_at > 0

    @property
    def can_be_undone(self) -> bool:
        return bool(self.pause_change)


def command_key(group: Group, number: int) -> str:
    """Return the key: commands of a group are in the order of their messages."""
    stream = blake2b(group.stream.encode(), digest_size=6).hexdigest()
    return f"{group.folder}/{stream}/{number:012d}"


def command_record(group: Group, command: ExecutedCommand, now: datetime) -> Record:
    body: dict[str, Any] = command._asdict()
    del body["version"]
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    key = command_key(group, command.number)
    return Record(COMMAND_KIND, key, group.owner, text, command.version or 1, now + COMMAND_RETENTION)


def command_from(record: Record) -> ExecutedCommand:
    body = json.loads(record.body)
    body["verb"] = ChatVerb(body["verb"])
    body["listed"] = tuple((task_id, owner) for task_id, owner in body["listed"])
    return ExecutedCommand(version=record.version, **body)
