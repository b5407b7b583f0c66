"""OpenClaw schedule parser: `at` (an instant), `every` (milliseconds on a grid), `cron` (with a zone and a stagger)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from ..schedule import Cron, Every, Once, Schedule
from ..schedule.canonical import format_moment
from ..schedule.compat import Note
from ..schedule.compat.fields import parse_integer, parse_moment, require_in_range
from ..schedule.compat.moments import format_local
from ..schedule.compat.translation_notes import note as compat_note
from ..schedule.every import MAX_INTERVAL
from ..schedule.value import MAX_JITTER
from .fields import Fields, read_instant, read_optional_mapping, read_optional_text, read_required_text, refuse_field

EVENT_KINDS: Final = ("on-exit", "stream")
_MILLISECOND: Final = timedelta(milliseconds=1)


def read_schedule(job: Fields, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    fields = read_optional_mapping(job, "schedule")
    kind = fields.get("kind")
    match kind:
        case "at":
            return _read_at(fields, zone)
        case "every":
            return _read_every(fields, job), ()
        case "cron":
            return _read_cron(fields, zone), ()
        case _:
            raise refuse_field("schedule.kind", kind, "at, every or cron")


def _read_at(fields: Fields, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """ISO text, or milliseconds as in older versions; OpenClaw takes a time without an offset as UTC."""
    value = fields.get("at", fields.get("atMs"))
    if parse_integer(value) is not None:
        return Once(read_instant("schedule.at", value)), ()
    moment = parse_moment("schedule.at", value)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - the zone is decided below
    if moment.tzinfo is not None:
        return Once(moment), ()
    at = moment.replace(tzinfo=UTC)
    assumed_utc = compat_note("compat_naive_is_utc", instant=format_moment(at), local=format_local(at, zone), zone=zone)
    return Once(at), (assumed_utc,)


def _read_every(fields: Fields, job: Fields) -> Schedule:
    interval = (
        require_in_range("schedule.everyMs", fields.get("everyMs"), 1, MAX_INTERVAL // _MILLISECOND) * _MILLISECOND
    )
    anchor = fields.get("anchorMs", job.get("createdAtMs"))
    return Every(interval, start=None if anchor is None else read_instant("schedule.anchorMs", anchor))


def _read_cron(fields: Fields, zone: str) -> Schedule:
    max_stagger = MAX_JITTER // _MILLISECOND
    stagger = require_in_range("schedule.staggerMs", fields.get("staggerMs") or 0, 0, max_stagger) * _MILLISECOND
    cron_zone = read_optional_text(fields, "tz") or zone
    return Cron(read_required_text(fields, "expr"), zone=cron_zone, jitter=stagger or None)
