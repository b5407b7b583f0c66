"""Canonical JSON, in and out: one spelling of every schedule, and a refusal for whatever does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, TypeVar

from .calendar import Calendar, Hours, NthWeekday, On
from .cron import Cron
from .durations import iso_duration, parse_duration
from .every import Every
from .now import Now
from .once import Once, refuse_repeated_once
from .refusals import refuse
from .rrule import RRule, refuse_if_endless
from .value import Moment, Schedule

WEEKDAY_NAMES: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_LONG_NAMES: Final = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_MODIFIERS: Final = ("zone", "start", "end", "repeat", "counting", "jitter", "gap", "fold")
_KEYS: Final = {
    "now": (),
    "once": ("at",),
    "every": ("interval", "from"),
    "cron": ("expression",),
    "calendar": ("unit", "every", "on", "months", "at", "hours", "step", "exclude"),
    "rrule": ("rule", "exclude"),
}
_T = TypeVar("_T")


# --- out ---------------------------------------------------------------------------------------------------------


def to_json(schedule: Schedule) -> dict[str, Any]:
    """The canonical mapping; what has its default value is left out."""
    return {"kind": schedule.kind, **_own_part(schedule), **_modifiers(schedule)}


def _own_part(schedule: Schedule) -> dict[str, Any]:
    match schedule:
        case Once(at=at):
            return {"at": show_moment(at)}
        case Every(interval=interval, since=since):
            return {"interval": iso_duration(interval), "from": since}
        case Cron(expression=expression):
            return {"expression": expression}
        case Calendar():
            return _calendar_part(schedule)
        case RRule(recurrence=rule, exclude=exclude):
            return {"rule": rule} | ({"exclude": [show_moment(each) for each in exclude]} if exclude else {})
        case _:
            return {}


def _calendar_part(calendar: Calendar) -> dict[str, Any]:
    part: dict[str, Any] = {"unit": calendar.unit, "every": calendar.every}
    if calendar.on:
        part["on"] = [_show_on(each, calendar.unit) for each in calendar.on]
    if calendar.months:
        part["months"] = list(calendar.months)
    if calendar.at:
        part["at"] = [show_time(each) for each in calendar.at]
    if calendar.hours and calendar.step:
        part["hours"] = {"from": show_time(calendar.hours.opens), "to": show_time(calendar.hours.closes)}
        if calendar.hours.days:
            part["hours"]["days"] = [WEEKDAY_NAMES[day] for day in calendar.hours.days]
        part["step"] = iso_duration(calendar.step)
    if calendar.exclude:
        part["exclude"] = [each.isoformat() for each in calendar.exclude]
    return part


def _show_on(each: On, unit: str) -> Any:
    if isinstance(each, NthWeekday):
        return {"weekday": WEEKDAY_NAMES[each.weekday], "nth": each.nth}
    return WEEKDAY_NAMES[each] if unit == "week" else each


def _modifiers(schedule: Schedule) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "zone": schedule.zone,
        "start": schedule.start and show_moment(schedule.start),
        "end": schedule.end and show_moment(schedule.end),
        "repeat": schedule.repeat,
        "counting": schedule.counting if schedule.counting == "planned" else None,
        "jitter": schedule.jitter and iso_duration(schedule.jitter),
        "gap": None if isinstance(schedule, RRule) and schedule.gap == "skip" else schedule.gap,
        "fold": schedule.fold,
    }
    return {key: value for key, value in shown.items() if value is not None}


def show_time(at: time) -> str:
    return at.isoformat("seconds" if at.second else "minutes")


def show_moment(moment: Moment) -> str:
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if moment.tzinfo is None:
        return moment.isoformat()
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


# --- in ----------------------------------------------------------------------------------------------------------


LONGEST_EXPRESSION: Final = 2_000  # every value of every field written out stays far below this


def from_wish(mapping: Mapping[str, Any]) -> Schedule:
    """As `from_json`, for what somebody asks for: its length is looked at before anything reads it.

    What is kept already stays readable, however long it is.
    """
    expression = mapping.get("expression")
    if isinstance(expression, str) and len(expression) > LONGEST_EXPRESSION:
        raise refuse("too_long", LONGEST_EXPRESSION, length=len(expression), most=LONGEST_EXPRESSION)
    schedule = from_json(mapping)
    refuse_if_endless(schedule)
    refuse_repeated_once(schedule)
    return schedule


def from_json(mapping: Mapping[str, Any]) -> Schedule:
    """A schedule from its canonical mapping, or from a looser one that means the same."""
    kind = mapping.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise refuse("unknown_kind", value=kind, known=", ".join(_KEYS))
    for key in mapping:
        if key not in (*_KEYS[kind], *_MODIFIERS, "kind"):
            raise refuse("unknown_key", key=key, kind=kind, known=", ".join((*_KEYS[kind], *_MODIFIERS)))
    modifiers = _read_modifiers(mapping)
    match kind:
        case "now":
            return Now(**modifiers)
        case "once":
            return Once(_need(mapping, "at", _datetime), **modifiers)
        case "every":
            return Every(_need(mapping, "interval", _duration), mapping.get("from", "grid"), **modifiers)
        case "cron":
            return Cron(_need(mapping, "expression", _text), **modifiers)
        case "calendar":
            return _read_calendar(mapping, modifiers)
        case _:
            return RRule(_need(mapping, "rule", _text), _list(mapping, "exclude", _moment), **modifiers)


def _read_calendar(mapping: Mapping[str, Any], modifiers: dict[str, Any]) -> Calendar:
    unit = mapping.get("unit", "day")
    hours = mapping.get("hours")
    return Calendar(
        unit=unit,
        every=_take(mapping, "every", _whole) or 1 if mapping.get("every") != 0 else 0,
        on=_list(mapping, "on", _weekday if unit == "week" else _month_day),
        months=_list(mapping, "months", _whole),
        at=_list(mapping, "at", read_time),
        hours=None if hours is None else _read_hours(hours),
        step=_take(mapping, "step", _duration),
        exclude=_list(mapping, "exclude", _date),
        **modifiers,
    )


def _read_hours(hours: Any) -> Hours:
    if not isinstance(hours, Mapping) or not {"from", "to"} <= set(hours) <= {"from", "to", "days"}:
        raise refuse("bad_value", key="hours", value=hours, wanted='{"from": "09:00", "to": "18:00", "days": ["MON"]}')
    return Hours(
        _need(hours, "from", read_time),
        _need(hours, "to", read_time),
        tuple(sorted(set(_list(hours, "days", _weekday)))),
    )


def _read_modifiers(mapping: Mapping[str, Any]) -> dict[str, Any]:
    readers: dict[str, Callable[[str, Any], Any]] = {
        "zone": _text,
        "start": _moment,
        "end": _moment,
        "repeat": _whole,
        "counting": _text,
        "jitter": _duration,
        "gap": _text,
        "fold": _text,
    }
    return {key: read(key, mapping[key]) for key, read in readers.items() if mapping.get(key) is not None}


def _need(mapping: Mapping[str, Any], key: str, read: Callable[[str, Any], _T]) -> _T:
    if mapping.get(key) is None:
        raise refuse("missing_key", key=key, kind=mapping.get("kind", "hours"))
    return read(key, mapping[key])


def _take(mapping: Mapping[str, Any], key: str, read: Callable[[str, Any], _T]) -> _T | None:
    return None if mapping.get(key) is None else read(key, mapping[key])


def _list(mapping: Mapping[str, Any], key: str, read: Callable[[str, Any], _T]) -> tuple[_T, ...]:
    given = mapping.get(key)
    if given is None:
        return ()
    values = given if isinstance(given, list | tuple) else [given]
    if len(values) > 10_000:
        raise refuse("too_many", times=10_000, dates=10_000)
    return tuple(read(key, each) for each in values)


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise refuse("bad_value", key=key, value=value, wanted="text")
    return value


def _whole(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise refuse("bad_value", key=key, value=value, wanted="a whole number")
    return value


def _duration(key: str, value: Any) -> timedelta:
    return parse_duration(_text(key, value))


def _weekday(key: str, value: Any) -> int:
    name = value.upper() if isinstance(value, str) else ""
    for names in (WEEKDAY_NAMES, _LONG_NAMES):
        if name in names:
            return names.index(name)
    raise refuse("bad_value", key=key, value=value, wanted=", ".join(WEEKDAY_NAMES))


def _month_day(key: str, value: Any) -> On:
    if not isinstance(value, Mapping):
        return _whole(key, value)
    if set(value) != {"weekday", "nth"}:
        raise refuse("bad_value", key=key, value=value, wanted='{"weekday": "FRI", "nth": -1}')
    return NthWeekday(_weekday(key, value["weekday"]), _whole(key, value["nth"]))


_TIME: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)


def read_time(key: str, value: Any) -> time:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refuse("bad_value", key=key, value=value, wanted='a time of day such as "09:00"')
    hour, minute, second = match.groups()
    return time(int(hour), int(minute), int(second or 0))


_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\s?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


def _date(key: str, value: Any) -> date:
    moment = _moment(key, value)
    if isinstance(moment, datetime):
        raise refuse("bad_value", key=key, value=value, wanted='a date such as "2026-12-25"')
    return moment


def _datetime(key: str, value: Any) -> datetime:
    moment = _moment(key, value)
    if not isinstance(moment, datetime):
        raise refuse("bad_value", key=key, value=value, wanted='a date and time such as "2026-03-01T15:00:00"')
    return moment


def _moment(key: str, value: Any) -> Moment:
    """Datetimes themselves are welcome too: in Python a mapping may hold them."""
    if isinstance(value, date):
        return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
    found = read_moment(value) if isinstance(value, str) else None
    if found is None:
        raise refuse("bad_value", key=key, value=value, wanted='a date or time such as "2026-03-01T15:00:00"')
    return found


def read_moment(text: str) -> Moment | None:
    """An ISO date, wall time or instant; None when it is none of them, or no day of the calendar."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
        match = _MOMENT.fullmatch(text)
        if match is None:
            return None
        day, clock, offset = match.groups()
        moment = datetime.fromisoformat(f"{day}T{clock}")
        if offset is None:
            return moment
        zone = "+00:00" if offset in "Zz" else offset
        return datetime.fromisoformat(f"{day}T{clock}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
