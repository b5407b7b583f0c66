"""NanoClaw dialect: `schedule_type` cron, interval (milliseconds) or once, all in the zone of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from ..canonical import format_moment
from ..cron import Cron
from ..every import MAX_INTERVAL, Every
from ..once import Once
from ..refusals import refuse
from ..zones import find_zone
from .fields import Fields, format_value, parse_integer
from .moments import read_once
from .render import refuse_kind, write_verified
from .translation import Translation

SYSTEM: Final = "NanoClaw"
_KEYS: Final = ("schedule_type", "schedule_value")
_KINDS: Final = ("cron", "interval", "once")
_MILLISECOND: Final = timedelta(milliseconds=1)


def read(mapping: Mapping[str, Any], *, zone: str) -> Translation:
    """Read a schedule; `zone` is NanoClaw's TIMEZONE. An interval counts from the end of a run; no policy is implied."""
    fields = Fields.of(SYSTEM, mapping, _KEYS)
    find_zone(zone)
    kind = fields.choice("schedule_type", _KINDS)
    match kind:
        case "cron":
            translation = Translation(Cron(fields.required_text("schedule_value"), zone=zone))
        case "interval":
            translation = Translation(Every(_read_interval(fields.require("schedule_value")), "end"))
        case _:
            translation = _read_once_schedule(fields, zone)
    return fields.remember(translation, zone)


def write(translation: Translation, *, zone: str) -> dict[str, Any]:
    """Write a schedule; refuses what NanoClaw cannot express: another zone, a window, a calendar, any policy."""
    return write_verified(SYSTEM, translation, zone, _write_schedule, partial(read, zone=zone))


def _read_interval(value: object) -> timedelta:
    number = parse_integer(value)
    if number is None or not 0 < number <= MAX_INTERVAL // _MILLISECOND:
        raise refuse("compat_bad_milliseconds", key="schedule_value", value=format_value(value))
    return number * _MILLISECOND


def _read_once_schedule(fields: Fields, zone: str) -> Translation:
    fields.required_text("schedule_value")
    schedule, notes = read_once(fields.required_time("schedule_value"), zone)
    return Translation(schedule, notes=notes)


def _write_schedule(translation: Translation) -> dict[str, Any]:
    match translation.schedule:
        case Cron(expression=expression):
            return {"schedule_type": "cron", "schedule_value": expression}
        case Every(interval=interval):
            return {"schedule_type": "interval", "schedule_value": str(interval // _MILLISECOND)}
        case Once(at=at):
            return {"schedule_type": "once", "schedule_value": format_moment(at)}
        case _:
            raise refuse_kind(SYSTEM, translation, "cron", "every", "once")
