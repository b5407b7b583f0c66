"""Clock changes (DST) that affect a task within a forecast, and their effect on its schedule."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Final

from ..schedule import Once, Past, Schedule
from ..schedule.clock_changes import ClockChange, Effect, find_clock_changes
from ..schedule.instants import SECOND, to_datetime, to_instant, wall_reading
from ..schedule.value import last_instant
from ..schedule.warnings import make_warning
from ..schedule.zones import find_zone
from .report import ClockHit

_MOST: Final = 50
_SENTENCES: Final[dict[Effect, str]] = {
    "moved": "gap_moved",
    "shifted": "gap_shifted",
    "dropped": "gap_dropped",
    "flowing_gap": "gap_flowing",
    "first": "fold_first",
    "last": "fold_last",
    "both": "fold_both",
    "flowing_fold": "fold_flowing",
}


def clock_hits(schedule: Schedule, start: datetime, end: datetime) -> tuple[ClockHit, ...]:
    """Clock changes in (start, end] that some wall time of the schedule falls into."""
    if schedule.zone is None:
        return ()
    setting = schedule.setting()
    rule = schedule.wall_rule(setting) if isinstance(schedule, Once) else schedule.rule(setting, Past(start))
    first, last = to_instant(start) // SECOND, to_instant(end) // SECOND
    if schedule.end is not None:
        last = min(last, last_instant(schedule.end, find_zone(schedule.zone)) // SECOND)
    return tuple(_hit(change) for change in islice(find_clock_changes(rule, first, last), _MOST))


def _hit(change: ClockChange) -> ClockHit:
    code = _SENTENCES[change.effect]
    warning = make_warning(
        code,
        date=f"{wall_reading(change.wall):%Y-%m-%d}",
        before=_clock(change.before, change.wall),
        after=_clock(change.after, change.wall),
        wall=_clock(change.wall, change.wall),
        runs_at="" if change.runs_at is None else _clock(change.runs_at, change.wall),
    )
    at = to_datetime(change.instant * SECOND)
    return ClockHit(at, "gap" if code.startswith("gap") else "fold", change.effect, warning.sentences)


def _clock(wall: int, reference: int) -> str:
    """Format a time of day, with its date if that differs from the date of `reference`."""
    reading = wall_reading(wall)
    shape = "%H:%M:%S" if reading.second else "%H:%M"
    return f"{reading:{shape}}" if wall // 86_400 == reference // 86_400 else f"{reading:%Y-%m-%d {shape}}"
