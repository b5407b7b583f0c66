"""Quick reminders and snooze of `/schedules`: both become one-time schedules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...model.task import Task
from ...schedule import Now, Once
from ...service.tasks.task_request import TaskRequest, request_of
from ...wire.fields import check_fields
from .labels import SNOOZED_FROM, UPDATED, with_labels
from .payloads import read_details
from .refusals import refuse
from .schedule_fields import read_whole_number
from .schedule_json import DEFAULT_TYPE

_REMINDER_FIELDS: Final = ("title", "message", "reminderTime", "methods", "priority", "allowSnooze", "tags", "timezone")
_SNOOZE_FIELDS: Final = ("taskUuid", "snoozeMinutes", "reason")
_DEFAULT_METHODS: Final = ("POPUP", "SYSTEM_NOTIFICATION")
_SNOOZE_OPTIONS: Final = (5, 10, 15, 30)
_MAX_SNOOZE_MINUTES: Final = 366 * 24 * 60


def read_reminder(body: object) -> dict[str, Any]:
    """Return the full schedule body that a reminder stands for."""
    fields = check_fields("reminder", body, _REMINDER_FIELDS)
    data = {"title": fields.get("title"), "message": fields.get("message")}
    alert = {
        "methods": fields.get("methods") or list(_DEFAULT_METHODS),
        "allowSnooze": fields.get("allowSnooze") is not False,
        "snoozeOptions": list(_SNOOZE_OPTIONS),
    }
    copied = {name: fields.get(name) for name in ("title", "priority", "tags", "timezone")}
    return {
        **copied,
        "description": fields.get("message"),
        "taskType": DEFAULT_TYPE,
        "scheduledTime": fields.get("reminderTime"),
        "payload": {"type": DEFAULT_TYPE, "data": data},
        "alertConfig": alert,
    }


def read_snooze(body: object, task: Task) -> timedelta:
    fields = check_fields("snooze", body, _SNOOZE_FIELDS)
    alert = read_details(task.payload).get("alertConfig")
    if isinstance(alert, Mapping) and alert.get("allowSnooze") is False:
        raise refuse("compat_no_snooze")
    minutes = read_whole_number("snoozeMinutes", fields.get("snoozeMinutes"), 1, _MAX_SNOOZE_MINUTES)
    if minutes is None:
        raise refuse("compat_bad_field", name="snoozeMinutes", value=None, wanted="minutes, 1 or more")
    return timedelta(minutes=minutes)


def is_one_time(task: Task) -> bool:
    return isinstance(task.schedule, Once | Now)


def extra_reminder(task: Task, at: datetime, now: datetime) -> TaskRequest:
    """Return a request for one extra reminder of a recurring task, whose own times stay."""
    labels = with_labels(task, {SNOOZED_FROM: task.id, UPDATED: now.isoformat()})
    return request_of(task)._replace(when=Once(at, zone=task.schedule.zone), key=None, labels=labels)
