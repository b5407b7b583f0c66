"""The zone of a foreign file, seen from its data: a next run that was planned there is an occurrence in that zone alone."""

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

_MOST: Final = 50
_SHOWN: Final = 5
_MICROSECOND: Final = timedelta(microseconds=1)
_AHEAD: Final = timedelta(days=15)
_LOOKS: Final = 50
"""Two years: zones that agree for so long are the same for a task."""
_AREAS: Final = ("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
_PREFERRED: Final = (
    *("UTC", "Asia/Shanghai", "Asia/Tokyo", "Asia/Kolkata", "Asia/Singapore", "Asia/Dubai", "Europe/London"),
    *("Europe/Berlin", "Europe/Athens", "Europe/Moscow", "America/New_York", "America/Chicago", "America/Denver"),
    *("America/Los_Angeles", "America/Sao_Paulo", "Australia/Sydney", "Pacific/Auckland", "Africa/Lagos"),
)
"""The names that people know best, of zones that are the same."""


class ZoneEvidence(NamedTuple):
    """`fires` are cron expressions, each with an instant that was planned for it; `is_needed`: some times name no zone."""

    fires: tuple[tuple[str, datetime], ...] = ()
    is_needed: bool = False


class SeenZone(NamedTuple):
    """`zone` counts for the file; `note` says where it comes from, None where somebody has said it."""

    zone: str
    note: Note | None = None


class Home(NamedTuple):
    """The zone of whoever imports. `said`: for this file, on the command line; `chosen`: in a setting or variable."""

    zone: str
    because: tuple[str, str] = ("", "")
    said: bool = False
    chosen: bool = False


def choose_zone(evidence: ZoneEvidence, home: Home, *, same_machine: bool = False) -> SeenZone:
    """The zone that was said, that the data show, or that was chosen for this machine; refused where none is certain.

    `same_machine`: such a file is always in the zone of the machine that it is on, as a crontab is.
    """
    fitting = fitting_zones(evidence.fires)
    if home.said:
        differs = bool(fitting) and not _fits(evidence.fires, home.zone)
        fits = ", ".join(_best_first(fitting)[:_SHOWN])
        return SeenZone(home.zone, note("import_zone_differs", zone=home.zone, fits=fits) if differs else None)
    if not evidence.is_needed:
        return SeenZone(home.zone)
    if fitting:
        if home.zone in fitting:
            return SeenZone(home.zone, note("import_zone_agrees", zone=home.zone))
        best = _best_first(fitting)
        if not _all_alike(best, evidence.fires[0][1]):
            raise refuse("import_zone_unclear", zones=", ".join(best[:_SHOWN]), first=best[0])
        return SeenZone(best[0], note("import_zone_seen", zone=best[0]))
    if not home.chosen and not same_machine:
        raise refuse("import_zone_unknown")
    return SeenZone(home.zone, note("import_zone_assumed", zone=home.zone, why=home.because))


def fitting_zones(fires: Sequence[tuple[str, datetime]]) -> list[str]:
    """Every zone in which all of these were planned; none where that says nothing, because they fit everywhere.

    What fits in no zone at all, such as a run that was put off, is no evidence.
    """
    zones = [name for name in zone_names() if name == "UTC" or name.partition("/")[0] in _AREAS]
    left = zones
    for expression, instant in dict.fromkeys(fires[:_MOST]):
        fitting = set(_zones_of_fire(expression, instant, left))
        if fitting:
            left = [name for name in left if name in fitting]
    return [] if len(left) == len(zones) else left


def _zones_of_fire(expression: str, instant: datetime, zones: Iterable[str]) -> Iterable[str]:
    """Zones with the same offset then plan alike: one of them is asked for all."""
    alike: dict[timedelta | None, list[str]] = defaultdict(list)
    for name in zones:
        alike[instant.astimezone(ZoneInfo(name)).utcoffset()].append(name)
    for names in alike.values():
        if _is_fire(expression, names[0], instant):
            yield from names


def _fits(fires: Sequence[tuple[str, datetime]], zone: str) -> bool:
    return any(_is_fire(expression, zone, instant) for expression, instant in fires)


def _is_fire(expression: str, zone: str, instant: datetime) -> bool:
    before = instant - _MICROSECOND
    try:
        return next(iter(iterate(Cron(expression, zone=zone), before, Past(anchor=before))), None) == instant
    except InvalidSchedule:
        return False


def _best_first(zones: Sequence[str]) -> list[str]:
    known = [name for name in _PREFERRED if name in zones]
    return known + sorted(set(zones) - set(known))


def _all_alike(zones: Sequence[str], since: datetime) -> bool:
    looks = [since + _AHEAD * number for number in range(_LOOKS)]
    offsets = {tuple(at.astimezone(ZoneInfo(name)).utcoffset() for at in looks) for name in zones}
    return len(offsets) == 1
