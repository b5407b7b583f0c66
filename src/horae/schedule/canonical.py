"""Canonical JSON codec: one spelling for every schedule; invalid input is refused with its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, TypeVar

from ..errors import InvalidSchedule
from .after import After, Link
from .any_of import AnyOf, check_length, locate_in_list, make_any_of, pointers_below, refuse_if_endless
from .calendar import Calendar, Hours, NthWeekday, On
from .cron import Cron
from .durations import format_iso_duration, parse_duration
from .every import Every
from .once import Now, Once, refuse_repeated_once
from .refusals import refuse
from .rrule import RRule
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
    "any_of": ("schedules",),
    "after": ("links", "mode"),
}
_T = TypeVar("_T")


# --- encode ------------------------------------------------------------------------------------------------------


def to_json(schedule: Schedule) -> dict[str, Any]:
    """The canonical mapping of a schedule; fields with their default value are left out."""
    return {"kind": schedule.kind, **_kind_fields(schedule), **_encode_modifiers(schedule)}


def _kind_fields(schedule: Schedule) -> dict[str, Any]:
    match schedule:
        case Once(at=at):
            return {"at": format_moment(at)}
        case Every(interval=interval, since=since):
            return {"interval": format_iso_duration(interval), "from": since}
        case Cron(expression=expression):
            return {"expression": expression}
        case Calendar():
            return _calendar_fields(schedule)
        case RRule(recurrence=rule, exclude=exclude):
            return {"rule": rule} | ({"exclude": [format_moment(each) for each in exclude]} if exclude else {})
        case AnyOf(schedules=schedules):
            return {"schedules": [to_json(each) for each in schedules]}
        case After(links=links, mode=mode):
            return {"links": [{"task": link.task, "on": link.on} for link in links], "mode": mode}
        case _:
            return {}


def _calendar_fields(calendar: Calendar) -> dict[str, Any]:
    part: dict[str, Any] = {"unit": calendar.unit, "every": calendar.every}
    if calendar.on:
        part["on"] = [_encode_on(each, calendar.unit) for each in calendar.on]
    if calendar.months:
        part["months"] = list(calendar.months)
    if calendar.at:
        part["at"] = [format_time(each) for each in calendar.at]
    if calendar.hours and calendar.step:
        part["hours"] = {"from": format_time(calendar.hours.opens), "to": format_time(calendar.hours.closes)}
        if calendar.hours.days:
            part["hours"]["days"] = [WEEKDAY_NAMES[day] for day in calendar.hours.days]
        part["step"] = format_iso_duration(calendar.step)
    if calendar.exclude:
        part["exclude"] = [each.isoformat() for each in calendar.exclude]
    return part


def _encode_on(each: On, unit: str) -> Any:
    if isinstance(each, NthWeekday):
        return {"weekday": WEEKDAY_NAMES[each.weekday], "nth": each.nth}
    return WEEKDAY_NAMES[each] if unit == "week" else each


def _encode_modifiers(schedule: Schedule) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "zone": schedule.zone,
        "start": schedule.start and format_moment(schedule.start),
        "end": schedule.end and format_moment(schedule.end),
        "repeat": schedule.repeat,
        "counting": schedule.counting if schedule.counting == "planned" else None,
        "jitter": schedule.jitter and format_iso_duration(schedule.jitter),
        "gap": None if isinstance(schedule, RRule) and schedule.gap == "skip" else schedule.gap,
        "fold": schedule.fold,
    }
    return {key: value for key, value in encoded.items() if value is not None}


def format_time(at: time) -> str:
    return at.isoformat("seconds" if at.second else "minutes")


def format_moment(moment: Moment) -> str:
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if moment.tzinfo is None:
        return moment.isoformat()
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


# --- decode ------------------------------------------------------------------------------------------------------


MAX_EXPRESSION_LENGTH: Final = 2_000  # every value of every field written out stays far below this


def from_request(mapping: Mapping[str, Any]) -> Schedule:
    """Decode a requested schedule: like `from_json`, but with limits on length and cost.

    Stored schedules are decoded by `from_json`, so that they stay readable when limits change.
    """
    schedule = _decode_limited(mapping)
    refuse_if_endless(schedule)
    refuse_repeated_once(schedule)
    return schedule


def _decode_limited(mapping: Mapping[str, Any]) -> Schedule:
    expression = mapping.get("expression")
    if isinstance(expression, str) and len(expression) > MAX_EXPRESSION_LENGTH:
        raise refuse("too_long", MAX_EXPRESSION_LENGTH, length=len(expression), most=MAX_EXPRESSION_LENGTH)
    return _decode(mapping, _decode_limited)


def from_json(mapping: Mapping[str, Any]) -> Schedule:
    """Decode a schedule from its canonical mapping, or from a looser one with the same meaning; raises InvalidSchedule."""
    return _decode(mapping, from_json)


def _decode(mapping: Mapping[str, Any], decode_part: Callable[[Mapping[str, Any]], Schedule]) -> Schedule:
    """Decode one mapping; `decode_part` decodes each schedule of a list."""
    kind = _read_kind(mapping)
    modifiers = _read_modifiers(mapping)
    match kind:
        case "now":
            return Now(**modifiers)
        case "once":
            return Once(_read_required(mapping, "at", _read_datetime), **modifiers)
        case "every":
            return Every(_read_required(mapping, "interval", _read_duration), mapping.get("from", "grid"), **modifiers)
        case "cron":
            return Cron(_read_required(mapping, "expression", _read_text), **modifiers)
        case "calendar":
            return _read_calendar(mapping, modifiers)
        case "any_of":
            with pointers_below("schedules"):
                return make_any_of(_read_schedules(mapping, decode_part), **modifiers)
        case "after":
            return After(_read_links(mapping), mapping.get("mode", "any"), **modifiers)
        case _:
            return RRule(
                _read_required(mapping, "rule", _read_text), _read_list(mapping, "exclude", _read_moment), **modifiers
            )


def _read_kind(mapping: Mapping[str, Any]) -> str:
    kind = mapping.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise refuse("unknown_kind", value=kind, known=", ".join(_KEYS))
    for key in mapping:
        if key not in (*_KEYS[kind], *_MODIFIERS, "kind"):
            raise refuse("unknown_key", key=key, kind=kind, known=", ".join((*_KEYS[kind], *_MODIFIERS)))
    return kind


def _read_links(mapping: Mapping[str, Any]) -> tuple[Link, ...]:
    values = mapping.get("links")
    if not isinstance(values, list | tuple):
        raise refuse("bad_value", key="links", value=values, wanted="a list of predecessors")
    return tuple(map(_read_link, values))


def _read_link(value: Any) -> Link:
    if not isinstance(value, Mapping) or not {"task"} <= set(value) <= {"task", "on"}:
        raise refuse("bad_value", key="links", value=value, wanted='{"task": "backup", "on": "succeeded"}')
    return Link(value["task"], value.get("on") or "succeeded")


def _read_schedules(mapping: Mapping[str, Any], decode_part: Callable[[Mapping[str, Any]], Schedule]) -> list[Schedule]:
    values = mapping.get("schedules")
    if not isinstance(values, list | tuple):
        raise refuse("bad_value", key="schedules", value=values, wanted="a list of schedules")
    check_length(values)
    return [_read_schedule(number, value, decode_part) for number, value in enumerate(values)]


def _read_schedule(number: int, value: Any, decode_part: Callable[[Mapping[str, Any]], Schedule]) -> Schedule:
    try:
        if isinstance(value, Schedule):
            return value
        if isinstance(value, list | tuple) or (isinstance(value, Mapping) and value.get("kind") == AnyOf.kind):
            raise refuse("list_nested")
        if not isinstance(value, Mapping):
            raise refuse("bad_input", value=type(value).__name__)
        return decode_part(value)
    except InvalidSchedule as refusal:
        raise locate_in_list(refusal, number) from None


def _read_calendar(mapping: Mapping[str, Any], modifiers: dict[str, Any]) -> Calendar:
    unit = mapping.get("unit", "day")
    hours = mapping.get("hours")
    return Calendar(
        unit=unit,
        every=_read_optional(mapping, "every", _read_integer) or 1 if mapping.get("every") != 0 else 0,
        on=_read_list(mapping, "on", _read_weekday if unit == "week" else _read_month_day),
        months=_read_list(mapping, "months", _read_integer),
        at=_read_list(mapping, "at", read_time),
        hours=None if hours is None else _read_hours(hours),
        step=_read_optional(mapping, "step", _read_duration),
        exclude=_read_list(mapping, "exclude", _read_date),
        **modifiers,
    )


def _read_hours(hours: Any) -> Hours:
    if not isinstance(hours, Mapping) or not {"from", "to"} <= set(hours) <= {"from", "to", "days"}:
        raise refuse("bad_value", key="hours", value=hours, wanted='{"from": "09:00", "to": "18:00", "days": ["MON"]}')
    return Hours(
        _read_required(hours, "from", read_time),
        _read_required(hours, "to", read_time),
        tuple(sorted(set(_read_list(hours, "days", _read_weekday)))),
    )


def _read_modifiers(mapping: Mapping[str, Any]) -> dict[str, Any]:
    readers: dict[str, Callable[[str, Any], Any]] = {
        "zone": _read_text,
        "start": _read_moment,
        "end": _read_moment,
        "repeat": _read_integer,
        "counting": _read_text,
        "jitter": _read_duration,
        "gap": _read_text,
        "fold": _read_text,
    }
    return {key: read(key, mapping[key]) for key, read in readers.items() if mapping.get(key) is not None}


def _read_required(mapping: Mapping[str, Any], key: str, read: Callable[[str, Any], _T]) -> _T:
    if mapping.get(key) is None:
        raise refuse("missing_key", key=key, kind=mapping.get("kind", "hours"))
    return read(key, mapping[key])


def _read_optional(mapping: Mapping[str, Any], key: str, read: Callable[[str, Any], _T]) -> _T | None:
    return None if mapping.get(key) is None else read(key, mapping[key])


def _read_list(mapping: Mapping[str, Any], key: str, read: Callable[[str, Any], _T]) -> tuple[_T, ...]:
    value = mapping.get(key)
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple) else [value]
    if len(values) > 10_000:
        raise refuse("too_many", times=10_000, dates=10_000)
    return tuple(read(key, each) for each in values)


def _read_text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise refuse("bad_value", key=key, value=value, wanted="text")
    return value


def _read_integer(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise refuse("bad_value", key=key, value=value, wanted="a whole number")
    return value


def _read_duration(key: str, value: Any) -> timedelta:
    return parse_duration(_read_text(key, value))


def _read_weekday(key: str, value: Any) -> int:
    name = value.upper() if isinstance(value, str) else ""
    for names in (WEEKDAY_NAMES, _LONG_NAMES):
        if name in names:
            return names.index(name)
    raise refuse("bad_value", key=key, value=value, wanted=", ".join(WEEKDAY_NAMES))


def _read_month_day(key: str, value: Any) -> On:
    if not isinstance(value, Mapping):
        return _read_integer(key, value)
    if set(value) != {"weekday", "nth"}:
        raise refuse("bad_value", key=key, value=value, wanted='{"weekday": "FRI", "nth": -1}')
    return NthWeekday(_read_weekday(key, value["weekday"]), _read_integer(key, value["nth"]))


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


def _read_date(key: str, value: Any) -> date:
    moment = _read_moment(key, value)
    if isinstance(moment, datetime):
        raise refuse("bad_value", key=key, value=value, wanted='a date such as "2026-12-25"')
    return moment


def _read_datetime(key: str, value: Any) -> datetime:
    moment = _read_moment(key, value)
    if not isinstance(moment, datetime):
        raise refuse("bad_value", key=key, value=value, wanted='a date and time such as "2026-03-01T15:00:00"')
    return moment


def _read_moment(key: str, value: Any) -> Moment:
    """Read ISO text, or a date or datetime, which a Python mapping may hold."""
    if isinstance(value, date):
        return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
    parsed = read_moment(value) if isinstance(value, str) else None
    if parsed is None:
        raise refuse("bad_value", key=key, value=value, wanted='a date or time such as "2026-03-01T15:00:00"')
    return parsed


def read_moment(text: str) -> Moment | None:
    """Parse an ISO date, wall time or instant; None for other text and for dates that do not exist."""
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
