"""Strict parser of iCalendar: refuses what RFC 5545 does not allow, so that a test of the writer is no echo of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

_LINE = re.compile(r"([A-Z][A-Z0-9-]*)((?:;[A-Z-]+=[^;:,\"]+)*):(.*)", re.DOTALL)
_INSTANT = re.compile(r"\d{8}T\d{6}Z")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"\\": "\\", ";": ";", ",": ",", "n": "\n", "N": "\n"}
_TEXTS = {"SUMMARY", "DESCRIPTION", "UID", "NAME", "X-WR-CALNAME", "PRODID"}
_ONCE = {"UID", "DTSTAMP", "DTSTART", "DTEND", "SUMMARY", "DESCRIPTION", "URL", "STATUS", "TRANSP"}


class ParsedCalendar(NamedTuple):
    properties: dict[str, str]
    events: list[dict[str, str]]


def parse_calendar(content: bytes) -> ParsedCalendar:
    lines = _unfold(content)
    assert lines[0] == "BEGIN:VCALENDAR"
    assert lines[-1] == "END:VCALENDAR"
    properties: dict[str, str] = {}
    events: list[dict[str, str]] = []
    event: dict[str, str] | None = None
    for line in lines[1:-1]:
        if line == "BEGIN:VEVENT":
            assert event is None
            event = {}
        elif line == "END:VEVENT":
            assert event is not None
            events.append(_check_event(event))
            event = None
        else:
            name, value = _parse_line(line)
            target = properties if event is None else event
            assert name not in target, f"{name} occurs twice"
            target[name] = value
    assert event is None
    assert properties["VERSION"] == "2.0"
    assert properties["PRODID"]
    assert len({each["UID"] for each in events}) == len(events), "a UID occurs twice"
    return ParsedCalendar(properties, events)


def parse_instant(text: str) -> datetime:
    assert _INSTANT.fullmatch(text), text
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def _unfold(content: bytes) -> list[str]:
    assert content.endswith(b"\r\n")
    physical = content.removesuffix(b"\r\n").split(b"\r\n")
    lines: list[bytes] = []
    for line in physical:
        assert len(line) <= 75, f"{len(line)} octets: {line!r}"
        assert b"\r" not in line
        assert b"\n" not in line
        line.decode("utf-8")  # no character is split between two lines
        if line.startswith(b" "):
            lines[-1] += line[1:]
        else:
            assert line
            lines.append(line)
    return [line.decode("utf-8") for line in lines]


def _parse_line(line: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    assert match is not None, line
    name, _, value = match.groups()
    assert not [char for char in value if ord(char) < 0x20 or ord(char) == 0x7F], line
    if name not in _TEXTS:
        return name, value
    assert not re.search(r"(?<!\\)(?:\\\\)*[;,]", value), f"not escaped: {line}"
    return name, _ESCAPE.sub(lambda found: _ESCAPED[found[1]], value)


def _check_event(event: dict[str, str]) -> dict[str, str]:
    assert event.keys() <= _ONCE
    assert {"UID", "DTSTAMP", "DTSTART", "SUMMARY"} <= event.keys()
    start = parse_instant(event["DTSTART"])
    parse_instant(event["DTSTAMP"])
    if "DTEND" in event:
        assert parse_instant(event["DTEND"]) > start
    assert event["STATUS"] in ("CONFIRMED", "TENTATIVE")
    return event
