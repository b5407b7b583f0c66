"""Reads `/scheduled-tasks` bodies into task requests and edits. Pure: JSON in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from ...model.change import Facts
from ...model.refusals import refuse as refuse_task
from ...schedule import Cron, Once
from ...schedule.compat import Note, Translation, fun_ai_station
from ...schedule.compat.fields import Fields
from ...service.tasks.edits import KEEP, Edits, MaybeKept
from ...service.tasks.task_request import TaskRequest, When
from ...wire.fields import check_fields
from ...wire.tasks.text_tasks import UPDATED, orchestrator_request, with_labels
from .refusals import KEYS_DROPPED, PAST_RUNS_AT_ONCE, refuse
from .scheduled_task_json import UTC_ZONE, ScheduleFields, next_run, schedule_fields_of
from .stored_fields import encode_payload, read_details, read_payload

WHEN_FIELDS: Final = ("schedule_type", "schedule_expr", "timezone")
FIELDS: Final = ("name", "enabled", *WHEN_FIELDS, "payload", "next_run_at")
READ_ONLY_FIELDS: Final = (
    "id",
    "user_id",
    "last_run_at",
    "locked_by",
    "locked_until",
    "created_at",
    "updated_at",
    "warnings",
)
"""Read-only fields of earlier responses that clients may send back; they are ignored."""
DEFAULT_NAME: Final = "Scheduled Task"
_ORCHESTRATOR_FIELDS: Final = ("agent", "forced_agent", "items")
_SECOND: Final = timedelta(seconds=1)


class NewTask(NamedTuple):
    request: TaskRequest
    enabled: bool
    notes: tuple[Note, ...] = ()


class Changes(NamedTuple):
    """`enabled` None: unchanged."""

    edits: Edits
    enabled: bool | None = None
    notes: tuple[Note, ...] = ()


def read_new(body: object, orchestrator: str | None, now: datetime) -> NewTask:
    fields = _read_fields(body)
    if fields.get("name") is None:
        raise refuse_task("missing_field", name="name")
    translation, past_notes = _translate(fields, now)
    payload, dropped_notes = _read_payload(fields.get("payload"))
    name = _read_name(fields["name"]) or DEFAULT_NAME
    if not orchestrator:
        raise refuse("compat_no_orchestrator")
    task_request = orchestrator_request(
        orchestrator, name, translation.schedule, encode_payload(payload), zone=UTC_ZONE, now=now
    )
    return NewTask(
        task_request, "paused" not in translation.policies, (*translation.notes, *past_notes, *dropped_notes)
    )


def read_changes(body: object, facts: Facts, now: datetime) -> Changes:
    """Read an edit; null and absent fields change nothing."""
    fields = _read_fields(body)
    task = facts.task
    when, zone, notes = _read_when(fields, facts, now)
    payload: MaybeKept[str] = KEEP
    if fields.get("payload") is not None:
        new_payload, dropped_notes = _read_payload(fields["payload"])
        payload, notes = encode_payload(new_payload, read_details(task.payload)), (*notes, *dropped_notes)
    name = "" if fields.get("name") is None else _read_name(fields["name"])
    edits = Edits(
        name=name or KEEP,
        when=when,
        zone=zone,
        payload=payload,
        labels=with_labels(task, {UPDATED: now.isoformat()}),
    )
    return Changes(edits, _read_enabled(fields), notes)


def _read_fields(body: object) -> Mapping[str, Any]:
    fields = check_fields("scheduled task", body, (*FIELDS, *READ_ONLY_FIELDS))
    return {name: value.strip() if isinstance(value, str) else value for name, value in fields.items()}


def _dialect_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields in the dialect's form: lower-case types, and UTC where no zone is given."""
    kind = fields.get("schedule_type")
    return {
        **fields,
        "schedule_type": kind.lower() or None if isinstance(kind, str) else kind,
        "schedule_expr": "" if fields.get("schedule_expr") is None else fields["schedule_expr"],
        "timezone": fields.get("timezone") or UTC_ZONE,
    }


def _read_when(
    fields: Mapping[str, Any], facts: Facts, now: datetime
) -> tuple[MaybeKept[When], str | None, tuple[Note, ...]]:
    """Return the new schedule and zone. Values sent back as they were shown are no edit; a new schedule counts from
    now, whatever the old one had ahead."""
    before, after = schedule_fields_of(facts.task.schedule), _edited_when(fields, facts)
    given = _read_first_time(fields)
    first = None if given is None or given == next_run(facts, now) else given
    if after == before and first is None:
        return KEEP, None, ()
    if first is None and before.schedule_type not in ("cron", "interval", "once") and after[:2] == before[:2]:
        # Their format cannot express this schedule: only its zone changes.
        return KEEP, after.timezone, ()
    if first is None and after.schedule_type == before.schedule_type == "once":
        first = _current_time(facts, now)
    # An edit never fires at or before its own instant: the soonest is the next whole second.
    soonest = now.replace(microsecond=0) + _SECOND
    translation, past_notes = _translate({**after._asdict(), "next_run_at": first}, now, soonest)
    return translation.schedule, UTC_ZONE, (*translation.notes, *past_notes)


def _translate(
    fields: Mapping[str, Any], now: datetime, soonest: datetime | None = None
) -> tuple[Translation, tuple[Note, ...]]:
    """Translate to a schedule. A first time in the past is due at once, in POST and PUT alike; cron continues from now.

    A new `once` in the past is due at creation anyway and keeps its time.
    """
    given = _read_first_time(fields)
    translation = fun_ai_station.read(_dialect_fields(fields))
    if given is None or given > now:
        return translation, ()
    if soonest is not None or not isinstance(translation.schedule, Once):
        translation = fun_ai_station.read(_dialect_fields({**fields, "next_run_at": soonest or now}))
    return translation, () if isinstance(translation.schedule, Cron) else (PAST_RUNS_AT_ONCE,)


def _edited_when(fields: Mapping[str, Any], facts: Facts) -> ScheduleFields:
    given = {name: fields[name] for name in WHEN_FIELDS if fields.get(name) is not None}
    if isinstance(given.get("schedule_expr"), int) and not isinstance(given["schedule_expr"], bool):
        given["schedule_expr"] = str(given["schedule_expr"])
    if isinstance(given.get("schedule_type"), str):
        given["schedule_type"] = given["schedule_type"].lower()
    # An empty type or zone is ignored; an empty expression means every minute.
    changed = {name: value for name, value in given.items() if value != "" or name == "schedule_expr"}
    before = schedule_fields_of(facts.task.schedule)
    after = before._replace(**changed)
    return after._replace(schedule_expr="") if after.schedule_type == "once" else after


def _current_time(facts: Facts, now: datetime) -> datetime | None:
    schedule = facts.task.schedule
    return schedule.at if isinstance(schedule, Once) and schedule.at.tzinfo is not None else next_run(facts, now)


def _read_first_time(fields: Mapping[str, Any]) -> datetime | None:
    """Read `next_run_at`; without an offset it is UTC, as everywhere in this dialect."""
    given = Fields.of(fun_ai_station.SYSTEM, fields, ("next_run_at",)).time("next_run_at")
    return given.replace(tzinfo=UTC) if given is not None and given.tzinfo is None else given


def _read_payload(value: object) -> tuple[dict[str, Any], tuple[Note, ...]]:
    payload = read_payload(value)
    accepted = {name: each for name, each in payload.items() if name not in _ORCHESTRATOR_FIELDS}
    return accepted, () if len(accepted) == len(payload) else (KEYS_DROPPED,)


def _read_name(value: object) -> str:
    if not isinstance(value, str):
        raise refuse("compat_bad_field", name="name", value=type(value).__name__, wanted="a text")
    return value


def _read_enabled(fields: Mapping[str, Any]) -> bool | None:
    return Fields.of(fun_ai_station.SYSTEM, fields, ("enabled",)).flag("enabled")
