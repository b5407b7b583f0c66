"""The examples of RFC 5545, section 3.8.5.3: rule, start, instants."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from horae.schedule.days import LAST_LOCAL
from horae.schedule.instants import wall_reading, wall_seconds
from tests.unit.schedule.recurrence_rules import pattern, walk, wall

NINE = "1997-09-02T09:00"  # a Tuesday; the start of nearly every example there

# (rule, start, what follows as month-day, or day alone in the same month, of the years named)
EXAMPLES: list[tuple[str, str, list[str]]] = [
    ("FREQ=DAILY", NINE, ["1997-09-02", "1997-09-03", "1997-09-04"]),
    ("FREQ=DAILY;INTERVAL=2", NINE, ["1997-09-02", "1997-09-04", "1997-09-06", "1997-09-08"]),
    ("FREQ=DAILY;INTERVAL=10", NINE, ["1997-09-02", "1997-09-12", "1997-09-22", "1997-10-02", "1997-10-12"]),
    ("FREQ=DAILY;BYMONTH=1", "1998-01-30T09:00", ["1998-01-30", "1998-01-31", "1999-01-01", "1999-01-02"]),
    (
        "FREQ=YEARLY;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
        "1998-01-30T09:00",
        ["1998-01-30", "1998-01-31", "1999-01-01", "1999-01-02"],
    ),
    ("FREQ=WEEKLY", NINE, ["1997-09-02", "1997-09-09", "1997-09-16", "1997-09-23"]),
    ("FREQ=WEEKLY;INTERVAL=2;WKST=SU", NINE, ["1997-09-02", "1997-09-16", "1997-09-30", "1997-10-14"]),
    ("FREQ=WEEKLY;WKST=SU;BYDAY=TU,TH", NINE, ["1997-09-02", "1997-09-04", "1997-09-09", "1997-09-11"]),
    (
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,WE,FR",
        "1997-09-01T09:00",
        ["1997-09-01", "1997-09-03", "1997-09-05", "1997-09-15", "1997-09-17", "1997-09-19", "1997-09-29"],
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=TU,TH",
        NINE,
        ["1997-09-02", "1997-09-04", "1997-09-16", "1997-09-18", "1997-09-30"],
    ),
    ("FREQ=MONTHLY;BYDAY=1FR", "1997-09-05T09:00", ["1997-09-05", "1997-10-03", "1997-11-07", "1997-12-05"]),
    (
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=1SU,-1SU",
        "1997-09-07T09:00",
        ["1997-09-07", "1997-09-28", "1997-11-02", "1997-11-30", "1998-01-04", "1998-01-25", "1998-03-01"],
    ),
    ("FREQ=MONTHLY;BYDAY=-2MO", "1997-09-22T09:00", ["1997-09-22", "1997-10-20", "1997-11-17", "1997-12-22"]),
    ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28T09:00", ["1997-09-28", "1997-10-29", "1997-11-28", "1997-12-29"]),
    ("FREQ=MONTHLY;BYMONTHDAY=2,15", NINE, ["1997-09-02", "1997-09-15", "1997-10-02", "1997-10-15"]),
    (
        "FREQ=MONTHLY;BYMONTHDAY=1,-1",
        "1997-09-30T09:00",
        ["1997-09-30", "1997-10-01", "1997-10-31", "1997-11-01", "1997-11-30"],
    ),
    (
        "FREQ=MONTHLY;INTERVAL=18;BYMONTHDAY=10,11,12,13,14,15",
        "1997-09-10T09:00",
        ["1997-09-10", "1997-09-11", "1997-09-12", "1997-09-13", "1997-09-14", "1997-09-15", "1999-03-10"],
    ),
    (
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        NINE,
        ["1997-09-02", "1997-09-09", "1997-09-16", "1997-09-23", "1997-09-30", "1997-11-04"],
    ),
    ("FREQ=YEARLY;BYMONTH=6,7", "1997-06-10T09:00", ["1997-06-10", "1997-07-10", "1998-06-10", "1998-07-10"]),
    (
        "FREQ=YEARLY;INTERVAL=2;BYMONTH=1,2,3",
        "1997-03-10T09:00",
        ["1997-03-10", "1999-01-10", "1999-02-10", "1999-03-10", "2001-01-10"],
    ),
    (
        "FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200",
        "1997-01-01T09:00",
        ["1997-01-01", "1997-04-10", "1997-07-19", "2000-01-01", "2000-04-09", "2000-07-18", "2003-01-01"],
    ),
    ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19T09:00", ["1997-05-19", "1998-05-18", "1999-05-17"]),
    ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12T09:00", ["1997-05-12", "1998-05-11", "1999-05-17"]),
    ("FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "1997-03-13T09:00", ["1997-03-13", "1997-03-20", "1997-03-27", "1998-03-05"]),
    (
        "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        "1997-06-05T09:00",
        ["1997-06-05", "1997-06-12", "1997-06-19", "1997-06-26", "1997-07-03"],
    ),
    (
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        NINE,
        ["1998-02-13", "1998-03-13", "1998-11-13", "1999-08-13", "2000-10-13"],
    ),
    (
        "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        "1997-09-13T09:00",
        ["1997-09-13", "1997-10-11", "1997-11-08", "1997-12-13", "1998-01-10"],
    ),
    (
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996-11-05T09:00",
        ["1996-11-05", "2000-11-07", "2004-11-02"],
    ),
    ("FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04T09:00", ["1997-09-04", "1997-10-07", "1997-11-06"]),
    (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997-09-29T09:00",
        ["1997-09-29", "1997-10-30", "1997-11-27", "1997-12-30", "1998-01-29"],
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO",
        "1997-08-05T09:00",
        ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"],
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
        "1997-08-05T09:00",
        ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"],
    ),
    (
        "FREQ=MONTHLY;BYMONTHDAY=15,30",
        "2007-01-15T09:00",
        ["2007-01-15", "2007-01-30", "2007-02-15", "2007-03-15", "2007-03-30"],
    ),
    # What the RFC says in words, not in examples.
    ("FREQ=MONTHLY", "2026-01-31T09:00", ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31"]),
    ("FREQ=YEARLY", "2024-02-29T09:00", ["2024-02-29", "2028-02-29", "2032-02-29"]),
    ("FREQ=YEARLY;BYMONTHDAY=15", "2026-11-01T09:00", ["2026-11-15", "2026-12-15", "2027-01-15"]),
    ("FREQ=YEARLY;BYWEEKNO=20", "2026-05-13T09:00", ["2026-05-13", "2027-05-19", "2028-05-17"]),
    ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", "2025-01-01T09:00", ["2025-12-29", "2027-01-04", "2028-01-03"]),
    ("FREQ=YEARLY;INTERVAL=2;BYWEEKNO=1;BYDAY=MO", "2024-01-01T09:00", ["2024-01-01", "2025-12-29", "2028-01-03"]),
    ("FREQ=YEARLY;BYWEEKNO=-1;BYDAY=SU", "2026-01-01T09:00", ["2027-01-03", "2028-01-02", "2028-12-31"]),
    ("FREQ=YEARLY;BYDAY=53MO", "2026-01-01T09:00", ["2029-12-31", "2035-12-31"]),
    ("FREQ=MONTHLY;BYDAY=MO,1TU", "2026-06-01T09:00", ["2026-06-01", "2026-06-02", "2026-06-08", "2026-06-15"]),
    ("FREQ=YEARLY;BYMONTH=1,3;BYDAY=-1SU", "2026-01-01T09:00", ["2026-01-25", "2026-03-29", "2027-01-31"]),
    ("FREQ=YEARLY;BYYEARDAY=-1,366", "2026-01-01T09:00", ["2026-12-31", "2027-12-31", "2028-12-31", "2029-12-31"]),
]


@pytest.mark.parametrize(("rule", "start", "days"), EXAMPLES, ids=[f"{row[0]} {row[1]}" for row in EXAMPLES])
def test_days(rule: str, start: str, days: list[str]) -> None:
    found = walk(pattern(rule, wall(start)), None, len(days))

    assert found == [wall(f"{day}T{wall(start):%H:%M}") for day in days]


TIMES: list[tuple[str, str, list[str]]] = [
    (
        "FREQ=HOURLY;INTERVAL=3",
        "1997-09-02T09:00",
        ["02T09:00", "02T12:00", "02T15:00", "02T18:00", "02T21:00", "03T00:00"],
    ),
    ("FREQ=MINUTELY;INTERVAL=15", "1997-09-02T09:00", ["02T09:00", "02T09:15", "02T09:30", "02T09:45", "02T10:00"]),
    ("FREQ=MINUTELY;INTERVAL=90", "1997-09-02T09:00", ["02T09:00", "02T10:30", "02T12:00", "02T13:30"]),
    (
        "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
        "1997-09-02T16:20",
        ["02T16:20", "02T16:40", "03T09:00", "03T09:20"],
    ),
    (
        "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
        "1997-09-02T16:20",
        ["02T16:20", "02T16:40", "03T09:00", "03T09:20"],
    ),
    ("FREQ=DAILY;BYHOUR=6,18;BYMINUTE=15;BYSETPOS=-1", "1997-09-02T06:00", ["02T18:15", "03T18:15"]),
    ("FREQ=HOURLY;BYMINUTE=0,20,40;BYSETPOS=2", "1997-09-02T09:30", ["02T10:20", "02T11:20"]),
    ("FREQ=HOURLY", "1997-09-02T09:07:08", ["02T09:07:08", "02T10:07:08"]),
    ("FREQ=HOURLY;INTERVAL=5;BYMINUTE=0", "1997-09-02T09:30", ["02T14:00", "02T19:00", "03T00:00", "03T05:00"]),
    ("FREQ=MINUTELY;BYSECOND=10,50;BYMINUTE=59", "1997-09-02T09:59:20", ["02T09:59:50", "02T10:59:10"]),
    ("FREQ=SECONDLY;INTERVAL=7;BYSECOND=0", "1997-09-02T09:00:00", ["02T09:00", "02T09:07", "02T09:14"]),
    ("FREQ=SECONDLY;INTERVAL=45;BYDAY=TH", "1997-09-03T23:59:30", ["04T00:00:15", "04T00:01:00"]),
]


@pytest.mark.parametrize(("rule", "start", "times"), TIMES, ids=[row[0] for row in TIMES])
def test_times(rule: str, start: str, times: list[str]) -> None:
    assert walk(pattern(rule, wall(start)), None, len(times)) == [wall(f"1997-09-{each}") for each in times]


def test_a_start_that_does_not_match_is_no_occurrence() -> None:
    friday = pattern("FREQ=WEEKLY;BYDAY=FR", wall("2026-06-01T09:00"))

    assert walk(friday, None, 1) == [wall("2026-06-05T09:00")]


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("20260103", "2026-01-03T09:00"),
        ("20260103T090000", "2026-01-03T09:00"),
        ("20260103T085959", "2026-01-02T09:00"),
    ],
)
def test_until_is_inclusive(until: str, last: str) -> None:
    daily = pattern(f"FREQ=DAILY;UNTIL={until}", wall("2026-01-01T09:00"))

    assert walk(daily, None, 100)[-1] == wall(last)
    assert daily.next_local(wall_seconds(wall(last))) is None


def test_count_and_an_until_in_utc_are_left_to_the_instants() -> None:
    for rule in ("FREQ=DAILY;COUNT=1", "FREQ=DAILY;UNTIL=20200101T000000Z"):
        assert len(walk(pattern(rule, wall("2026-01-01T09:00")), None, 50)) == 50


@pytest.mark.parametrize("week", [1, 2, 26, 52, 53, -1, -2, -52, -53])
def test_week_numbers_are_those_of_iso_8601(week: int) -> None:
    weeks = pattern(f"FREQ=YEARLY;BYWEEKNO={week};BYDAY=MO,TU,WE,TH,FR,SA,SU", wall("1990-01-01"))
    found = {each.date() for each in walk(weeks, None, 400) if each.year < 2040}

    assert found == {day for day in _days(date(1990, 1, 1), max(found)) if week in _iso_weeks(day)}


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=each) for each in range((last - first).days + 1)]


def _iso_weeks(day: date) -> tuple[int, int]:
    year, week, _ = day.isocalendar()
    return week, week - date(year, 12, 28).isocalendar().week - 1


def test_next_from_any_instant_needs_no_iteration() -> None:
    daily = pattern("FREQ=DAILY;INTERVAL=3;BYHOUR=9", wall("0001-01-01"))

    found = daily.next_local(wall_seconds(wall("9999-12-20T09:00")))

    assert found is not None
    assert (wall_reading(found) - wall("0001-01-01T09:00")) % timedelta(days=3) == timedelta(0)


@pytest.mark.parametrize("freq", ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"])
@pytest.mark.parametrize("parts", ["", ";BYMONTH=1,12", ";BYDAY=MO,FR;WKST=TH", ";BYHOUR=0,23;BYSECOND=0,59"])
def test_the_ends_of_the_calendar(freq: str, parts: str) -> None:
    first = pattern(f"FREQ={freq}{parts}", wall("0001-01-01"))
    last = pattern(f"FREQ={freq}{parts}", wall("9998-01-01"))

    assert walk(first, None, 1)[0] == wall("0001-01-01")
    assert first.next_local(LAST_LOCAL - 1) in (None, LAST_LOCAL)
    assert first.next_local(LAST_LOCAL) is None
    assert all(each.year == 9999 for each in walk(last, wall("9999-12-31T23:00"), 20))


def test_week_number_years_reach_over_the_ends_of_the_calendar() -> None:
    for day in ("MO", "TU", "WE", "TH", "FR", "SA", "SU"):
        weeks = pattern(f"FREQ=YEARLY;BYWEEKNO=1,-1;BYDAY=MO,SU;WKST={day}", wall("0001-01-01"))
        assert walk(weeks, None, 1)[0] < wall("0001-01-15")
        assert all(each.year == 9999 for each in walk(weeks, wall("9999-06-01"), 10))
