"""NanoClaw installations of three ages in a directory: database, JSON files, groups and sessions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tests.unit.interchange.nanoclaw_files import (
    CHATS_1,
    CHATS_BEFORE,
    GROUP,
    STATE,
    TASK,
    TASKS_BEFORE,
    VERSION_1,
    put,
)

Age: TypeAlias = Literal["json files", "without bot column", "1.2"]
AGES: Final[tuple[Age, ...]] = ("json files", "without bot column", "1.2")
BEGIN: Final = datetime(2026, 2, 20, tzinfo=UTC)
JID: Final = "tg:-100"
GROUP_ROW: Final = {**GROUP, "jid": JID}
SESSION: Final = "5f2c9f1a-session"
Texts: TypeAlias = Sequence[tuple[str, str]]
"""Sender and text of each message, one a minute; the sender `Andy` is the assistant."""
TALK: Final[Texts] = (
    ("Ada", "@Andy hello"),
    ("Andy", "Hello, Ada."),
    ("Bob", "lunch?"),
    ("Ada", "@Andy when is lunch?"),
)


def moment(number: int) -> str:
    return (BEGIN + timedelta(minutes=number)).isoformat().replace("+00:00", ".000Z")


def make_installation(
    root: Path,
    age: Age,
    talk: Texts = TALK,
    handled: int | None = 2,
    groups: Sequence[Mapping[str, Any]] = (GROUP_ROW,),
) -> Path:
    """Build an installation in which the first `handled` messages were handled; None: there is no cursor."""
    (root / "store").mkdir(parents=True)
    (root / "data").mkdir()
    schema = {
        "json files": TASKS_BEFORE + CHATS_BEFORE,
        "without bot column": VERSION_1 + CHATS_BEFORE + STATE,
        "1.2": VERSION_1 + CHATS_1,
    }[age]
    cursors = {} if handled is None else {JID: moment(handled - 1)}
    state = {"last_timestamp": moment(len(talk)), "last_agent_timestamp": cursors}
    with sqlite3.connect(root / "store" / "messages.db") as connection:
        connection.executescript(schema)
        put(connection, "scheduled_tasks", **{**TASK, "chat_jid": JID})
        put(connection, "chats", jid=JID, name="Family", last_message_time=moment(len(talk)))
        for number, (sender, text) in enumerate(talk):
            _put_message(connection, age, number, sender, text)
        if age == "json files":
            _write(root, "registered_groups.json", {each["jid"]: _as_json(each) for each in groups})
            _write(root, "router_state.json", state)
            _write(root, "sessions.json", {"family": SESSION})
        else:
            for each in groups:
                put(connection, "registered_groups", **each)
            for key, value in state.items():
                put(connection, "router_state", key=key, value=value if isinstance(value, str) else json.dumps(value))
            put(connection, "sessions", group_folder="family", session_id=SESSION)
    connection.close()
    folder = root / "groups" / "family"
    (folder / "notes").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("Ada likes tea.\n")
    (folder / "notes" / "list.txt").write_text("milk\n")
    (folder / "logs").mkdir()
    (folder / "logs" / "container.log").write_text("old\n")
    (root / "groups" / "global").mkdir()
    (root / "groups" / "global" / "CLAUDE.md").write_text("Be brief.\n")
    claude = root / "data" / "sessions" / "family" / ".claude"
    claude.mkdir(parents=True)
    (claude / "session.jsonl").write_text("{}\n")
    return root


def _put_message(connection: sqlite3.Connection, age: Age, number: int, sender: str, text: str) -> None:
    is_own = sender == "Andy"
    row: dict[str, Any] = {
        "id": f"m{number}",
        "chat_jid": JID,
        "sender": sender.lower(),
        "sender_name": sender,
        "content": f"Andy: {text}" if is_own and age != "1.2" else text,
        "timestamp": moment(number),
        "is_from_me": int(is_own),
    }
    if age == "1.2":
        row |= {"is_bot_message": int(is_own), "reply_to_message_id": "m0" if number == 3 else None}
    put(connection, "messages", **row)


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": row["name"],
        "folder": row["folder"],
        "trigger": row["trigger_pattern"],
        "added_at": row["added_at"],
    }


def _write(root: Path, name: str, value: Any) -> None:
    (root / "data" / name).write_text(json.dumps(value))
