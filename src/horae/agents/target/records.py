"""Records of the agent target: session of a group or of a series, progress of an occurrence, and that it has messaged its chat."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...model.record import Record, RecordWrite

SESSION_KIND: Final = "agent.session"
PROGRESS_KIND: Final = "agent.progress"
MESSAGED_KIND: Final = "agent.messaged"
"""Record under the key of an occurrence: a request of its agent has sent a message to the chat of the group."""
_KEEP_PROGRESS: Final = timedelta(days=7)


class Session(NamedTuple):
    """Session of a mind, with the version of its record; None where there is none."""

    key: str
    owner: str
    id: str | None = None
    version: int | None = None


def session_key(folder: str, task_id: str | None = None) -> str:
    """Key of the session of a group, or of the series of a task."""
    return folder if task_id is None else f"{folder}/{task_id}"


def session_from(key: str, owner: str, record: Record | None) -> Session:
    return Session(key, owner) if record is None else Session(key, owner, json.loads(record.body)["id"], record.version)


def write_session(before: Session, session_id: str | None) -> RecordWrite:
    """Return the write that replaces the session; None removes it."""
    record = Record(SESSION_KIND, before.key, before.owner, _encode({"id": session_id}), before.version or 1)
    return RecordWrite(record, before.version, dropped=session_id is None)


class Progress(NamedTuple):
    """What attempts at one occurrence have committed: `results` texts, the last of them, whether the agent's turn ended."""

    key: str
    owner: str
    results: int = 0
    text: str | None = None
    is_done: bool = False
    version: int | None = None


def progress_from(key: str, owner: str, record: Record | None) -> Progress:
    return (
        Progress(key, owner)
        if record is None
        else Progress(key, owner, **json.loads(record.body), version=record.version)
    )


def write_progress(progress: Progress, now: datetime) -> RecordWrite:
    body = _encode({"results": progress.results, "text": progress.text, "is_done": progress.is_done})
    record = Record(PROGRESS_KIND, progress.key, progress.owner, body, progress.version or 1, now + _KEEP_PROGRESS)
    return RecordWrite(record, progress.version)


def messaged_write(key: str, owner: str, now: datetime) -> RecordWrite:
    """Return the write that commits with the first message of an occurrence to its chat."""
    return RecordWrite(Record(MESSAGED_KIND, key, owner, "{}", 1, now + _KEEP_PROGRESS))


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
