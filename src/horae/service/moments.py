"""The moment that somebody asks about: an instant, a time of day, a day; in the zone of the task that it is about."""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from ..errors import InvalidSchedule, InvalidTask
from ..model.refusals import refuse
from ..schedule import Once, Past
from ..schedule import next as next_of
from ..schedule.canonical import read_moment
from ..schedule.durations import exact
from ..schedule.instants import to_datetime
from ..schedule.preview import fires_in
from ..schedule.text import read
from ..schedule.value import first_instant, is_wall, last_instant
from ..schedule.zones import find_zone

_DAYS: Final = {"today": 0, "yesterday": 1, "tomorrow": -1, "今天": 0, "昨天": 1, "前天": 2, "明天": -1, "后天": -2}
"""So many days ago."""
_NOW: Final = ("now", "现在")
_AGO: Final = re.compile(r"(.+?)\s+ago|(.+?)\s*(?:之前|以前|前)")
_UNIT: Final = r"(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
_LENGTH: Final = re.compile(rf"(?:\d{{1,9}}(?:\.\d{{1,3}})?{_UNIT})+", re.ASCII)
_CHINESE_UNITS: Final = (
    ("个", ""),
    ("毫秒", "ms"),
    ("分钟", "m"),
    ("小时", "h"),
    ("星期", "w"),
    *zip("秒分天周", "smdw", strict=True),
)
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_LONGEST: Final = 200
"""Characters: what is longer is no moment, and to find that out would take as long as somebody likes."""


class Stretch(NamedTuple):
    """From and to, both included; for an instant they are the same."""

    first: datetime
    last: datetime

    @property
    def exact(self) -> bool:
        return self.first == self.last


def asked_stretch(text: str | datetime, zone: str, now: datetime) -> Stretch:
    """`2026-11-15T02:00Z`, `2026-11-15 02:00`, `2026-11-15`, `02:00`, `yesterday`, `昨天 2:00`, `now`, `5m ago`."""
    if isinstance(text, datetime):
        if text.tzinfo is None:
            raise refuse("naive_instant", value=text)
        return Stretch(text.astimezone(UTC), text.astimezone(UTC))
    try:
        found = _read(text, zone, now) if len(text) <= _LONGEST else None
    except OverflowError:
        found = None
    if found is None or found.first.year == MINYEAR or found.last.year == MAXYEAR:
        # Beyond the ends of the calendar nothing can be counted.
        raise refuse("unclear_moment", value=text)
    return found


def coming_moment(text: str, zone: str, now: datetime) -> datetime:
    """A moment that is still to come, as somebody says it: `2026-12-01`, `tomorrow at 9am`, `in 2h`, `明天早上9点`."""
    try:
        return asked_stretch(text, zone, now).first
    except InvalidTask as refusal:
        try:
            schedule = read(text, zone=zone, now=now).schedule
        except InvalidSchedule:
            raise refusal from None
        found = next_of(schedule, now, Past(anchor=now)) if isinstance(schedule, Once) else None
        if found is None:
            raise refusal from None
        return found


def _read(text: str, zone: str, now: datetime) -> Stretch:
    said = text.strip().lower()
    if said in _NOW:
        return Stretch(now, now)
    day, _, rest = said.partition(" ")
    if day in _DAYS:
        today = fires_in(zone, [now])[0].local.date()
        return _on(today - timedelta(days=_DAYS[day]), rest.strip(), zone, text)
    if _TIME.fullmatch(said):
        return _on(fires_in(zone, [now])[0].local.date(), said, zone, text)
    if ago := _AGO.fullmatch(said):
        at = now - _length(ago.group(1) or ago.group(2), text)
        return Stretch(at, at)
    moment = read_moment(text.strip())
    if moment is None:
        raise refuse("unclear_moment", value=text)
    if not isinstance(moment, datetime):
        return _on(moment, "", zone, text)
    found = _instant(moment, zone)
    return Stretch(found, found)


def _length(said: str, text: str) -> timedelta:
    """`5m`, `1 h 30 m`, `2 hours`, `5分钟`."""
    for chinese, short in _CHINESE_UNITS:
        said = said.replace(chinese, short)
    said = "".join(said.split())
    try:
        if _LENGTH.fullmatch(said):
            return exact(said, 0)
    except InvalidSchedule:
        pass
    raise refuse("unclear_moment", value=text)


def _on(day: date, clock: str, zone: str, text: str) -> Stretch:
    if not clock:
        return Stretch(_instant(day, zone), _last_instant(day, zone))
    match = _TIME.fullmatch(clock)
    try:
        hour, minute, second = (int(part or 0) for part in match.groups()) if match else (24, 0, 0)
        found = time(hour, minute, second)
    except ValueError:
        found = None
    if found is None:
        raise refuse("unclear_moment", value=text)
    at = _instant(datetime.combine(day, found), zone)
    return Stretch(at, at)


def _instant(moment: date | datetime, zone: str) -> datetime:
    return to_datetime(first_instant(moment, find_zone(zone if is_wall(moment) else "UTC"))).astimezone(UTC)


def _last_instant(day: date, zone: str) -> datetime:
    return to_datetime(last_instant(day, find_zone(zone))).astimezone(UTC)
