"""iCalendar text: a strict parser reads back what was written, whatever the names contain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.testing.factories import HOUR, MICROSECOND, NOON
from horae.wire.icalendar import CalendarEvent, escape_text, fold_line, render_calendar
from tests.icalendar_parser import parse_calendar, parse_instant

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
HOSTILE = (
    "END:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:planted",
    "a\\;b,c:d\"e'f",
    "\\n is no line break\nthis is one",
    "备份" * 60,
    "👩‍👩‍👧‍👦" * 20,
    "\u202eevil\u2066",
    "bell\x07 escape\x1b[31m delete\x7f nul\x00",
)


def visible(text: str) -> str:
    """The text without what no TEXT value can hold."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    return "".join(char for char in plain if char == "\n" or (ord(char) > 0x1F and ord(char) != 0x7F))


@given(summary=texts, description=texts, name=texts)
def test_written_text_is_read_back(summary: str, description: str, name: str) -> None:
    event = CalendarEvent("tsk_1-scheduled-7@horae", NOON, NOON, summary, description, end=NOON + HOUR)
    parsed = parse_calendar(render_calendar(name, "Horae", [event]))
    (found,) = parsed.events
    assert found["SUMMARY"] == visible(summary)
    assert found.get("DESCRIPTION", "") == visible(description)
    assert parsed.properties["X-WR-CALNAME"] == visible(name)
    assert parse_instant(found["DTEND"]) - parse_instant(found["DTSTART"]) == HOUR


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_text(text: str) -> None:
    parsed = parse_calendar(render_calendar(text, text, [CalendarEvent("1@horae", NOON, NOON, text, text)]))
    assert [each["SUMMARY"] for each in parsed.events] == [visible(text)]


@given(line=texts)
def test_folded_lines_have_at_most_75_octets_and_whole_characters(line: str) -> None:
    folded = fold_line(f"X:{escape_text(line)}")
    parts = folded.removesuffix(b"\r\n").split(b"\r\n")
    assert all(len(part) <= 75 and part.decode() for part in parts)
    assert b"".join(part.removeprefix(b" ") if place else part for place, part in enumerate(parts)) == (
        f"X:{escape_text(line)}".encode()
    )


def test_lone_surrogate_does_not_break_the_calendar() -> None:
    parse_calendar(render_calendar("\ud800", "Horae", []))


def test_event_that_ends_within_its_second_has_no_end() -> None:
    event = CalendarEvent("1@horae", NOON, NOON, "x", end=NOON + MICROSECOND, is_tentative=True)
    (found,) = parse_calendar(render_calendar("x", "Horae", [event])).events
    assert "DTEND" not in found
    assert found["STATUS"] == "TENTATIVE"
