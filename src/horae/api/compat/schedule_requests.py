"""What clients of `/schedules` ask for, read into wishes and edits. Pure: JSON in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...model.change import Facts
from ...model.policy import Retry
from ...model.refusals import refuse as refuse_task
from ...model.task import Target
from ...schedule.compat import Note, Translation, dailyuse
from ...service.tasks.edits import KEEP, Edits, Kept
from ...service.tasks.task_request import Options, When, Wish
from ...wire.fields import check_fields
from ...wire.instants import utc
from ...wire.policies import read_policies
from .alerts import read_alert
from .labels import DISABLED, SOURCE_ID, SOURCE_TYPE, SURFACE, TASK_TYPE, UPDATED, labelled
from .payloads import about_of, kept_payload, read_payload, shown_payload
from .refusals import refuse
from .schedule_fields import choice, flag, source_of, tags_in, text, whole
from .schedule_json import PRIORITIES, STATUSES, USUAL_TYPE, first_time, is_enabled, recurrence_of, spelled, status_of

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
TOLD: Final = (
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
"""What clients have from an earlier answer and may send back; nothing of it changes anything."""
ABOUT_FIELDS: Final = ("description", "alertConfig", "tags", "metadata")
_SETTABLE: Final = ("PENDING", "PAUSED", "CANCELLED")
_LONGEST_RETRIES: Final = 999
_LONGEST_TIMEOUT: Final = 30 * 86_400
_EVENT: Final = Target("event", '{"topic":"task.triggered"}')


class Asked(NamedTuple):
    """`paused` is the note of the pause that it begins with, where it does."""

    wish: Wish
    paused: str | None = None
    notes: tuple[Note, ...] = ()


class Changes(NamedTuple):
    """`enabled` and `status` (PENDING, PAUSED or CANCELLED) are None where they stay as they are."""

    edits: Edits
    enabled: bool | None = None
    status: str | None = None
    notes: tuple[Note, ...] = ()


def read_new(body: object, owner: str, zone: str, now: datetime) -> Asked:
    """`zone` is where times without an offset, and days, are meant when the request names none."""
    said = _said(body, owner)
    title = text("title", said.get("title") or said.get("name"))
    if not title:
        raise refuse_task("missing_field", name="title")
    meant_in = text("timezone", said.get("timezone")) or zone
    translation = dailyuse.read(said, zone=meant_in)
    wish = Wish(
        name=title,
        when=translation.schedule,
        target=_EVENT,
        payload=_kept(said, {}, {}),
        zone=meant_in,
        labels={SURFACE: NAME, UPDATED: now.isoformat(), TASK_TYPE: USUAL_TYPE} | _marks(said),
        options=_options(said, translation),
    )
    return Asked(wish, _paused(said), translation.notes)


def read_changes(body: object, facts: Facts, zone: str, now: datetime) -> Changes:
    """Null, like what is absent, changes nothing."""
    task = facts.task
    said = _said(body, task.owner)
    meant_in = text("timezone", said.get("timezone")) or task.schedule.zone or zone
    translation = _rescheduled(said, facts, meant_in, now)
    when: Kept[When] = KEEP if translation is None else translation.schedule
    edits = Edits(
        name=text("title", said.get("title") or said.get("name")) or KEEP,
        when=when,
        zone=None if translation is None else meant_in,
        payload=_kept(said, shown_payload(task.payload), about_of(task.payload)),
        labels=labelled(task, {UPDATED: now.isoformat()} | _marks(said)),
        options=_options(said, translation),
    )
    notes = () if translation is None else translation.notes
    enabled = flag("enabled", said.get("enabled"))
    return Changes(edits, None if enabled is is_enabled(facts) else enabled, _status(said, status_of(facts)), notes)


def _said(body: object, owner: str) -> Mapping[str, Any]:
    said = check_fields("schedule", body, (*FIELDS, *TOLD))
    account = said.get("accountUuid")
    if account is not None and account != owner:
        raise refuse("compat_foreign_account", name=account)
    return said


def _rescheduled(said: Mapping[str, Any], facts: Facts, zone: str, now: datetime) -> Translation | None:
    """What is sent back as it was shown is no edit."""
    schedule = facts.task.schedule
    shown = {"scheduledTime": utc(first_time(facts, now)), "recurrence": recurrence_of(schedule)}
    given = {name: said[name] for name in shown if said.get(name) not in (None, shown[name])}
    if not given and zone == (schedule.zone or zone):
        return None
    translation = dailyuse.read((spelled(schedule) or {}) | given, zone=zone)
    return None if translation.schedule.with_defaults(zone) == schedule else translation


def _options(said: Mapping[str, Any], translation: Translation | None) -> Options:
    """Policies come with the kind of schedule; what a client says of retries and time is laid over them."""
    options = Options() if translation is None else read_policies(dict(translation.policies))
    if translation is not None and "retry" not in translation.policies:
        options = options._replace(retry=Retry())
    if said.get("priority") is not None:
        named = choice("priority", said["priority"], ("MEDIUM", *PRIORITIES))
        options = options._replace(priority=PRIORITIES.get(named, 0))
    retries = whole("maxRetries", said.get("maxRetries"), 0, _LONGEST_RETRIES)
    seconds = whole("timeoutSeconds", said.get("timeoutSeconds"), 1, _LONGEST_TIMEOUT)
    return options._replace(
        retries=options.retries if retries is None else retries,
        timeout=options.timeout if seconds is None else seconds,
    )


def _kept(said: Mapping[str, Any], payload: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """What is told of it goes beside the payload; where it comes from goes into it, for those who hear the event."""
    chosen = payload if said.get("payload") is None else read_payload(said["payload"])
    kind, source = source_of(said)
    named = {"sourceType": kind, "sourceId": source}
    told = {name: _about(name, said[name]) for name in ABOUT_FIELDS if said.get(name) is not None}
    return kept_payload({**chosen, **{key: value for key, value in named.items() if value}}, {**about, **told})


def _about(name: str, value: object) -> Any:
    match name:
        case "alertConfig":
            return read_alert(value)
        case "tags":
            return tags_in(value)
        case "description":
            return text(name, value)
        case _:
            return read_payload(value)


def _marks(said: Mapping[str, Any]) -> dict[str, str]:
    kind, source = source_of(said)
    marks = {TASK_TYPE: text("taskType", said.get("taskType")), SOURCE_TYPE: kind, SOURCE_ID: source}
    return {name: value for name, value in marks.items() if value}


def _paused(said: Mapping[str, Any]) -> str | None:
    status = _status(said, "RUNNING")
    if status == "CANCELLED":
        raise _unmade("CANCELLED")
    return DISABLED if flag("enabled", said.get("enabled")) is False else "" if status == "PAUSED" else None


def _status(said: Mapping[str, Any], current: str) -> str | None:
    """What a client may make of a task; that it failed or is over, only Horae says. That it runs is soon no longer so."""
    status = None if said.get("status") is None else choice("status", said["status"], STATUSES)
    if status in (None, current, "RUNNING"):
        return None
    if status not in _SETTABLE:
        raise _unmade(status)
    return status


def _unmade(status: str) -> Refusal:
    return refuse("compat_bad_field", name="status", value=status, wanted=", ".join(_SETTABLE))
