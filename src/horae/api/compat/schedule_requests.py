"""Reads `/schedules` bodies, quick reminders and snooze into task requests and edits. Pure: JSON in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...model.change import Facts
from ...model.policy import RetryPolicy
from ...model.refusals import refuse as refuse_task
from ...model.task import Target, Task
from ...schedule import Now, Once
from ...schedule.compat import Note, Translation, dailyuse
from ...service.own_tasks import DISABLED
from ...service.tasks.edits import KEEP, Edits, MaybeKept
from ...service.tasks.task_request import Options, TaskRequest, When, request_of
from ...wire.fields import check_fields
from ...wire.instants import utc
from ...wire.tasks.policies import read_policies
from ...wire.tasks.text_tasks import SURFACE, UPDATED, with_labels
from .refusals import refuse
from .schedule_fields import read_alert, read_choice, read_flag, read_source, read_tags, read_text, read_whole_number
from .schedule_json import (
    DEFAULT_TYPE,
    PRIORITIES,
    STATUSES,
    first_time,
    is_enabled,
    recurrence_of,
    status_of,
    to_dailyuse,
)
from .stored_fields import (
    SNOOZED_FROM,
    SOURCE_ID,
    SOURCE_TYPE,
    TASK_TYPE,
    encode_payload,
    read_details,
    read_payload,
    render_payload,
)

NAME: Final = "schedules"
FIELDS: Final = (
    "title",
    "name",
    "description",
    "taskType",
    "priority",
    "scheduledTime",
    "recurrence",
    "timezone",
    "payload",
    "alertConfig",
    "tags",
    "metadata",
    "sourceType",
    "sourceModule",
    "sourceId",
    "sourceEntityId",
    "maxRetries",
    "timeoutSeconds",
    "enabled",
    "status",
    "accountUuid",
)
READ_ONLY_FIELDS: Final = (
    "uuid",
    "createdBy",
    "nextScheduledAt",
    "nextExecutionTime",
    "lastExecutedAt",
    "executionCount",
    "failureCount",
    "currentRetries",
    "createdAt",
    "updatedAt",
    "warnings",
)
"""Read-only fields of earlier responses that clients may send back; they are ignored."""
DETAIL_FIELDS: Final = ("description", "alertConfig", "tags", "metadata")
_SETTABLE: Final = ("PENDING", "PAUSED", "CANCELLED")
_MAX_RETRIES: Final = 999
_MAX_TIMEOUT_SECONDS: Final = 30 * 86_400
_EVENT: Final = Target("event", '{"topic":"task.triggered"}')


class NewSchedule(NamedTuple):
    """`paused` is the note of its initial pause, if it starts paused."""

    request: TaskRequest
    paused: str | None = None
    notes: tuple[Note, ...] = ()


class Changes(NamedTuple):
    """`enabled` and `status` (PENDING, PAUSED or CANCELLED) are None if unchanged."""

    edits: Edits
    enabled: bool | None = None
    status: str | None = None
    notes: tuple[Note, ...] = ()


def read_new(body: object, owner: str, zone: str, now: datetime) -> NewSchedule:
    """Read a new schedule. `zone` applies to days and to times without an offset if the body names none."""
    fields = _read_fields(body, owner)
    title = read_text("title", fields.get("title") or fields.get("name"))
    if not title:
        raise refuse_task("missing_field", name="title")
    effective_zone = read_text("timezone", fields.get("timezone")) or zone
    translation = dailyuse.read(fields, zone=effective_zone)
    task_request = TaskRequest(
        name=title,
        when=translation.schedule,
        target=_EVENT,
        payload=_payload_json(fields, {}, {}),
        zone=effective_zone,
        labels={SURFACE: NAME, UPDATED: now.isoformat(), TASK_TYPE: DEFAULT_TYPE} | _read_labels(fields),
        options=_read_options(fields, translation),
    )
    return NewSchedule(task_request, _read_initial_pause(fields), translation.notes)


def read_changes(body: object, facts: Facts, zone: str, now: datetime) -> Changes:
    """Read an edit; null and absent fields change nothing."""
    task = facts.task
    fields = _read_fields(body, task.owner)
    effective_zone = read_text("timezone", fields.get("timezone")) or task.schedule.zone or zone
    translation = _read_schedule_change(fields, facts, effective_zone, now)
    when: MaybeKept[When] = KEEP if translation is None else translation.schedule
    edits = Edits(
        name=read_text("title", fields.get("title") or fields.get("name")) or KEEP,
        when=when,
        zone=None if translation is None else effective_zone,
        payload=_payload_json(fields, render_payload(task.payload), read_details(task.payload)),
        labels=with_labels(task, {UPDATED: now.isoformat()} | _read_labels(fields)),
        options=_read_options(fields, translation),
    )
    notes = () if translation is None else translation.notes
    enabled = read_flag("enabled", fields.get("enabled"))
    return Changes(
        edits, None if enabled is is_enabled(facts) else enabled, _read_status(fields, status_of(facts)), notes
    )


def _read_fields(body: object, owner: str) -> Mapping[str, Any]:
    fields = check_fields("schedule", body, (*FIELDS, *READ_ONLY_FIELDS))
    account = fields.get("accountUuid")
    if account is not None and account != owner:
        raise refuse("compat_foreign_account", name=account)
    return fields


def _read_schedule_change(fields: Mapping[str, Any], facts: Facts, zone: str, now: datetime) -> Translation | None:
    """Return the new schedule; None for values that were sent back as they were shown."""
    schedule = facts.task.schedule
    shown = {"scheduledTime": utc(first_time(facts, now)), "recurrence": recurrence_of(schedule)}
    given = {name: fields[name] for name in shown if fields.get(name) not in (None, shown[name])}
    if not given and zone == (schedule.zone or zone):
        return None
    translation = dailyuse.read((to_dailyuse(schedule) or {}) | given, zone=zone)
    return None if translation.schedule.with_defaults(zone) == schedule else translation


def _read_options(fields: Mapping[str, Any], translation: Translation | None) -> Options:
    """Return the policies of the schedule's kind, with the client's retries, timeout and priority on top."""
    options = Options() if translation is None else read_policies(dict(translation.policies))
    if translation is not None and "retry" not in translation.policies:
        options = options._replace(retry=RetryPolicy())
    if fields.get("priority") is not None:
        priority = read_choice("priority", fields["priority"], ("MEDIUM", *PRIORITIES))
        options = options._replace(priority=PRIORITIES.get(priority, 0))
    retries = read_whole_number("maxRetries", fields.get("maxRetries"), 0, _MAX_RETRIES)
    seconds = read_whole_number("timeoutSeconds", fields.get("timeoutSeconds"), 1, _MAX_TIMEOUT_SECONDS)
    return options._replace(
        retries=options.retries if retries is None else retries,
        timeout=options.timeout if seconds is None else seconds,
    )


def _payload_json(fields: Mapping[str, Any], payload: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Encode the payload. Descriptive fields are stored under their own name in it; the source is added to it, for
    readers of the event."""
    new_payload = payload if fields.get("payload") is None else read_payload(fields["payload"])
    kind, source = read_source(fields)
    source_fields = {"sourceType": kind, "sourceId": source}
    details = {name: _read_detail(name, fields[name]) for name in DETAIL_FIELDS if fields.get(name) is not None}
    return encode_payload(
        {**new_payload, **{key: value for key, value in source_fields.items() if value}}, {**about, **details}
    )


def _read_detail(name: str, value: object) -> Any:
    match name:
        case "alertConfig":
            return read_alert(value)
        case "tags":
            return read_tags(value)
        case "description":
            return read_text(name, value)
        case _:
            return read_payload(value)


def _read_labels(fields: Mapping[str, Any]) -> dict[str, str]:
    kind, source = read_source(fields)
    labels = {TASK_TYPE: read_text("taskType", fields.get("taskType")), SOURCE_TYPE: kind, SOURCE_ID: source}
    return {name: value for name, value in labels.items() if value}


def _read_initial_pause(fields: Mapping[str, Any]) -> str | None:
    status = _read_status(fields, "RUNNING")
    if status == "CANCELLED":
        raise _status_refusal("CANCELLED")
    return DISABLED if read_flag("enabled", fields.get("enabled")) is False else "" if status == "PAUSED" else None


def _read_status(fields: Mapping[str, Any], current: str) -> str | None:
    """Return the status that the client sets; None if unchanged. RUNNING is ignored, and only Horae sets FAILED and
    COMPLETED."""
    status = None if fields.get("status") is None else read_choice("status", fields["status"], STATUSES)
    if status in (None, current, "RUNNING"):
        return None
    if status not in _SETTABLE:
        raise _status_refusal(status)
    return status


def _status_refusal(status: str) -> Refusal:
    return refuse("compat_bad_field", name="status", value=status, wanted=", ".join(_SETTABLE))


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
