"""iCalendar (RFC 5545): events to text, with CRLF, lines folded at 75 octets, and escaped text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

MEDIA_TYPE: Final = "text/calendar; charset=utf-8"
_MAX_OCTETS: Final = 75
_ESCAPES: Final = {"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"}
_LAST_CONTROL: Final = 0x1F
_DELETE: Final = 0x7F


class CalendarEvent(NamedTuple):
    """One occurrence. `stamp` is when its content last changed; without an end it takes no time."""

    uid: str
    stamp: datetime
    start: datetime
    summary: str
    description: str = ""
    url: str = ""
    end: datetime | None = None
    is_tentative: bool = False


def render_calendar(name: str, product: str, events: Iterable[CalendarEvent]) -> bytes:
    """Return a calendar that programs may read again every hour."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//Horae//{escape_text(product)}//EN",
        "CALSCALE:GREGORIAN",
        f"NAME:{escape_text(name)}",
        f"X-WR-CALNAME:{escape_text(name)}",
        "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
        "X-PUBLISHED-TTL:PT1H",
        *(line for event in events for line in _event_lines(event)),
        "END:VCALENDAR",
    ]
    return b"".join(fold_line(line) for line in lines)


def _event_lines(event: CalendarEvent) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{escape_text(event.uid)}"
    yield f"DTSTAMP:{format_utc(event.stamp)}"
    yield f"DTSTART:{format_utc(event.start)}"
    if event.end is not None and format_utc(event.end) > format_utc(event.start):
        yield f"DTEND:{format_utc(event.end)}"
    yield f"SUMMARY:{escape_text(event.summary)}"
    if event.description:
        yield f"DESCRIPTION:{escape_text(event.description)}"
    if event.url:
        yield f"URL:{_strip_controls(event.url)}"
    yield f"STATUS:{'TENTATIVE' if event.is_tentative else 'CONFIRMED'}"
    # Runs of a machine must not make a person look busy.
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def escape_text(text: str) -> str:
    """Escape a value of type TEXT; control characters, which it cannot hold, are left out."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    kept = (char for char in plain if char == "\n" or not _is_control(char))
    return "".join(_ESCAPES.get(char, char) for char in kept)


def _strip_controls(text: str) -> str:
    return "".join(char for char in text if not _is_control(char))


def _is_control(char: str) -> bool:
    return ord(char) <= _LAST_CONTROL or ord(char) == _DELETE


def fold_line(line: str) -> bytes:
    """Return a content line with CRLF, folded so that no line has more than 75 octets; no character is split."""
    parts: list[bytes] = []
    part = b""
    for char in line:
        # A lone surrogate has no encoding.
        encoded = char.encode("utf-8", "replace")
        if len(part) + len(encoded) > _MAX_OCTETS:
            parts.append(part)
            part = b" "
        part += encoded
    parts.append(part)
    return b"\r\n".join(parts) + b"\r\n"


def format_utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
