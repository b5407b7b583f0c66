"""Time zone inference for imported files: a planned next run is an occurrence of its cron expression only in certain zones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from ..errors import InvalidSchedule
from ..schedule import Cron, Past, iterate
from ..schedule.compat import Note
from ..schedule.tzif import zone_names
from .notes import note
from .refusals import refuse

_MAX_FIRES: Final = 50
_MAX_SHOWN: Final = 5
_MICROSECOND: Final = timedelta(microseconds=1)
_COMPARISON_STEP: Final = timedelta(days=15)
_COMPARISONS: Final = 50
"""Two years of comparisons: zones with equal offsets for so long are the same for a task."""
_AREAS: Final = ("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
_PREFERRED: Final = (
    *("UTC", "Asia/Shanghai", "Asia/Tokyo", "Asia/Kolkata", "Asia/Singapore", "Asia/Dubai", "Europe/London"),
    *("Europe/Berlin", "Europe/Athens", "Europe/Moscow", "America/New_York", "America/Chicago", "America/Denver"),
    *("America/Los_Angeles", "America/Sao_Paulo", "Australia/Sydney", "Pacific/Auckland", "Africa/Lagos"),
)
"""The best-known name among zones that are the same."""


class ZoneEvidence(NamedTuple):
    """`fires` are cron expressions, each with an instant planned for it; `is_needed`: some times name no zone."""

    fires: tuple[tuple[str, datetime], ...] = ()
    is_needed: bool = False


class ZoneChoice(NamedTuple):
    """The zone used for a file; `note` says where it comes from, None where the caller named it."""

    zone: str
    note: Note | None = None


class AssumedZone(NamedTuple):
    """The caller's default zone: given for this file on the command line, or configured in a setting or variable."""

    zone: str
    reason: tuple[str, str] = ("", "")
    is_explicit: bool = False
    is_configured: bool = False


def choose_zone(evidence: ZoneEvidence, home: AssumedZone, *, same_machine: bool = False) -> ZoneChoice:
    """Choose the zone named by the caller, else shown by the data, else configured; refuse where none is certain.

    `same_machine`: such a file (a crontab) is always in the zone of the machine that it is on.
    """
    fitting = find_fitting_zones(evidence.fires)
    if home.is_explicit:
        differs = bool(fitting) and not _fits_zone(evidence.fires, home.zone)
        fits = ", ".join(_sort_by_preference(fitting)[:_MAX_SHOWN])
        return ZoneChoice(home.zone, note("import_zone_differs", zone=home.zone, fits=fits) if differs else None)
    if not evidence.is_needed:
        return ZoneChoice(home.zone)
    if fitting:
        if home.zone in fitting:
            return ZoneChoice(home.zone, note("import_zone_agrees", zone=home.zone))
        best = _sort_by_preference(fitting)
        if not _have_equal_offsets(best, evidence.fires[0][1]):
            raise refuse("import_zone_unclear", zones=", ".join(best[:_MAX_SHOWN]), first=best[0])
        return ZoneChoice(best[0], note("import_zone_seen", zone=best[0]))
    if not home.is_configured and not same_machine:
        raise refuse("import_zone_unknown")
    return ZoneChoice(home.zone, note("import_zone_assumed", zone=home.zone, why=home.reason))


def find_fitting_zones(fires: Sequence[tuple[str, datetime]]) -> list[str]:
    """Every zone in which all fires are occurrences; empty where they fit all zones and so show nothing.

    A fire that fits no zone, such as a postponed run, is ignored.
    """
    zones = [name for name in zone_names() if name == "UTC" or name.partition("/")[0] in _AREAS]
    remaining = zones
    for expression, instant in dict.fromkeys(fires[:_MAX_FIRES]):
        fitting = set(_zones_of_fire(expression, instant, remaining))
        if fitting:
            remaining = [name for name in remaining if name in fitting]
    return [] if len(remaining) == len(zones) else remaining


def _zones_of_fire(expression: str, instant: datetime, zones: Iterable[str]) -> Iterable[str]:
    """The zones in which the fire is an occurrence; zones with the same offset at that instant are evaluated once."""
    by_offset: dict[timedelta | None, list[str]] = defaultdict(list)
    for name in zones:
        by_offset[instant.astimezone(ZoneInfo(name)).utcoffset()].append(name)
    for names in by_offset.values():
        if _is_fire(expression, names[0], instant):
            yield from names


def _fits_zone(fires: Sequence[tuple[str, datetime]], zone: str) -> bool:
    return any(_is_fire(expression, zone, instant) for expression, instant in fires)


def _is_fire(expression: str, zone: str, instant: datetime) -> bool:
    before = instant - _MICROSECOND
    try:
        return next(iter(iterate(Cron(expression, zone=zone), before, Past(anchor=before))), None) == instant
    except InvalidSchedule:
        return False


def _sort_by_preference(zones: Sequence[str]) -> list[str]:
    known = [name for name in _PREFERRED if name in zones]
    return known + sorted(set(zones) - set(known))


def _have_equal_offsets(zones: Sequence[str], since: datetime) -> bool:
    instants = [since + _COMPARISON_STEP * number for number in range(_COMPARISONS)]
    offsets = {tuple(at.astimezone(ZoneInfo(name)).utcoffset() for at in instants) for name in zones}
    return len(offsets) == 1
