"""Recurrence as calendars write it: DTSTART, RRULE and EXDATE, a line each."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final

from ..refusals import refuse
from ..rrule import RRule
from ..value import Moment
from .zone_words import zone_named

_LINE: Final = re.compile(r"(DTSTART|RRULE|EXDATE)((?:;[A-Z-]+=[^:;\s]+)*):(\S*)", re.IGNORECASE)
_STAMP: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?", re.ASCII | re.IGNORECASE)


def read_icalendar(text: str, zone: str | None) -> tuple[RRule, bool] | None:
    """(schedule, whether it names its zone); None when the text does not begin with DTSTART."""
    if not re.match(r"\s*DTSTART[;:]", text, re.IGNORECASE):
        return None
    rule, start, named = "", None, None
    exclude: list[Moment] = []
    end = 0
    for match in _LINE.finditer(text):
        if text[end : match.start()].strip():
            break
        end = match.end()
        name, parameters, value = match[1].upper(), match[2], match[3]
        named = _zone(parameters, match.start(2)) or named
        if name == "RRULE":
            rule = value
        elif name == "EXDATE":
            exclude += [_moment(each, match.start(3)) for each in value.split(",")]
        else:
            start = _moment(value, match.start(3))
    if text[end:].strip():
        raise refuse(
            "not_understood", end + len(text[end:]) - len(text[end:].lstrip()), word=text[end:].split(maxsplit=1)[0]
        )
    return RRule(rule, tuple(exclude), start=start, zone=named or zone), named is not None


def _zone(parameters: str, place: int) -> str | None:
    match = re.search(r";TZID=([^;:]+)", parameters, re.IGNORECASE)
    return None if match is None else zone_named(match[1], place + match.start(1))


def _moment(text: str, place: int) -> Moment:
    match = _STAMP.fullmatch(text)
    if match is None:
        raise refuse("bad_moment", place, value=text)
    *numbers, universal = match.groups()
    year, month, day, hour, minute, second = (int(each or 0) for each in numbers)
    try:
        if match[4] is None:
            return date(year, month, day)
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC if universal else None)
    except ValueError:
        raise refuse("bad_moment", place, value=text) from None
