"""OpenClaw schedule parser: `at` (an instant), `every` (milliseconds on a grid), `cron` (with a zone and a stagger)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from ..schedule import Cron, Every, Once, Schedule
from ..schedule.canonical import show_moment
from ..schedule.compat import Note
from ..schedule.compat.fields import moment_of, whole_number, within
from ..schedule.compat.moments import show_local
from ..schedule.compat.notes import note as compat_note
from ..schedule.every import LONGEST
from ..schedule.value import LONGEST_JITTER
from .fields import Fields, bad_field, instant_of, needed_text, optional_mapping, optional_text

EVENT_KINDS: Final = ("on-exit", "stream")
_MILLISECOND: Final = timedelta(milliseconds=1)


def read_schedule(job: Fields, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    fields = optional_mapping(job, "schedule")
    kind = fields.get("kind")
    match kind:
        case "at":
            return _read_at(fields, zone)
        case "every":
            return _read_every(fields, job), ()
        case "cron":
            return _read_cron(fields, zone), ()
        case _:
            raise bad_field("schedule.kind", kind, "at, every or cron")


def _read_at(fields: Fields, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """ISO text, or milliseconds as in older versions; OpenClaw takes a time without an offset as UTC."""
    value = fields.get("at", fields.get("atMs"))
    if whole_number(value) is not None:
        return Once(instant_of("schedule.at", value)), ()
    moment = moment_of("schedule.at", value)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - the zone is decided below
    if moment.tzinfo is not None:
        return Once(moment), ()
    at = moment.replace(tzinfo=UTC)
    assumed_utc = compat_note("compat_naive_is_utc", instant=show_moment(at), local=show_local(at, zone), zone=zone)
    return Once(at), (assumed_utc,)


def _read_every(fields: Fields, job: Fields) -> Schedule:
    interval = within("schedule.everyMs", fields.get("everyMs"), 1, LONGEST // _MILLISECOND) * _MILLISECOND
    anchor = fields.get("anchorMs", job.get("createdAtMs"))
    return Every(interval, start=None if anchor is None else instant_of("schedule.anchorMs", anchor))


def _read_cron(fields: Fields, zone: str) -> Schedule:
    max_stagger = LONGEST_JITTER // _MILLISECOND
    stagger = within("schedule.staggerMs", fields.get("staggerMs") or 0, 0, max_stagger) * _MILLISECOND
    cron_zone = optional_text(fields, "tz") or zone
    return Cron(needed_text(fields, "expr"), zone=cron_zone, jitter=stagger or None)
