"""A single moment, with a zone suffix or without: understood either way, and told back so that nobody is surprised."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ..canonical import show_moment
from ..evaluate import next as next_of
from ..instants import SECOND, to_datetime, to_instant, wall_reading, wall_seconds
from ..once import Once
from ..refusals import refuse
from ..value import Past, Schedule, first_instant
from ..zones import find_zone
from .notes import note
from .translation import Note

_MICROSECOND: Final = timedelta(microseconds=1)


def read_once(at: datetime, zone: str) -> tuple[Once, tuple[Note, ...]]:
    """Without an offset, wall time in `zone`; with one, that instant, whose zone is nobody's business."""
    if at.tzinfo is not None:
        once = Once(at)
        return once, (note("compat_once_instant", instant=show_moment(at), local=show_local(at, zone), zone=zone),)
    once = Once(at, zone=zone)
    found = once.instants(once.setting())
    if not found:
        raise refuse("never", expression=show_moment(at))
    shown = show_moment(to_datetime(found[0]))
    echo = note("compat_once_local", local=show_wall(at), zone=zone, instant=shown)
    return once, (echo, *_clock_change(at, zone, shown))


def _clock_change(at: datetime, zone: str, shown: str) -> tuple[Note, ...]:
    readings = len(find_zone(zone).instants(wall_seconds(at)))
    if readings == 1:
        return ()
    return (note("compat_gap" if readings == 0 else "compat_fold", local=show_wall(at), zone=zone, instant=shown),)


def first_run_notes(schedule: Schedule, zone: str) -> tuple[Note, ...]:
    """Elsewhere the first time is run whatever the rule says; here it has to be one of the rule's own times."""
    if schedule.start is None:
        return ()
    asked = to_datetime(first_instant(schedule.start, find_zone(zone)))
    first = next_of(schedule, asked - _MICROSECOND, Past(anchor=asked))
    if first is None:
        return (note("compat_never_runs", given=show_moment(asked)),)
    if first == asked:
        return ()
    return (note("compat_first_run_moved", given=show_moment(asked), first=show_moment(first)),)


def local_time(moment: datetime, zone: str) -> datetime:
    """What the wall clock of a zone shows at an instant; wall time stays as it is."""
    if moment.tzinfo is None:
        return moment
    instant = to_instant(moment)
    reading = wall_reading(instant // SECOND + find_zone(zone).offset(instant // SECOND))
    return reading.replace(microsecond=instant % SECOND)


def is_second_pass(moment: datetime, zone: str) -> bool:
    """Whether an instant lies in the hour that a clock change shows twice, and there in the repetition."""
    if moment.tzinfo is None:
        return False
    shown_at = find_zone(zone).instants(wall_seconds(local_time(moment, zone)))
    return len(shown_at) > 1 and to_instant(moment) // SECOND == shown_at[-1]


def show_local(moment: datetime, zone: str) -> str:
    return show_wall(local_time(moment, zone))


def show_wall(reading: datetime) -> str:
    return reading.isoformat(" ")
