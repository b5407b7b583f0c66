"""Parser for machine formats: cron, RRULE, iCalendar, ISO repeating intervals, JSON; words may follow the first three."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Final

from ...errors import InvalidSchedule
from ..canonical import read_moment
from ..cron import Cron
from ..cron_fields import ALIASES
from ..durations import parse_duration
from ..every import Every
from ..instants import SECOND, to_datetime
from ..recurrence import Rule, parse_rule
from ..refusals import refuse
from ..rrule import RRule
from ..value import Moment, Schedule, first_instant
from ..zones import find_zone
from .zone_words import resolve_zone

_CRON_NAMES: Final = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT"
_FIELD: Final = re.compile(rf"(?:[\d*?,/#LW-]|{_CRON_NAMES})+", re.ASCII | re.IGNORECASE)
_FIRST_FIELD: Final = re.compile(r"[\d*?,/-]+", re.ASCII)
_WORD: Final = re.compile(r"\S+")
_CRON_PREFIX: Final = re.compile(r"\s*cron\s+", re.IGNORECASE)
_REPEATING_PREFIX: Final = re.compile(r"\s*R\d*/", re.ASCII | re.IGNORECASE)
_EVERY_ALIAS: Final = re.compile(r"\s*@every\s+(\S+)\s*", re.IGNORECASE)
_COUNT_WORDS: Final = ("times", "time", "次")
_REPEATING: Final = re.compile(r"R(\d{0,9})/(?:([^/\s]+)/)?(P[^/\s]+)", re.ASCII | re.IGNORECASE)
_RRULE: Final = re.compile(r"\s*((?:rrule:\s*)?freq=\S*|rrule:\S*)", re.IGNORECASE)
_ZONE_PREFIX: Final = re.compile(r"\s*(?:CRON_TZ|TZ)=(\S+)\s+", re.IGNORECASE)


def split_cron(text: str) -> tuple[str, int] | None:
    """(expression, index of the modifiers) if the text begins like a cron expression, valid or not; else None."""
    prefix = _CRON_PREFIX.match(text)
    begin = prefix.end() if prefix else 0
    words = list(_WORD.finditer(text, begin))
    if words and words[0].group().lower() in ALIASES:
        return text[begin : words[0].end()], words[0].end()
    fields = 0
    while fields < len(words) and _FIELD.fullmatch(words[fields].group()):
        fields += 1
    if fields < len(words) and words[fields].group().lower() in _COUNT_WORDS:
        fields -= 1
    if prefix is None and not _begins_like_cron([word.group() for word in words[:fields]]):
        return None
    end = words[fields - 1].end() if fields else begin
    return text[begin:end], end


def _begins_like_cron(fields: list[str]) -> bool:
    """Whether fields begin a cron expression: `9` is an hour and `2026-12-24 18:00` a date; two plain fields or a star are cron."""
    if not fields or not _FIRST_FIELD.fullmatch(fields[0]):
        return False
    return fields[0].startswith("*") or (len(fields) >= 2 and bool(_FIRST_FIELD.fullmatch(fields[1])))


def split_zone_prefix(text: str) -> tuple[str, int] | None:
    """(zone, index of the rest) of `CRON_TZ=Europe/Berlin 0 9 * * *`."""
    match = _ZONE_PREFIX.match(text)
    return None if match is None else (match[1], match.end())


def cron_offset(text: str) -> int:
    match = _CRON_PREFIX.match(text)
    return match.end() if match else 0


def split_rrule(text: str) -> tuple[str, int] | None:
    """(rule, index of the modifiers); a blank after the prefix is allowed."""
    match = _RRULE.match(text)
    return None if match is None else (match[1], match.end())


def read_cron(expression: str, zone: str | None) -> Schedule:
    return Cron(expression, zone=zone)


def read_rrule(rule: str, zone: str | None) -> Schedule:
    return RRule(rule, zone=zone)


def read_repeating_interval(text: str, zone: str | None) -> Schedule | None:
    """Parse `R5/2026-03-01T00:00:00Z/PT5M` (five times, on a grid); None for other text."""
    if not _REPEATING_PREFIX.match(text):
        return None
    match = _REPEATING.fullmatch(text.strip())
    if match is None:
        raise refuse("bad_repeating_interval", 0)
    times, start_text, interval = match.groups()
    start = read_moment(start_text) if start_text else None
    if start_text and start is None:
        raise refuse("bad_moment", match.start(2), value=start_text)
    repeat = int(times) if times else None
    length = parse_duration(interval)
    if length.microseconds % 1000:
        raise refuse("sub_millisecond", match.start(3), value=interval)
    if repeat is None:
        return Every(length, zone=zone, start=start)
    return Every(length, zone=zone, start=start, repeat=repeat, counting="planned")


def read_every_alias(text: str, zone: str | None) -> Schedule | None:
    """Parse `@every 5m`; None for other text."""
    match = _EVERY_ALIAS.fullmatch(text)
    return None if match is None else Every(parse_duration(match[1]), zone=zone)


def read_json(text: str) -> Mapping[str, object] | list[object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise refuse("bad_json", 0) from None
    if not isinstance(value, Mapping | list):
        raise refuse("bad_json", 0)
    return value


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
    """Parse DTSTART, RRULE and EXDATE properties (RFC 5545), one per line, in any order.

    None for other text, and for an RRULE line alone, which may be followed by modifiers in words.
    """
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
