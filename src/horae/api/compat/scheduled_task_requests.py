"""What clients of `/scheduled-tasks` ask for, read into wishes and edits. Pure: JSON in, values out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from ...model.change import Facts
from ...model.refusals import refuse as refuse_task
from ...schedule import Cron, Once
from ...schedule.compat import Note, Translation, fun_ai_station
from ...schedule.compat.fields import Fields
from ...service.tasks.edits import KEEP, Edits, Kept
from ...service.tasks.task_request import Options, When, Wish
from ...wire.fields import check_fields
from ...wire.policies import read_policies
from .labels import SURFACE, UPDATED, labelled
from .notices import KEYS_DROPPED, PAST_RUNS_AT_ONCE
from .payloads import about_of, kept_payload, read_payload
from .refusals import refuse
from .scheduled_task_json import UTC_ZONE, Words, next_run, words_of
from .targets import orchestrator_target

NAME: Final = "scheduled-tasks"
WHEN: Final = ("schedule_type", "schedule_expr", "timezone")
FIELDS: Final = ("name", "enabled", *WHEN, "payload", "next_run_at")
TOLD: Final = ("id", "user_id", "last_run_at", "locked_by", "locked_until", "created_at", "updated_at", "warnings")
"""What clients have from an earlier answer and may send back; nothing of it changes anything."""
UNNAMED: Final = "Scheduled Task"
_THEIRS_TO_CHOOSE: Final = ("agent", "forced_agent", "items")
_SECOND: Final = timedelta(seconds=1)


class Asked(NamedTuple):
    wish: Wish
    enabled: bool
    notes: tuple[Note, ...] = ()


class Changes(NamedTuple):
    """`enabled` None: as it is."""

    edits: Edits
    enabled: bool | None = None
    notes: tuple[Note, ...] = ()


def read_new(body: object, orchestrator: str | None, now: datetime) -> Asked:
    said = _said(body)
    if said.get("name") is None:
        raise refuse_task("missing_field", name="name")
    translation, past = _translated(said, now)
    payload, dropped = _payload(said.get("payload"))
    wish = Wish(
        name=_name(said["name"]) or UNNAMED,
        when=translation.schedule,
        target=orchestrator_target(orchestrator),
        payload=kept_payload(payload),
        zone=UTC_ZONE,
        labels={SURFACE: NAME, UPDATED: now.isoformat()},
        options=_options(translation),
    )
    return Asked(wish, "paused" not in translation.policies, (*translation.notes, *past, *dropped))


def read_changes(body: object, facts: Facts, now: datetime) -> Changes:
    """Null, like what is absent, changes nothing."""
    said = _said(body)
    task = facts.task
    when, zone, notes = _when(said, facts, now)
    payload: Kept[str] = KEEP
    if said.get("payload") is not None:
        chosen, dropped = _payload(said["payload"])
        payload, notes = kept_payload(chosen, about_of(task.payload)), (*notes, *dropped)
    named = "" if said.get("name") is None else _name(said["name"])
    edits = Edits(
        name=named or KEEP,
        when=when,
        zone=zone,
        payload=payload,
        labels=labelled(task, {UPDATED: now.isoformat()}),
    )
    return Changes(edits, _flag(said), notes)


def _said(body: object) -> Mapping[str, Any]:
    said = check_fields("scheduled task", body, (*FIELDS, *TOLD))
    return {name: value.strip() if isinstance(value, str) else value for name, value in said.items()}


def _mapping(said: Mapping[str, Any]) -> dict[str, Any]:
    """As the dialect reads it: types in any case, and no zone is UTC, as the document has it."""
    kind = said.get("schedule_type")
    return {
        **said,
        "schedule_type": kind.lower() or None if isinstance(kind, str) else kind,
        "schedule_expr": "" if said.get("schedule_expr") is None else said["schedule_expr"],
        "timezone": said.get("timezone") or UTC_ZONE,
    }


def _when(said: Mapping[str, Any], facts: Facts, now: datetime) -> tuple[Kept[When], str | None, tuple[Note, ...]]:
    """What is sent back as it was shown is no edit. A new schedule counts from now, whatever the old one had ahead."""
    before, after = words_of(facts.task.schedule), _words_after(said, facts)
    given = _first_time(said)
    first = None if given is None or given == next_run(facts, now) else given
    if after == before and first is None:
        return KEEP, None, ()
    if first is None and before.schedule_type not in ("cron", "interval", "once") and after[:2] == before[:2]:
        # They have no words for this one; in another zone it is still the same.
        return KEEP, after.timezone, ()
    if first is None and after.schedule_type == before.schedule_type == "once":
        first = _same_moment(facts, now)
    # An edit never fires at or before its own instant: the soonest is the next whole second.
    soonest = now.replace(microsecond=0) + _SECOND
    translation, past = _translated({**after._asdict(), "next_run_at": first}, now, soonest)
    return translation.schedule, UTC_ZONE, (*translation.notes, *past)


def _translated(
    said: Mapping[str, Any], now: datetime, soonest: datetime | None = None
) -> tuple[Translation, tuple[Note, ...]]:
    """A first time that has passed is due at once, in POST and PUT alike; cron goes on from now.

    A new `once` in the past is due at creation by itself and keeps its time.
    """
    given = _first_time(said)
    translation = fun_ai_station.read(_mapping(said))
    if given is None or given > now:
        return translation, ()
    if soonest is not None or not isinstance(translation.schedule, Once):
        translation = fun_ai_station.read(_mapping({**said, "next_run_at": soonest or now}))
    return translation, () if isinstance(translation.schedule, Cron) else (PAST_RUNS_AT_ONCE,)


def _words_after(said: Mapping[str, Any], facts: Facts) -> Words:
    given = {name: said[name] for name in WHEN if said.get(name) is not None}
    if isinstance(given.get("schedule_expr"), int) and not isinstance(given["schedule_expr"], bool):
        given["schedule_expr"] = str(given["schedule_expr"])
    if isinstance(given.get("schedule_type"), str):
        given["schedule_type"] = given["schedule_type"].lower()
    # An empty type or zone says nothing; an empty expression is every minute.
    kept = {name: value for name, value in given.items() if value != "" or name == "schedule_expr"}
    before = words_of(facts.task.schedule)
    after = before._replace(**kept)
    return after._replace(schedule_expr="") if after.schedule_type == "once" else after


def _same_moment(facts: Facts, now: datetime) -> datetime | None:
    schedule = facts.task.schedule
    return schedule.at if isinstance(schedule, Once) and schedule.at.tzinfo is not None else next_run(facts, now)


def _first_time(said: Mapping[str, Any]) -> datetime | None:
    """Without an offset it is UTC, as everywhere in this dialect."""
    given = Fields.of(fun_ai_station.SYSTEM, said, ("next_run_at",)).time("next_run_at")
    return given.replace(tzinfo=UTC) if given is not None and given.tzinfo is None else given


def _options(translation: Translation) -> Options:
    return read_policies({name: value for name, value in translation.policies.items() if name != "paused"})


def _payload(value: object) -> tuple[dict[str, Any], tuple[Note, ...]]:
    payload = read_payload(value)
    kept = {name: each for name, each in payload.items() if name not in _THEIRS_TO_CHOOSE}
    return kept, () if len(kept) == len(payload) else (KEYS_DROPPED,)


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise refuse("compat_bad_field", name="name", value=type(value).__name__, wanted="a text")
    return value


def _flag(said: Mapping[str, Any]) -> bool | None:
    return Fields.of(fun_ai_station.SYSTEM, said, ("enabled",)).flag("enabled")
