"""iCalendar parser (RFC 5545): DTSTART, RRULE and EXDATE properties, one per line, in any order."""

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
from .zone_words import resolve_zone

_PROPERTY: Final = r"(?:DTSTART|RRULE|EXDATE)[;:]"
_FIRST_PROPERTY: Final = re.compile(rf"\s*{_PROPERTY}", re.IGNORECASE)
_NEXT_PROPERTY: Final = re.compile(rf"\s+{_PROPERTY}", re.IGNORECASE)
# A line break and one blank continue a line (folding), unless the blank only indents the next property.
_LINE_FOLD: Final = re.compile(rf"\r?\n[ \t](?!\s*{_PROPERTY})", re.IGNORECASE)
_LINE: Final = re.compile(r"""(DTSTART|RRULE|EXDATE)((?:;[A-Z-]+=(?:"[^"\r\n]*"|[^:;"\r\n]+))*):(\S*)""", re.IGNORECASE)
_ZONE: Final = re.compile(r""";TZID=(?:"([^"]*)"|([^:;"]+))""", re.IGNORECASE)
_STAMP: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?", re.ASCII | re.IGNORECASE)


@dataclass(slots=True)
class _Entry:
    """The properties of one calendar entry; an EXDATE keeps its own zone until the zone of DTSTART is known."""

    rule: tuple[str, int] | None = None
    start: Moment | None = None
    zone: str | None = None
    excluded: list[tuple[Moment, str | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ParsedCalendar:
    schedule: RRule
    named_zone: bool
    notes: tuple[str, ...] = ()


def read_icalendar(text: str, zone: str | None) -> ParsedCalendar | None:
    """Parse a calendar entry; None for other text, and for an RRULE line alone, which may be followed by modifiers in words."""
    first = _FIRST_PROPERTY.match(text)
    if first is None or (first.group().strip()[:5].upper() == "RRULE" and not _NEXT_PROPERTY.search(text, first.end())):
        return None
    unfolded, positions = _unfold(text)
    try:
        return _assemble(_read_lines(unfolded), zone)
    except InvalidSchedule as refusal:
        if refusal.position is None:
            raise
        position = positions[min(refusal.position, len(positions) - 1)]
        raise refusal.located(text, position - refusal.position) from None


def _unfold(text: str) -> tuple[str, list[int]]:
    """The text with folded lines joined, and for each character (and the end) its position in `text`."""
    positions = list(range(len(text) + 1))
    for fold in reversed(list(_LINE_FOLD.finditer(text))):
        del positions[fold.start() : fold.end()]
    return _LINE_FOLD.sub("", text), positions


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
    name, value, position = line[1].upper(), line[3], line.start(3)
    line_zone = _read_zone(line)
    if name == "EXDATE":
        entry.excluded += [(_parse_moment(each, position), line_zone) for each in value.split(",")]
    elif name == "RRULE":
        if entry.rule is not None:
            raise refuse("repeated_property", line.start(), name=name)
        entry.rule = (value, position)
    else:
        if entry.start is not None:
            raise refuse("repeated_property", line.start(), name=name)
        entry.start = _parse_moment(value, position)
        # A time that ends in Z is UTC, even with a TZID.
        entry.zone = "UTC" if _is_instant(entry.start) else line_zone


def _assemble(entry: _Entry, zone: str | None) -> ParsedCalendar:
    text, position = entry.rule or ("", 0)
    rule = _parse_rule_at(text, position)
    notes: tuple[str, ...] = ()
    if entry.start is not None and not isinstance(entry.start, datetime):
        # RFC 5545, 3.3.10: these parts MUST be ignored when DTSTART is a date.
        without_times = replace(rule, by_hour=(), by_minute=(), by_second=())
        notes = () if without_times == rule else ("times_ignored",)
        rule = without_times
    start = entry.start.replace(tzinfo=None) if isinstance(entry.start, datetime) else entry.start
    entry_zone = entry.zone or zone
    exclude = tuple(_to_rule_zone(moment, own_zone, entry_zone) for moment, own_zone in entry.excluded)
    schedule = RRule(rule.text, exclude, start=start, zone=entry_zone)
    return ParsedCalendar(schedule, entry.zone is not None, notes)


def _parse_rule_at(text: str, position: int) -> Rule:
    try:
        return parse_rule(text)
    except InvalidSchedule as refusal:
        raise refusal.located(" " * position + text, position) from None


def _to_rule_zone(moment: Moment, own_zone: str | None, zone: str | None) -> Moment:
    """An EXDATE in another zone than DTSTART's becomes the instant that it names there."""
    if own_zone is None or own_zone == zone or not isinstance(moment, datetime) or moment.tzinfo is not None:
        return moment
    return to_datetime(first_instant(moment, find_zone(own_zone)) // SECOND * SECOND)


def _read_zone(line: re.Match[str]) -> str | None:
    match = _ZONE.search(line[2])
    if match is None:
        return None
    group = 1 if match[1] is not None else 2
    return resolve_zone(match[group], line.start(2) + match.start(group))


def _is_instant(moment: Moment) -> bool:
    return isinstance(moment, datetime) and moment.tzinfo is not None


def _parse_moment(text: str, position: int) -> Moment:
    match = _STAMP.fullmatch(text)
    if match is None:
        raise refuse("bad_moment", position, value=text)
    *numbers, universal = match.groups()
    year, month, day, hour, minute, second = (int(each or 0) for each in numbers)
    try:
        if match[4] is None:
            return date(year, month, day)
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC if universal else None)
    except ValueError:
        raise refuse("bad_moment", position, value=text) from None
