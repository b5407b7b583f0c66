"""Structured fields of a schedule: the common kinds as simple fields, which the server turns into text and back.

The text is what is stored. Fields write it, and are filled from it; what they do not show (window, repeats, jitter,
exclusions, clock changes) is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from ...choices import Language
from ...schedule import Calendar, Cron, Every, Once, Schedule, from_request, to_json
from ...schedule.canonical import WEEKDAY_NAMES, format_time
from ...schedule.describe import describe_schedule
from ...schedule.durations import format_short_duration
from ..refusals import refuse
from ..shape_form import Texts

PREFIX: Final = "schedule"
KINDS: Final = ("every", "daily", "weekly", "monthly", "once", "cron")
WEEKDAYS: Final = WEEKDAY_NAMES
_MODIFIERS: Final = ("zone", "start", "end", "repeat", "counting", "jitter", "gap", "fold", "exclude")
_TIMES: Final = re.compile(r"[\s,;、,]+")
_UNITS: Final = {"daily": "day", "weekly": "week", "monthly": "month"}
_SHORTEST_MONTH: Final = 28


def fields_of(schedule: Schedule) -> dict[str, str]:
    """Return the fields of a schedule by name, `schedule.kind` among them; only the kind, as empty text, where simple
    fields cannot express it."""
    match schedule:
        case Every(interval=interval, since="grid"):
            return _prefix_names(kind="every", interval=format_short_duration(interval))
        case Once(at=at) if at.tzinfo is None and not at.microsecond:
            return _prefix_names(kind="once", at=at.isoformat(timespec="minutes" if not at.second else "seconds"))
        case Cron(expression=expression):
            return _prefix_names(kind="cron", cron=expression)
        case Calendar(every=1, hours=None, months=()) if schedule.at:
            return _calendar_fields(schedule)
        case _:
            return _prefix_names(kind="")


def _calendar_fields(calendar: Calendar) -> dict[str, str]:
    fields = _unit_fields(calendar)
    cron = cron_of(calendar)
    return fields if cron is None or not fields[f"{PREFIX}.kind"] else fields | _prefix_names(cron=cron)


def cron_of(calendar: Calendar) -> str | None:
    """Return the cron expression with the same times; None where there is none, such as for the 31st, which cron skips
    in short months."""
    minutes = {each.minute for each in calendar.at}
    if len(minutes) != 1 or any(each.second for each in calendar.at) or calendar.exclude:
        return None
    clock = f"{minutes.pop()} {','.join(str(each.hour) for each in calendar.at)}"
    on = [each for each in calendar.on if isinstance(each, int)]
    match calendar.unit:
        case "day":
            return f"{clock} * * *"
        case "week":
            return f"{clock} * * {_cron_days(on)}"
        case "month" if all(0 < each <= _SHORTEST_MONTH for each in on):
            return f"{clock} {','.join(map(str, on))} * *"
        case _:
            return None


def _cron_days(days: list[int]) -> str:
    """Return `1-5` for a run of weekdays, else `1,3`; cron counts Sunday as 0."""
    numbers = [(each + 1) % 7 for each in days]
    is_run = len(numbers) > 2 and all(after == before + 1 for before, after in pairwise(numbers))
    return f"{numbers[0]}-{numbers[-1]}" if is_run else ",".join(map(str, sorted(numbers)))


def _unit_fields(calendar: Calendar) -> dict[str, str]:
    times = ", ".join(map(format_time, calendar.at))
    match calendar.unit:
        case "day" if not calendar.on:
            return _prefix_names(kind="daily", times=times)
        case "week" if calendar.on:
            days = ",".join(WEEKDAYS[each] for each in calendar.on if isinstance(each, int))
            return _prefix_names(kind="weekly", times=times, days=days)
        case "month" if len(calendar.on) == 1 and isinstance(calendar.on[0], int):
            return _prefix_names(kind="monthly", times=times, day=str(calendar.on[0]))
        case _:
            return _prefix_names(kind="")


def _prefix_names(**fields: str) -> dict[str, str]:
    return {f"{PREFIX}.{name}": value for name, value in fields.items()}


def text_of_fields(texts: Texts, days: list[str], language: Language, current: Schedule | None = None) -> str:
    """Return the text of the schedule that the fields describe. `current` is the schedule that the text had before:
    its window, repeats and other modifiers are kept. Raises a refusal that names the field."""
    given = {
        name: texts.get(f"{PREFIX}.{name}", "").strip() for name in ("kind", "interval", "times", "day", "at", "cron")
    }
    mapping = {**_kept_modifiers(current, given["kind"]), **_mapping_of(given, days)}
    schedule = from_request(mapping)
    return describe_schedule(schedule.with_defaults(None), language)


def _kept_modifiers(current: Schedule | None, kind: str) -> dict[str, Any]:
    if current is None or kind == "once" or current.kind in ("now", "once"):
        return {}
    kept = {name: value for name, value in to_json(current).items() if name in _MODIFIERS and name != "zone"}
    if kind not in _UNITS:
        kept.pop("exclude", None)
    return kept


def _mapping_of(given: Mapping[str, str], days: list[str]) -> dict[str, Any]:
    kind = given["kind"]
    match kind:
        case "every":
            return {"kind": "every", "interval": _required(given, "interval")}
        case "once":
            return {"kind": "once", "at": _read_moment(_required(given, "at"))}
        case "cron":
            return {"kind": "cron", "expression": _required(given, "cron")}
        case "daily" | "weekly" | "monthly":
            times = [each for each in _TIMES.split(_required(given, "times")) if each]
            return {"kind": "calendar", "unit": _UNITS[kind], "at": times, **_read_days(kind, given, days)}
        case _:
            raise refuse("bad_schedule_fields", name=f"{PREFIX}.kind", value=kind)


def _read_days(kind: str, given: Mapping[str, str], days: list[str]) -> dict[str, Any]:
    if kind == "weekly":
        if not days:
            raise refuse("bad_schedule_fields", name=f"{PREFIX}.days", value="")
        return {"on": days}
    if kind == "monthly":
        day = _required(given, "day")
        if not re.fullmatch(r"-1|[1-9]|[12][0-9]|3[01]", day):
            raise refuse("bad_schedule_fields", name=f"{PREFIX}.day", value=day)
        return {"on": [int(day)]}
    return {}


def _required(given: Mapping[str, str], name: str) -> str:
    if not given[name]:
        raise refuse("bad_schedule_fields", name=f"{PREFIX}.{name}", value="")
    return given[name]


def _read_moment(text: str) -> str:
    """Return ISO text with seconds; browsers send `2026-12-24T18:00`."""
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        raise refuse("bad_schedule_fields", name=f"{PREFIX}.at", value=text) from None
