"""Example requests of the compatible routes, and helpers that create and read a schedule."""

from __future__ import annotations

from typing import Any, Final

from tests.compat.compat_server import CompatServer

SCHEDULES: Final = "/schedules"
REMINDER: Final[dict[str, Any]] = {
    "accountUuid": "ada",
    "title": "5分钟后的提醒",
    "taskType": "GENERAL_REMINDER",
    "priority": "HIGH",
    "scheduledTime": "2026-03-01T12:05:00.000Z",
    "payload": {"type": "GENERAL_REMINDER", "data": {"message": "stand up"}},
    "alertConfig": {"methods": ["POPUP", "SOUND"], "soundVolume": 70, "allowSnooze": True, "snoozeOptions": [5, 10]},
    "status": "pending",
    "enabled": True,
}
STANDUP: Final[dict[str, Any]] = {
    "title": "每日站会",
    "taskType": "TASK_REMINDER",
    "scheduledTime": "2026-03-02T01:00:00.000Z",
    "recurrence": {"type": "DAILY", "interval": 1},
    "status": "pending",
    "enabled": True,
}
ONCE: Final = """{
    "name": "demo once",
    "schedule_type": "once",
    "timezone": "UTC",
    "next_run_at": "2026-02-27T01:30:00",
    "payload": {"text":"hello","mode":"hybrid"}
  }"""
"""The request for a one-time task of `/scheduled-tasks`, as its document shows it."""


async def create_schedule(server: CompatServer, body: dict[str, Any] = REMINDER, **fields: Any) -> Any:
    answer = await server.ada.post(SCHEDULES, {**body, **fields})
    assert answer.status == 201, answer.body
    return {name: value for name, value in answer.task.items() if name != "warnings"}


async def get_schedule(server: CompatServer, task: Any) -> Any:
    return (await server.ada.get(f"{SCHEDULES}/{task['uuid']}")).task
