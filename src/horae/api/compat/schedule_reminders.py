"""Reminders in a few words: a title, a message and a time become a schedule that happens once; and again, when snoozed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...model.task import Task
from ...schedule import Now, Once
from ...service.tasks.task_request import Wish, wish_of
from ...wire.fields import check_fields
from .labels import SNOOZED_FROM, UPDATED, labelled
from .payloads import about_of
from .refusals import refuse
from .schedule_fields import whole
from .schedule_json import USUAL_TYPE

_REMINDER: Final = ("title", "message", "reminderTime", "methods", "priority", "allowSnooze", "tags", "timezone")
_SNOOZE: Final = ("taskUuid", "snoozeMinutes", "reason")
_USUAL_METHODS: Final = ("POPUP", "SYSTEM_NOTIFICATION")
_SNOOZE_OPTIONS: Final = (5, 10, 15, 30)
_LONGEST_SNOOZE: Final = 366 * 24 * 60


def read_reminder(body: object) -> dict[str, Any]:
    """The schedule that it is short for."""
    said = check_fields("reminder", body, _REMINDER)
    data = {"title": said.get("title"), "message": said.get("message")}
    alert = {
        "methods": said.get("methods") or list(_USUAL_METHODS),
        "allowSnooze": said.get("allowSnooze") is not False,
        "snoozeOptions": list(_SNOOZE_OPTIONS),
    }
    named = {name: said.get(name) for name in ("title", "priority", "tags", "timezone")}
    return {
        **named,
        "description": said.get("message"),
        "taskType": USUAL_TYPE,
        "scheduledTime": said.get("reminderTime"),
        "payload": {"type": USUAL_TYPE, "data": data},
        "alertConfig": alert,
    }


def read_snooze(body: object, task: Task) -> timedelta:
    said = check_fields("snooze", body, _SNOOZE)
    alert = about_of(task.payload).get("alertConfig")
    if isinstance(alert, Mapping) and alert.get("allowSnooze") is False:
        raise refuse("compat_no_snooze")
    minutes = whole("snoozeMinutes", said.get("snoozeMinutes"), 1, _LONGEST_SNOOZE)
    if minutes is None:
        raise refuse("compat_bad_field", name="snoozeMinutes", value=None, wanted="minutes, 1 or more")
    return timedelta(minutes=minutes)


def happens_once(task: Task) -> bool:
    return isinstance(task.schedule, Once | Now)


def once_more(task: Task, at: datetime, now: datetime) -> Wish:
    """Of what recurs, one extra reminder: its own times stay where they are."""
    marks = labelled(task, {SNOOZED_FROM: task.id, UPDATED: now.isoformat()})
    return wish_of(task)._replace(when=Once(at, zone=task.schedule.zone), key=None, labels=marks)
