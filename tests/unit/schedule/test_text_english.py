"""The English schedule grammar: accepted texts and refusals."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import horae
from horae.schedule import to_json
from tests.unit.schedule.expected_schedules import NOW, WORKING, ZONE, calendar, every, once, understood


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", {"kind": "now"}),
        # once
        ("in 20 minutes", once("2026-11-18T12:20:00Z")),
        ("in 1h30m", once("2026-11-18T13:30:00Z")),
        ("in 500ms", once("2026-11-18T12:00:00.500000Z")),
        ("in half an hour", once("2026-11-18T12:30:00Z")),
        ("in 2 days", once("2026-11-20T12:00:00Z")),
        ("at 2026-03-01 15:00", once("2026-03-01T15:00:00")),
        ("2026-12-24 18:00", once("2026-12-24T18:00:00")),
        ("2026-12-24T18:00:30", once("2026-12-24T18:00:30")),
        ("2026-12-24T18:00:00+01:00", once("2026-12-24T17:00:00Z")),
        ("2026-12-24T18:00Z", once("2026-12-24T18:00:00Z")),
        ("24 Dec 2026 at 18:00", once("2026-12-24T18:00:00")),
        ("December 24th, 2026 6pm", once("2026-12-24T18:00:00")),
        ("24 December at noon", once("2026-12-24T12:00:00")),
        ("on 3 march at 9:00", once("2027-03-03T09:00:00")),
        ("tomorrow at 9am", once("2026-11-19T09:00:00")),
        ("9am tomorrow", once("2026-11-19T09:00:00")),
        ("tomorrow at 9 in the evening", once("2026-11-19T21:00:00")),
        ("today at 23:00", once("2026-11-18T23:00:00")),
        ("tonight at 9", once("2026-11-18T21:00:00")),
        ("day after tomorrow 7:15pm", once("2026-11-20T19:15:00")),
        ("next friday noon", once("2026-11-27T12:00:00")),
        ("this friday at 12:00", once("2026-11-20T12:00:00")),
        ("at 21:00", once("2026-11-18T21:00:00")),
        ("at 9:00", once("2026-11-19T09:00:00")),
        ("at 12am", once("2026-11-19T00:00:00")),
        # every
        ("every 90s", every("PT1M30S")),
        ("every 250ms", every("PT0.25S")),
        ("every 500 milliseconds after end", every("PT0.5S", "end")),
        ("every 1s 500 ms", every("PT1.5S")),
        ("every half second", every("PT0.5S")),
        ("@every 100ms", every("PT0.1S")),
        ("every 5m", every("PT5M")),
        ("every 2 hours", every("PT2H")),
        ("every 1 hour and 30 minutes", every("PT1H30M")),
        ("every 1h30m after end", every("PT1H30M", "end")),
        ("every hour", every("PT1H")),
        ("hourly", every("PT1H")),
        ("every 1d", every("P1D")),
        ("every 2 hours from 08:00", every("PT2H", start="2026-11-18T08:00:00")),
        ("every 5m 10 times", every("PT5M", repeat=10)),
        ("every 5m until 2027-01-01", every("PT5M", end="2027-01-01")),
        ("every 5m until 2027-01-01 12:00", every("PT5M", end="2027-01-01T12:00:00")),
        ("every 5m starting tomorrow at 8:00", every("PT5M", start="2026-11-19T08:00:00")),
        ("every 5m with jitter up to 30 seconds", every("PT5M", jitter="PT30S")),
        ("@every 5m", every("PT5M")),
        ("R/2026-03-01T00:00:00Z/PT5M", every("PT5M", start="2026-03-01T00:00:00Z")),
        ("R5/2026-03-01T00:00:00Z/PT5M", every("PT5M", start="2026-03-01T00:00:00Z", repeat=5, counting="planned")),
        # calendar
        ("every day at 9:00 and 17:00", calendar("day", at=["09:00", "17:00"])),
        ("daily at 9am", calendar("day", at=["09:00"])),
        ("every other day at 21:00", calendar("day", 2, at=["21:00"])),
        ("every second day at 21:00", calendar("day", 2, at=["21:00"])),
        ("every 3 days at noon", calendar("day", 3, at=["12:00"])),
        ("every weekday at 9am", calendar("week", on=WORKING, at=["09:00"])),
        ("weekdays at 9am", calendar("week", on=WORKING, at=["09:00"])),
        ("weekends at 10:30", calendar("week", on=["SAT", "SUN"], at=["10:30"])),
        ("mon,wed 07:30", calendar("week", on=["MON", "WED"], at=["07:30"])),
        ("mon-fri 07:30", calendar("week", on=WORKING, at=["07:30"])),
        ("Monday to Friday at 07:30", calendar("week", on=WORKING, at=["07:30"])),
        ("mondays at 9:00", calendar("week", on=["MON"], at=["09:00"])),
        ("every monday at 9:00", calendar("week", on=["MON"], at=["09:00"])),
        ("every 2 weeks on Mon,Thu at 18:30", calendar("week", 2, on=["MON", "THU"], at=["18:30"])),
        (
            "on the last friday of every quarter at 17:00",
            calendar("month", on=[{"weekday": "FRI", "nth": -1}], months=[3, 6, 9, 12], at=["17:00"]),
        ),
        ("every fortnight on monday at 9:00", calendar("week", 2, on=["MON"], at=["09:00"])),
        ("weekly on friday at 17:00", calendar("week", on=["FRI"], at=["17:00"])),
        ("on the 1st at 8:00", calendar("month", on=[1], at=["08:00"])),
        ("on the 1st and 15th at 8:00", calendar("month", on=[1, 15], at=["08:00"])),
        ("every month on the 15th at 8:00", calendar("month", on=[15], at=["08:00"])),
        ("every 2 months on the 15th at 8:00", calendar("month", 2, on=[15], at=["08:00"])),
        ("last day of month at 17:00", calendar("month", on=[-1], at=["17:00"])),
        ("on the 2nd to last day of every month at 17:00", calendar("month", on=[-2], at=["17:00"])),
        ("last friday of the month 17:00", calendar("month", on=[{"weekday": "FRI", "nth": -1}], at=["17:00"])),
        ("second tuesday of every month at 10:00", calendar("month", on=[{"weekday": "TUE", "nth": 2}], at=["10:00"])),
        ("every 29 feb at 9:00", calendar("year", on=[29], months=[2], at=["09:00"])),
        ("every year on 29 feb at 9:00", calendar("year", on=[29], months=[2], at=["09:00"])),
        ("every january 1st at 00:00", calendar("year", on=[1], months=[1], at=["00:00"])),
        ("every day in July at 9:00", calendar("day", months=[7], at=["09:00"])),
        ("on the 1st of January and July at 9:00", calendar("month", on=[1], months=[1, 7], at=["09:00"])),
        ("every day at 9:00 except 2026-12-25", calendar("day", at=["09:00"], exclude=["2026-12-25"])),
        (
            "every 10m between 9:00 and 18:00 on weekdays",
            calendar("day", hours={"from": "09:00", "to": "18:00", "days": WORKING}, step="PT10M"),
        ),
        (
            "every 10m on weekdays between 9:00 and 18:00",
            calendar("day", hours={"from": "09:00", "to": "18:00", "days": WORKING}, step="PT10M"),
        ),
        ("every 2h from 22:00 to 04:00", calendar("day", hours={"from": "22:00", "to": "04:00"}, step="PT2H")),
        # cron, rrule, JSON
        ("0 9 * * 1-5", {"kind": "cron", "expression": "0 9 * * 1-5"}),
        ("cron 0 9 * * mon-fri", {"kind": "cron", "expression": "0 9 * * MON-FRI"}),
        ("*/10 * * * * *", {"kind": "cron", "expression": "*/10 * * * * *"}),
        ("@daily", {"kind": "cron", "expression": "0 0 * * *"}),
        (
            "0 9 * * * 10 times until 2027-01-01",
            {"kind": "cron", "expression": "0 9 * * *", "repeat": 10, "end": "2027-01-01"},
        ),
        ("RRULE:FREQ=DAILY", {"kind": "rrule", "rule": "FREQ=DAILY"}),
        ('{"kind": "every", "interval": "5m"}', every("PT5M")),
        ("Every  WEEKDAY, at 9AM", calendar("week", on=WORKING, at=["09:00"])),
    ],
)
def test_understood(text: str, expected: dict[str, Any]) -> None:
    assert understood(text) == expected


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("every day at 9:00 Europe/Berlin", "Europe/Berlin"),
        ("every day at 9:00 europe/berlin", "Europe/Berlin"),
        ("every day at 9:00 @Berlin", "Europe/Berlin"),
        ("every day at 9:00 Berlin time", "Europe/Berlin"),
        ("every day at 9:00 New York time", "America/New_York"),
        ("every day at 9:00 UTC", "UTC"),
        ("every day at 9:00 in America/New_York", "America/New_York"),
        ("0 9 * * 1-5 Europe/Berlin", "Europe/Berlin"),
        ("RRULE:FREQ=DAILY Europe/Berlin", "Europe/Berlin"),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "Europe/Berlin"),
        ("every day at 9:00 in Berlin", "Europe/Berlin"),
        ("every day at 9:00 Eastern time", "America/New_York"),
        ("every day at 9:00 Beijing time", "Asia/Shanghai"),
    ],
)
def test_a_zone_in_the_text_wins(text: str, zone: str) -> None:
    assert horae.parse(text, zone="Asia/Tokyo", now=NOW).zone == zone


@pytest.mark.parametrize(
    ("text", "code", "position", "hint"),
    [
        ("", "empty", 0, "every weekday at 9am"),
        ("every day at 9", "ambiguous_hour", 13, '"09:00" or "21:00"'),
        ("9", "ambiguous_hour", 0, '"09:00" or "21:00"'),
        ("on the 1st at 8", "ambiguous_hour", 14, '"08:00" or "20:00"'),
        ("every wekday at 9am", "unknown_word", 6, '"weekday"'),
        ("evry day at 9am", "unknown_word", 0, '"every"'),
        ("every day", "missing_time", 0, "at 09:00"),
        ("every 29 feb", "missing_time", 0, "at 09:00"),
        ("tomorrow", "missing_time", 0, "at 09:00"),
        ("every day at 25:00", "no_such_time", 13, "00 to 23"),
        ("every day at 24:00", "hour_24", 13, "00:00"),
        ("every day at 13pm", "hour_does_not_fit", 13, "24-hour"),
        ("tomorrow at midnight", "midnight_twice", 12, "00:00"),
        ("friday at 9:00", "once_or_weekly", 0, "every friday at 9:00"),
        ("every 2nd tuesday at 10:00", "nth_of_what", 0, "2nd Tuesday"),
        ("every 0.5ms", "sub_millisecond", 6, "whole milliseconds"),
        ("every 0s", "sub_millisecond", 6, "whole milliseconds"),
        ("every 10m on the 1st", "interval_and_days", 0, "between 09:00 and 18:00"),
        ("between 9:00 and 18:00", "window_without_step", 0, "every 10m"),
        ("2026-02-30 10:00", "bad_date", 0, "Check"),
        ("every day at 9:00 CST", "ambiguous_zone", 18, "America/Chicago or Asia/Shanghai"),
        ("every day at 9:00 Europe/Berlln", "unknown_zone", 18, "Europe/Berlin"),
        ("every day at 9:00 except holidays(CN)", "no_holidays", 18, "except 2026-12-25"),
        ("every day at 9:00 every 5m", "interval_and_days", 18, "between"),
        ("every day at 9:00 5 times 6 times", "said_twice", 26, "one of them"),
        ("fri to mon at 9:00", "backwards_weekdays", 4, "one by one"),
        ("60 * * * *", "out_of_range", 0, "0 to 59"),
        ("* * *", "field_count", 5, "minute hour day month weekday"),
        ("cron 0 24 * * *", "out_of_range", 7, "0 to 23"),
        ("RRULE:FREQ=DAILY;INTERVAL=0", "rrule_bad_interval", 17, ""),
        ("R/nonsense/PT5M", "bad_moment", 2, ""),
        ('{"kind": "cron"', "bad_json", 0, "mapping"),
        ("every 5m \u2603", "unknown_sign", 9, ""),
    ],
)
def test_refused_at_the_place_with_a_hint(text: str, code: str, position: int, hint: str) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(text, zone=ZONE, now=NOW)
    assert (refusal.value.code, refusal.value.position) == (code, position)
    assert hint in refusal.value.hint
    assert refusal.value.message
    assert refusal.value.in_language("zh").message != refusal.value.message


def test_a_recurrence_as_calendars_write_it() -> None:
    text = """DTSTART;TZID=Europe/Berlin:20260105T090000
RRULE:FREQ=WEEKLY;BYDAY=MO
EXDATE;TZID=Europe/Berlin:20260112T090000"""
    schedule = horae.parse(text, zone=ZONE)
    assert to_json(schedule) == {
        "kind": "rrule",
        "rule": "FREQ=WEEKLY;BYDAY=MO",
        "exclude": ["2026-01-12T09:00:00"],
        "zone": "Europe/Berlin",
        "start": "2026-01-05T09:00:00",
    }
    fires = horae.preview(schedule, after=datetime(2026, 1, 1, tzinfo=UTC), limit=2)
    assert fires == [datetime(2026, 1, 5, 8, tzinfo=UTC), datetime(2026, 1, 19, 8, tzinfo=UTC)]


@pytest.mark.parametrize(
    "text",
    [
        "DTSTART:20261399T000000",
        "DTSTART:x",
        "DTSTART:20260101",
        "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY\nLOCATION:here",
    ],
)
def test_a_broken_calendar_entry_is_refused(text: str) -> None:
    with pytest.raises(horae.InvalidSchedule):
        horae.parse(text, zone=ZONE)


def test_relative_words_need_a_zone_to_be_read_in() -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse("tomorrow at 9am", now=NOW)
    assert refusal.value.code == "zone_missing"


def test_relative_words_are_never_remembered() -> None:
    later = datetime(2026, 12, 1, tzinfo=UTC)
    assert horae.parse("tomorrow at 9am", zone=ZONE, now=NOW) != horae.parse("tomorrow at 9am", zone=ZONE, now=later)
