"""fun-ai-station dialect: `schedule_type` cron, interval (seconds) or once, a `timezone`, and a `next_run_at` in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from ..canonical import format_moment
from ..cron import Cron
from ..every import MAX_INTERVAL, Every
from ..once import Once
from ..refusals import refuse
from ..value import Schedule
from ..zones import find_zone
from .fields import Fields, format_value, parse_integer
from .moments import first_run_notes, format_local
from .render import format_instant, refuse_kind, write_verified
from .translation import Note, Translation
from .translation_notes import note

SYSTEM: Final = "fun-ai-station"
MIN_INTERVAL_SECONDS: Final = 10
FAILURE_POLICIES: Final[Mapping[str, Any]] = {
    "retry": {
        "attempts": None,
        "backoff": "PT1M",
        "factor": 1,
        "max": "PT1M",
        "jitter": "none",
        "superseded_by_next": False,
    },
    "give_up_after": None,
}
"""fun-ai-station retries a failure after exactly a minute, without limit, whatever the interval of the task is."""
_KEYS: Final = ("schedule_type", "schedule_expr", "timezone", "next_run_at", "enabled")
_KINDS: Final = ("cron", "interval", "once")
_SECOND: Final = timedelta(seconds=1)
_FALLBACK_SECONDS: Final = 60
_FALLBACK_EXPRESSION: Final = "* * * * *"


def read(mapping: Mapping[str, Any], *, zone: str = "UTC", minimum: int = MIN_INTERVAL_SECONDS) -> Translation:
    """Read a schedule; `zone` is the default for cron; an interval below `minimum` (a quota) is only noted."""
    fields = Fields.of(SYSTEM, mapping, _KEYS)
    find_zone(zone)
    kind = "cron" if fields.get("schedule_type") is None else fields.choice("schedule_type", _KINDS)
    own_zone = fields.text("timezone") or None
    match kind:
        case "cron":
            schedule, notes = _make_cron(fields, own_zone, zone)
        case "interval":
            schedule, notes = _make_interval(fields, own_zone, minimum)
        case _:
            schedule, notes = _make_once(fields, own_zone, zone)
    return fields.remember(Translation(schedule, _policies(fields), notes), zone)


def write(translation: Translation, *, zone: str = "UTC") -> dict[str, Any]:
    """Write a schedule; refuses what fun-ai-station cannot express: a grid, a calendar, an end, other retries than its own."""
    return write_verified(SYSTEM, translation, zone, _write_schedule, partial(read, zone=zone))


def _make_cron(fields: Fields, own_zone: str | None, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    expression = fields.text("schedule_expr") or ""
    is_empty = not expression.strip()
    schedule = Cron(_FALLBACK_EXPRESSION if is_empty else expression, zone=own_zone or zone, start=_read_start(fields))
    notes = [note("compat_cron_default")] if is_empty else []
    if own_zone is None:
        notes.append(note("compat_zone_assumed", zone=zone))
    return schedule, (*notes, *first_run_notes(schedule, zone))


def _make_interval(fields: Fields, own_zone: str | None, minimum: int) -> tuple[Schedule, tuple[Note, ...]]:
    value = fields.require("schedule_expr")
    seconds = parse_integer(value)
    if seconds is None or seconds > MAX_INTERVAL // _SECOND:
        raise refuse("compat_bad_seconds", key="schedule_expr", value=format_value(value))
    notes: tuple[Note, ...] = ()
    if seconds <= 0:
        notes = (note("compat_interval_default", value=format_value(seconds)),)
        seconds = _FALLBACK_SECONDS
    elif seconds < minimum:
        notes = (note("compat_below_minimum", value=seconds, minimum=minimum),)
    return Every(seconds * _SECOND, "end", zone=own_zone, start=_read_start(fields)), notes


def _make_once(fields: Fields, own_zone: str | None, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    fields.text("schedule_expr")
    next_run = fields.required_time("next_run_at")
    at = _as_utc(next_run)
    code = "compat_naive_is_utc" if next_run.tzinfo is None else "compat_once_instant"
    shown_in = own_zone or zone
    schedule = Once(at, zone=own_zone)
    return schedule, (note(code, instant=format_moment(at), local=format_local(at, shown_in), zone=shown_in),)


def _read_start(fields: Fields) -> datetime | None:
    """The first time that the caller chose; later ones follow the schedule."""
    next_run = fields.time("next_run_at")
    return None if next_run is None else _as_utc(next_run)


def _as_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _policies(fields: Fields) -> dict[str, Any]:
    policies = dict(FAILURE_POLICIES)
    if fields.flag("enabled") is False:
        policies["paused"] = {"counting": False}
    return policies


def _write_schedule(translation: Translation) -> dict[str, Any]:
    schedule = translation.schedule
    first = schedule.start
    mapping: dict[str, Any]
    match schedule:
        case Cron(expression=expression):
            mapping = {"schedule_type": "cron", "schedule_expr": expression}
        case Every(interval=interval):
            mapping = {"schedule_type": "interval", "schedule_expr": str(interval // _SECOND)}
        case Once(at=at):
            mapping = {"schedule_type": "once", "next_run_at": format_instant(SYSTEM, "at", at)}
        case _:
            raise refuse_kind(SYSTEM, translation, "cron", "every", "once")
    if schedule.zone is not None:
        mapping["timezone"] = schedule.zone
    if first is not None and not isinstance(schedule, Once):
        mapping["next_run_at"] = format_instant(SYSTEM, "start", first)
    return mapping | ({"enabled": False} if "paused" in translation.policies else {})
