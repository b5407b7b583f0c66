"""Pasted iCalendar lines: DTSTART, RRULE and EXDATE as calendars export them (RFC 5545)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import horae
from horae.schedule import RRule, to_json
from horae.schedule.text import parse_text

BERLIN = "Europe/Berlin"
AFTER = datetime(2026, 1, 1, tzinfo=UTC)


def fires(text: str, zone: str = BERLIN, limit: int = 3) -> list[str]:
    return [f"{each:%Y-%m-%dT%H:%MZ}" for each in horae.preview(text, zone=zone, after=AFTER, limit=limit)]


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Asia/Kolkata", "UTC"])
def test_a_start_in_utc_keeps_its_instants_in_the_zone_of_every_owner(zone: str) -> None:
    text = "DTSTART:20261024T090000Z\nRRULE:FREQ=DAILY;COUNT=3"

    assert fires(text, zone) == ["2026-10-24T09:00Z", "2026-10-25T09:00Z", "2026-10-26T09:00Z"]
    assert horae.parse(text, zone=zone).zone == "UTC"
    assert parse_text(text, zone=zone, now=AFTER).named_zone


def test_the_weekday_of_a_start_in_utc_is_that_of_utc() -> None:
    text = "DTSTART:20260330T233000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=2"

    assert fires(text, "Asia/Tokyo") == ["2026-03-30T23:30Z", "2026-04-06T23:30Z"]


def test_utc_wins_over_a_zone_beside_it() -> None:
    assert fires("DTSTART;TZID=Asia/Tokyo:20260330T090000Z RRULE:FREQ=DAILY;COUNT=1") == ["2026-03-30T09:00Z"]


def test_the_zone_of_an_exdate_concerns_that_exdate_alone() -> None:
    text = """DTSTART;TZID=Europe/Berlin:20260105T180000
RRULE:FREQ=DAILY;COUNT=4
EXDATE;TZID=America/New_York:20260106T120000
EXDATE:20260107T180000"""

    assert fires(text) == ["2026-01-05T17:00Z", "2026-01-08T17:00Z"]
    assert to_json(horae.parse(text))["zone"] == BERLIN
    assert to_json(horae.parse(text))["exclude"] == ["2026-01-06T17:00:00Z", "2026-01-07T18:00:00"]


def test_an_exdate_before_a_floating_start_does_not_name_the_zone_of_the_schedule() -> None:
    text = "EXDATE;TZID=America/New_York:20260106T030000\nDTSTART:20260105T090000\nRRULE:FREQ=DAILY;COUNT=3"

    assert horae.parse(text, zone=BERLIN).zone == BERLIN
    assert not parse_text(text, zone=BERLIN, now=AFTER).named_zone
    assert fires(text) == ["2026-01-05T08:00Z", "2026-01-07T08:00Z"]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", 42),
        ("RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", 17),
        ("DTSTART:20260105T090000Z\nDTSTART:20260106T090000Z\nRRULE:FREQ=DAILY", 25),
    ],
)
def test_a_second_rule_or_start_is_refused_with_its_place(text: str, position: int) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(text, zone=BERLIN)

    assert (refusal.value.code, refusal.value.position) == ("repeated_property", position)


def test_times_are_ignored_with_a_date_as_start_and_the_reader_is_warned() -> None:
    text = "DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY;COUNT=2;BYHOUR=9,17;BYMINUTE=30;BYSECOND=15"

    assert fires(text, "UTC") == ["2026-01-05T00:00Z", "2026-01-06T00:00Z"]
    assert parse_text(text, zone="UTC", now=AFTER).notes == ("times_ignored",)
    assert parse_text("DTSTART:20260105\nRRULE:FREQ=DAILY", zone="UTC", now=AFTER).notes == ()


def test_times_count_with_a_start_given_as_a_modifier() -> None:
    assert fires("RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0 from 2026-02-01", "UTC", 1) == ["2026-02-01T09:00Z"]


@pytest.mark.parametrize(
    "text",
    [
        'DTSTART;TZID="Europe/Berlin":20260105T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3',
        "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3\nDTSTART;TZID=Europe/Berlin:20260105T090000",
        "DTSTART;TZID=Europe/Berlin:20260105T090000\r\nRRULE:FREQ=WEEKLY;\r\n BYDAY=MO\r\n\t,WE;COUNT=3\r\n",
        "DTSTART;TZID=Europe/Ber\n lin:20260105T090000\nRR\n ULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3;",
        "  DTSTART;TZID=Europe/Berlin:20260105T090000\n  RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3",
        "dtstart;tzid=Europe/Berlin;value=DATE-TIME:20260105T090000 rrule:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3;",
    ],
    ids=["quoted zone", "rule first", "folded", "folded anywhere", "indented", "one line, trailing semicolon"],
)
def test_every_spelling_of_one_entry_is_read(text: str) -> None:
    assert fires(text, "UTC") == ["2026-01-05T08:00Z", "2026-01-07T08:00Z", "2026-01-12T08:00Z"]


def test_a_trailing_semicolon_is_read_in_every_form_of_a_rule() -> None:
    assert horae.parse("RRULE:FREQ=DAILY;COUNT=2;", zone="UTC") == horae.parse("FREQ=DAILY;COUNT=2", zone="UTC")
    assert horae.parse({"kind": "rrule", "rule": "FREQ=DAILY;", "zone": "UTC"}) == RRule("FREQ=DAILY", zone="UTC")
    with pytest.raises(horae.InvalidSchedule):
        horae.parse("RRULE:FREQ=DAILY;;", zone="UTC")


def test_a_refusal_points_into_the_folded_text() -> None:
    text = "DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY;\n BYHOUR=nine"

    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(text, zone=BERLIN)

    assert text[refusal.value.position or 0 :].startswith("BYHOUR=nine")


def test_a_start_in_utc_needs_no_zone_beside_it() -> None:
    text = "DTSTART:20270320T090000Z\nRRULE:FREQ=WEEKLY;COUNT=2"

    assert horae.parse(text).zone == "UTC"
    assert horae.preview(text, after=AFTER, limit=2)[1] == datetime(2027, 3, 27, 9, tzinfo=UTC)


def test_week_one_of_every_second_year_comes_every_second_year() -> None:
    """A documented choice that other libraries make differently: it holds before and after any other change."""
    text = "DTSTART;TZID=UTC:20241230T090000\nRRULE:FREQ=YEARLY;INTERVAL=2;BYWEEKNO=1;BYDAY=MO;COUNT=6"
    found = horae.preview(
        text, after=datetime(2024, 1, 1, tzinfo=UTC), limit=None, until=datetime(2040, 1, 1, tzinfo=UTC)
    )

    assert [f"{each:%G-W%V-%u}" for each in found] == [f"{year}-W01-1" for year in range(2025, 2037, 2)]


@pytest.mark.parametrize(
    "when",
    [
        "RRULE:FREQ=SECONDLY",
        "RRULE:FREQ=SECONDLY;INTERVAL=30;BYHOUR=9",
        "DTSTART:20260105T090000Z\nRRULE:FREQ=SECONDLY",
        '{"kind": "rrule", "rule": "FREQ=SECONDLY", "zone": "UTC"}',
        {"kind": "rrule", "rule": "FREQ=SECONDLY", "zone": "UTC"},
    ],
)
def test_a_rule_of_seconds_without_an_end_is_refused(when: str | dict[str, str]) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(when, zone="UTC")

    assert refusal.value.code == "rrule_endless_seconds"


@pytest.mark.parametrize(
    "when",
    [
        "RRULE:FREQ=SECONDLY;COUNT=10",
        "RRULE:FREQ=SECONDLY;UNTIL=20270101T000000Z",
        "RRULE:FREQ=SECONDLY until 2027-01-01",
        "RRULE:FREQ=SECONDLY 10 times",
        "RRULE:FREQ=MINUTELY",
    ],
)
def test_a_rule_of_seconds_with_an_end_is_understood(when: str) -> None:
    assert horae.parse(when, zone="UTC").kind == "rrule"
