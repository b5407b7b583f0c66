"""Schedules as callers give them: text, canonical JSON, a value, an instant, or a list of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from ...errors import InvalidSchedule
from ..any_of import AnyOf, check_length, locate_in_list, make_any_of, pointers_below, refuse_if_endless
from ..canonical import from_request
from ..once import Once
from ..refusals import refuse
from ..value import Schedule
from .lists import ParsedText
from .parse import parse_text

SingleRequest: TypeAlias = str | datetime | Schedule | Mapping[str, Any]
ScheduleRequest: TypeAlias = SingleRequest | Sequence[SingleRequest]


def parse_when(when: object, *, zone: str | None, now: datetime) -> ParsedText:
    """Parse a schedule or a list of schedules; `zone` is the default where one names none. Raises InvalidSchedule.

    A refusal of one schedule of a list has its path in the fact `pointer`.
    """
    match when:
        case str():
            return parse_text(when, zone=zone, now=now)
        case datetime():
            return ParsedText(Once(at=when, zone=zone))
        case Schedule():
            refuse_if_endless(when)
            return ParsedText(when.with_defaults(zone), named_zone=when.zone is not None)
        case list() | tuple():
            return _parse_list(when, zone, now)
        case Mapping() if when.get("kind") == AnyOf.kind and isinstance(when.get("schedules"), list | tuple):
            return _parse_list_mapping(when, zone, now)
        case Mapping():
            return ParsedText(from_request(when).with_defaults(zone), named_zone=when.get("zone") is not None)
        case _:
            raise refuse("bad_input", value=type(when).__name__)


def _parse_list(values: Sequence[object], zone: str | None, now: datetime) -> ParsedText:
    parts = _parse_parts(values, zone, now)
    schedule = make_any_of([each.schedule for each in parts], zone=zone)
    refuse_if_endless(schedule)
    return _join(schedule, parts, named_zone=False)


def _parse_list_mapping(mapping: Mapping[str, Any], zone: str | None, now: datetime) -> ParsedText:
    """Parse canonical JSON whose schedules may also be texts."""
    named = mapping.get("zone")
    with pointers_below("schedules"):
        parts = _parse_parts(mapping["schedules"], named if isinstance(named, str) else zone, now)
    schedule = from_request({**mapping, "schedules": [each.schedule for each in parts]})
    return _join(schedule.with_defaults(zone), parts, named_zone=named is not None)


def _parse_parts(values: Sequence[object], zone: str | None, now: datetime) -> list[ParsedText]:
    check_length(values)
    return [_parse_part(number, value, zone, now) for number, value in enumerate(values)]


def _parse_part(number: int, value: object, zone: str | None, now: datetime) -> ParsedText:
    try:
        if isinstance(value, list | tuple) or (isinstance(value, Mapping) and value.get("kind") == AnyOf.kind):
            raise refuse("list_nested")
        if isinstance(value, Schedule):
            return ParsedText(value, named_zone=value.zone is not None)
        return parse_when(value, zone=zone, now=now)
    except InvalidSchedule as refusal:
        raise locate_in_list(refusal, number) from None


def _join(schedule: Schedule, parts: list[ParsedText], *, named_zone: bool) -> ParsedText:
    return ParsedText(
        schedule,
        any(each.relative for each in parts),
        named_zone or all(each.named_zone for each in parts),
        tuple(dict.fromkeys(note for each in parts for note in each.notes)),
    )
