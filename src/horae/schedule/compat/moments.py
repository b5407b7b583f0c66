"""One-time moments of other systems: read with or without an offset, with notes that show how each was understood."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ..canonical import format_moment
from ..evaluate import next as next_of
from ..instants import SECOND, to_datetime, to_instant, wall_reading, wall_seconds
from ..once import Once
from ..refusals import refuse
from ..value import Past, Schedule, first_instant
from ..zones import find_zone
from .translation import Note
from .translation_notes import note

_MICROSECOND: Final = timedelta(microseconds=1)


def read_once(at: datetime, zone: str) -> tuple[Once, tuple[Note, ...]]:
    """Read a moment: without an offset it is wall time in `zone`, with one an instant that needs no zone."""
    if at.tzinfo is not None:
        once = Once(at)
        return once, (note("compat_once_instant", instant=format_moment(at), local=format_local(at, zone), zone=zone),)
    once = Once(at, zone=zone)
    instants = once.instants(once.setting())
    if not instants:
        raise refuse("never", expression=format_moment(at))
    instant = format_moment(to_datetime(instants[0]))
    echo = note("compat_once_local", local=format_wall_time(at), zone=zone, instant=instant)
    return once, (echo, *_clock_change_notes(at, zone, instant))


def _clock_change_notes(at: datetime, zone: str, instant: str) -> tuple[Note, ...]:
    readings = len(find_zone(zone).instants(wall_seconds(at)))
    if readings == 1:
        return ()
    return (
        note("compat_gap" if readings == 0 else "compat_fold", local=format_wall_time(at), zone=zone, instant=instant),
    )


def first_run_notes(schedule: Schedule, zone: str) -> tuple[Note, ...]:
    """Notes where the first run moves: other systems run at the start time, Horae at the first occurrence from it on."""
    if schedule.start is None:
        return ()
    requested = to_datetime(first_instant(schedule.start, find_zone(zone)))
    first = next_of(schedule, requested - _MICROSECOND, Past(anchor=requested))
    if first is None:
        return (note("compat_never_runs", given=format_moment(requested)),)
    if first == requested:
        return ()
    return (note("compat_first_run_moved", given=format_moment(requested), first=format_moment(first)),)


def to_local_time(moment: datetime, zone: str) -> datetime:
    """The wall time of a zone at an instant; wall time is returned as it is."""
    if moment.tzinfo is None:
        return moment
    instant = to_instant(moment)
    reading = wall_reading(instant // SECOND + find_zone(zone).offset(instant // SECOND))
    return reading.replace(microsecond=instant % SECOND)


def is_second_pass(moment: datetime, zone: str) -> bool:
    """Whether an instant lies in the second pass of an hour that a clock change repeats."""
    if moment.tzinfo is None:
        return False
    shown_at = find_zone(zone).instants(wall_seconds(to_local_time(moment, zone)))
    return len(shown_at) > 1 and to_instant(moment) // SECOND == shown_at[-1]


def format_local(moment: datetime, zone: str) -> str:
    return format_wall_time(to_local_time(moment, zone))


def format_wall_time(reading: datetime) -> str:
    return reading.isoformat(" ")
