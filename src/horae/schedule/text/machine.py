"""Parser for machine formats: cron, RRULE, ISO repeating intervals, JSON; modifiers in words may follow the first three."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from ..canonical import from_json, read_moment
from ..cron import Cron
from ..cron_fields import ALIASES
from ..durations import parse_duration
from ..every import Every
from ..refusals import refuse
from ..rrule import RRule
from ..value import Schedule

_CRON_NAMES: Final = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT"
_FIELD: Final = re.compile(rf"(?:[\d*?,/#LW-]|{_CRON_NAMES})+", re.ASCII | re.IGNORECASE)
_FIRST_FIELD: Final = re.compile(r"[\d*?,/-]+", re.ASCII)
_WORD: Final = re.compile(r"\S+")
_COUNT_WORDS: Final = ("times", "time", "次")
_REPEATING: Final = re.compile(r"R(\d{0,9})/(?:([^/\s]+)/)?(P[^/\s]+)", re.ASCII | re.IGNORECASE)
_RRULE: Final = re.compile(r"\s*((?:rrule:\s*)?freq=\S*|rrule:\S*)", re.IGNORECASE)
_ZONE_PREFIX: Final = re.compile(r"\s*(?:CRON_TZ|TZ)=(\S+)\s+", re.IGNORECASE)


def split_cron(text: str) -> tuple[str, int] | None:
    """(expression, index of the modifiers) if the text begins like a cron expression, valid or not; else None."""
    prefix = re.match(r"\s*cron\s+", text, re.IGNORECASE)
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
    match = re.match(r"\s*cron\s+", text, re.IGNORECASE)
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
    if not re.match(r"\s*R\d*/", text, re.ASCII | re.IGNORECASE):
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
    match = re.fullmatch(r"\s*@every\s+(\S+)\s*", text, re.IGNORECASE)
    return None if match is None else Every(parse_duration(match[1]), zone=zone)


def read_json(text: str) -> Schedule:
    try:
        mapping = json.loads(text)
    except (ValueError, RecursionError):
        raise refuse("bad_json", 0) from None
    if not isinstance(mapping, Mapping):
        raise refuse("bad_json", 0)
    return from_json(mapping)
