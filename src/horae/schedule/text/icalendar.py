"""Recurrence as calendars write it: DTSTART, RRULE and EXDATE, a line each, in any order (RFC 5545)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Final

from ...errors import InvalidSchedule
from ..instants import SECOND, to_datetime
from ..recurrence import Rule, parse_rule
from ..refusals import refuse
from ..rrule import RRule
from ..value import Moment, first_instant
from ..zones import find_zone
from .zone_words import zone_named

_PROPERTY: Final = r"(?:DTSTART|RRULE|EXDATE)[;:]"
_FIRST: Final = re.compile(rf"\s*{_PROPERTY}", re.IGNORECASE)
_NEXT: Final = re.compile(rf"\s+{_PROPERTY}", re.IGNORECASE)
# A line break and one blank continue a line, unless the blank only indents the next property.
_FOLD: Final = re.compile(rf"\r?\n[ \t](?!\s*{_PROPERTY})", re.IGNORECASE)
_LINE: Final = re.compile(r"""(DTSTART|RRULE|EXDATE)((?:;[A-Z-]+=(?:"[^"\r\n]*"|[^:;"\r\n]+))*):(\S*)""", re.IGNORECASE)
_ZONE: Final = re.compile(r""";TZID=(?:"([^"]*)"|([^:;"]+))""", re.IGNORECASE)
_STAMP: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?", re.ASCII | re.IGNORECASE)


@dataclass(slots=True)
class _Entry:
    """The lines of one calendar entry. An EXDATE keeps its own zone until the zone of DTSTART is known."""

    rule: tuple[str, int] | None = None
    start: Moment | None = None
    zone: str | None = None
    excluded: list[tuple[Moment, str | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CalendarReading:
    schedule: RRule
    named_zone: bool
    notes: tuple[str, ...] = ()


def read_icalendar(text: str, zone: str | None) -> CalendarReading | None:
    """None when the text is no calendar entry. An RRULE line alone is not: modifiers in words may follow it."""
    first = _FIRST.match(text)
    if first is None or (first.group().strip()[:5].upper() == "RRULE" and not _NEXT.search(text, first.end())):
        return None
    unfolded, places = _unfold(text)
    try:
        return _assemble(_read_lines(unfolded), zone)
    except InvalidSchedule as refusal:
        if refusal.position is None:
            raise
        place = places[min(refusal.position, len(places) - 1)]
        raise refusal.located(text, place - refusal.position) from None


def _unfold(text: str) -> tuple[str, list[int]]:
    """The text with its folded lines joined, and the place in `text` of each sign (and of the end)."""
    places = list(range(len(text) + 1))
    for fold in reversed(list(_FOLD.finditer(text))):
        del places[fold.start() : fold.end()]
    return _FOLD.sub("", text), places


def _read_lines(text: str) -> _Entry:
    entry = _Entry()
    end = 0
    for line in _LINE.finditer(text):
        if text[end : line.start()].strip():
            break
        end = line.end()
        _read_line(entry, line)
    rest = text[end:]
    if rest.strip():
        raise refuse("not_understood", end + len(rest) - len(rest.lstrip()), word=rest.split(maxsplit=1)[0])
    return entry


def _read_line(entry: _Entry, line: re.Match[str]) -> None:
    name, value, place = line[1].upper(), line[3], line.start(3)
    named = _zone_of(line)
    if name == "EXDATE":
        entry.excluded += [(_moment(each, place), named) for each in value.split(",")]
    elif name == "RRULE":
        if entry.rule is not None:
            raise refuse("repeated_property", line.start(), name=name)
        entry.rule = (value, place)
    else:
        if entry.start is not None:
            raise refuse("repeated_property", line.start(), name=name)
        entry.start = _moment(value, place)
        # A time that ends in Z is UTC, whatever zone stands beside it.
        entry.zone = "UTC" if _is_instant(entry.start) else named


def _assemble(entry: _Entry, zone: str | None) -> CalendarReading:
    text, place = entry.rule or ("", 0)
    rule = _located(text, place)
    notes: tuple[str, ...] = ()
    if entry.start is not None and not isinstance(entry.start, datetime):
        # RFC 5545, 3.3.10: these parts MUST be ignored when DTSTART is a date.
        plain = replace(rule, by_hour=(), by_minute=(), by_second=())
        notes = () if plain == rule else ("times_ignored",)
        rule = plain
    start = entry.start.replace(tzinfo=None) if isinstance(entry.start, datetime) else entry.start
    counted_in = entry.zone or zone
    exclude = tuple(_in_zone(moment, named, counted_in) for moment, named in entry.excluded)
    schedule = RRule(rule.text, exclude, start=start, zone=counted_in)
    return CalendarReading(schedule, entry.zone is not None, notes)


def _located(text: str, place: int) -> Rule:
    try:
        return parse_rule(text)
    except InvalidSchedule as refusal:
        raise refusal.located(" " * place + text, place) from None


def _in_zone(moment: Moment, named: str | None, zone: str | None) -> Moment:
    """The zone of an EXDATE is its own: a wall time of another zone is the instant that it names there."""
    if named is None or named == zone or not isinstance(moment, datetime) or moment.tzinfo is not None:
        return moment
    return to_datetime(first_instant(moment, find_zone(named)) // SECOND * SECOND)


def _zone_of(line: re.Match[str]) -> str | None:
    found = _ZONE.search(line[2])
    if found is None:
        return None
    group = 1 if found[1] is not None else 2
    return zone_named(found[group], line.start(2) + found.start(group))


def _is_instant(moment: Moment) -> bool:
    return isinstance(moment, datetime) and moment.tzinfo is not None


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
