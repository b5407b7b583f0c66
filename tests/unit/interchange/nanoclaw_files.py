"""NanoClaw databases as its versions create them, and rows to put into them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

TASKS_BEFORE = """
CREATE TABLE scheduled_tasks (
  id TEXT PRIMARY KEY, group_folder TEXT NOT NULL, chat_jid TEXT NOT NULL, prompt TEXT NOT NULL,
  schedule_type TEXT NOT NULL, schedule_value TEXT NOT NULL,
  next_run TEXT, last_run TEXT, last_result TEXT, status TEXT DEFAULT 'active', created_at TEXT NOT NULL
);
CREATE TABLE task_run_logs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL, run_at TEXT NOT NULL, duration_ms INTEGER NOT NULL,
  status TEXT NOT NULL, result TEXT, error TEXT, FOREIGN KEY (task_id) REFERENCES scheduled_tasks(id)
);
"""
VERSION_1 = (
    TASKS_BEFORE
    + """
ALTER TABLE scheduled_tasks ADD COLUMN context_mode TEXT DEFAULT 'isolated';
ALTER TABLE scheduled_tasks ADD COLUMN script TEXT;
CREATE INDEX idx_next_run ON scheduled_tasks(next_run);
CREATE TABLE registered_groups (
  jid TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT NOT NULL UNIQUE, trigger_pattern TEXT NOT NULL,
  added_at TEXT NOT NULL, container_config TEXT, requires_trigger INTEGER DEFAULT 1, is_main INTEGER DEFAULT 0
);
"""
)
CHATS_BEFORE = """
CREATE TABLE chats (jid TEXT PRIMARY KEY, name TEXT, last_message_time TEXT);
CREATE TABLE messages (
  id TEXT, chat_jid TEXT, sender TEXT, sender_name TEXT, content TEXT, timestamp TEXT, is_from_me INTEGER,
  PRIMARY KEY (id, chat_jid), FOREIGN KEY (chat_jid) REFERENCES chats(jid)
);
"""
"""Messages without the later columns; groups, sessions and cursors were JSON files then."""
STATE = """
CREATE TABLE router_state (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sessions (group_folder TEXT PRIMARY KEY, session_id TEXT NOT NULL);
"""
CHATS_1 = (
    CHATS_BEFORE
    + STATE
    + """
ALTER TABLE chats ADD COLUMN channel TEXT;
ALTER TABLE chats ADD COLUMN is_group INTEGER DEFAULT 0;
ALTER TABLE messages ADD COLUMN is_bot_message INTEGER DEFAULT 0;
ALTER TABLE messages ADD COLUMN reply_to_message_id TEXT;
ALTER TABLE messages ADD COLUMN reply_to_message_content TEXT;
ALTER TABLE messages ADD COLUMN reply_to_sender_name TEXT;
"""
)
SHANGHAI = "Asia/Shanghai"

TASK: dict[str, Any] = {
    "id": "task-1",
    "group_folder": "family",
    "chat_jid": "1203@g.us",
    "prompt": "Send the weather.\nAll of it.",
    "schedule_type": "cron",
    "schedule_value": "0 9 * * *",
    "next_run": "2026-02-24T01:00:00.000Z",
    "status": "active",
    "created_at": "2026-02-20T00:00:00.000Z",
}
RUN: dict[str, Any] = {
    "task_id": "task-1",
    "run_at": "2026-02-23T01:00:05.000Z",
    "duration_ms": 5000,
    "status": "success",
    "result": "Sunny.",
}
GROUP: dict[str, Any] = {
    "jid": "1203@g.us",
    "name": "Family",
    "folder": "family",
    "trigger_pattern": "@Andy",
    "added_at": "2026-02-01T00:00:00.000Z",
}


def put(connection: sqlite3.Connection, table: str, **row: Any) -> None:
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))  # noqa: S608


def made(
    folder: Path,
    *tasks: dict[str, Any],
    schema: str = VERSION_1,
    runs: tuple[dict[str, Any], ...] = (),
    groups: tuple[dict[str, Any], ...] = (),
) -> Path:
    """A database at rest, as it is when NanoClaw has stopped."""
    path = folder / "messages.db"
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    for table, rows in (("scheduled_tasks", tasks), ("task_run_logs", runs), ("registered_groups", groups)):
        for row in rows:
            put(connection, table, **row)
    connection.commit()
    connection.close()
    return path
