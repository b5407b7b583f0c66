"""DailyUse recurrences: month ends, fixed anchors, round trips."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import Calendar, Cron, Every, NthWeekday, Once, Past, first, iterate
from horae.schedule import next as next_of
from horae.schedule.compat import Translation, dailyuse

BERLIN = "Europe/Berlin"
SHANGHAI = "Asia/Shanghai"


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def recurring(at: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"scheduledTime": at, "recurrence": {"type": kind, "interval": 1, **fields}}


@pytest.mark.parametrize(
    ("mapping", "zone", "fires"),
    [
        # the same time of day through a clock change, from wall time and from an instant
        (recurring("2026-03-28T09:00:00", "DAILY"), BERLIN, ["2026-03-28T08:00Z", "2026-03-29T07:00Z"]),
        (recurring("2026-03-28T08:00:00.000Z", "DAILY"), BERLIN, ["2026-03-28T08:00Z", "2026-03-29T07:00Z"]),
        (
            recurring("2025-01-10T01:30:15Z", "DAILY", interval=3),
            SHANGHAI,
            ["2025-01-10T01:30:15Z", "2025-01-13T01:30:15Z"],
        ),
        # a time that the clock skips, and one that it shows twice
        (
            recurring("2026-03-28T02:30:00", "DAILY"),
            BERLIN,
            ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
        ),
        (
            recurring("2026-10-24T02:30:00", "DAILY"),
            BERLIN,
            ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"],
        ),
        # a month's end: clamped, never drifting, where DailyUse ran over to 3 March
        (
            recurring("2026-01-31T09:00:00", "MONTHLY"),
            BERLIN,
            ["2026-01-31T08:00Z", "2026-02-28T08:00Z", "2026-03-31T07:00Z", "2026-04-30T07:00Z", "2026-05-31T07:00Z"],
        ),
        (recurring("2026-01-31T09:00:00", "MONTHLY", interval=2), BERLIN, ["2026-01-31T08:00Z", "2026-03-31T07:00Z"]),
        (recurring("2026-01-10T09:00:00", "MONTHLY", dayOfMonth=30), "UTC", ["2026-01-30T09:00Z", "2026-02-28T09:00Z"]),
        # 31 January in Shanghai is still 30 January in UTC
        (recurring("2026-01-30T17:00:00Z", "MONTHLY"), SHANGHAI, ["2026-01-30T17:00Z", "2026-02-27T17:00Z"]),
        # Sunday is 0 there; 2026-03-02 is a Monday
        (recurring("2026-03-02T09:00:00", "WEEKLY"), "UTC", ["2026-03-02T09:00Z", "2026-03-09T09:00Z"]),
        (
            recurring("2026-03-02T09:00:00", "WEEKLY", daysOfWeek=[0, 3]),
            "UTC",
            ["2026-03-04T09:00Z", "2026-03-08T09:00Z"],
        ),
        (
            recurring("2026-03-02T09:00:00", "WEEKLY", interval=2, daysOfWeek=[1, 5]),
            "UTC",
            ["2026-03-02T09:00Z", "2026-03-06T09:00Z", "2026-03-16T09:00Z"],
        ),
        (
            recurring("2024-02-29T09:00:00", "YEARLY"),
            "UTC",
            ["2024-02-29T09:00Z", "2025-02-28T09:00Z", "2026-02-28T09:00Z", "2027-02-28T09:00Z", "2028-02-29T09:00Z"],
        ),
        (
            recurring("2026-03-02T09:10:00", "CUSTOM", cronExpression="0 9 L * *"),
            BERLIN,
            ["2026-03-31T07:00Z", "2026-04-30T07:00Z"],
        ),
    ],
)
def test_recurrences_fire_where_people_expect_them(mapping: dict[str, Any], zone: str, fires: list[str]) -> None:
    schedule = dailyuse.read(mapping, zone=zone).schedule
    past = Past(anchor=instant("2020-01-01T00:00Z"))

    found = [each for _, each in zip(fires, iterate(schedule, past.anchor, past), strict=False)]

    assert found == [instant(each) for each in fires]
    assert first(schedule, past) == found[0]


@pytest.mark.parametrize("recurrence", [None, {"type": "NONE"}, {"type": "NONE", "interval": 1}])
def test_entry_without_recurrence_fires_once(recurrence: Any) -> None:
    read = dailyuse.read({"scheduledTime": "2026-03-01T15:00:00", "recurrence": recurrence}, zone=SHANGHAI)

    assert read.schedule == Once(datetime(2026, 3, 1, 15), zone=SHANGHAI)
    assert [each.code for each in read.notes] == ["compat_once_local"]
    # there the third failure was final: three tries, and then the one occurrence has failed
    assert read.policies == {
        "retry": {"attempts": 3, "backoff": "PT1M", "factor": 1, "max": "PT1M"},
        "give_up_after": 1,
    }


def test_the_third_failed_occurrence_in_a_row_is_the_last() -> None:
    assert dailyuse.read(recurring("2026-03-01T15:00:00", "DAILY"), zone=SHANGHAI).policies == {"give_up_after": 3}


def test_recurrence_ends_with_its_date_or_count() -> None:
    by_date = dailyuse.read(recurring("2026-03-01T09:00:00", "DAILY", endDate="2026-03-02"), zone="UTC")
    by_time = dailyuse.read(recurring("2026-03-01T09:00:00", "DAILY", endDate="2026-03-02T08:59:59Z"), zone="UTC")
    by_number = dailyuse.read(recurring("2026-03-01T09:00:00", "DAILY", maxOccurrences=2), zone="UTC")
    past = Past(anchor=instant("2026-02-01T00:00Z"))

    assert len(list(iterate(by_date.schedule, past.anchor, past))) == 2
    assert len(list(iterate(by_time.schedule, past.anchor, past))) == 1
    assert len(list(iterate(by_number.schedule, past.anchor, past))) == 2
    assert next_of(by_number.schedule, past.anchor, Past(past.anchor, counted=2)) is None
    assert [each.code for each in by_date.notes] == ["compat_end_whole_day"]


def test_the_second_of_two_equal_times_is_kept() -> None:
    """02:30 comes twice in Berlin on 25 October; this is the later one, and the first run must not be lost."""
    read = dailyuse.read(recurring("2026-10-25T01:30:00Z", "DAILY"), zone=BERLIN)
    past = Past(anchor=instant("2026-10-01T00:00Z"))

    fires = [each for _, each in zip(range(2), iterate(read.schedule, past.anchor, past), strict=False)]

    assert fires == [instant("2026-10-25T01:30Z"), instant("2026-10-26T01:30Z")]
    assert [each.code for each in read.notes] == ["compat_second_pass"]


@pytest.mark.parametrize(
    ("mapping", "notes"),
    [
        (recurring("2026-01-28T09:00:00", "MONTHLY"), []),
        (recurring("2026-01-29T09:00:00", "MONTHLY"), ["compat_month_clamped"]),
        (recurring("2026-01-10T09:00:00", "MONTHLY", dayOfMonth=10), []),
        (recurring("2026-01-10T09:00:00", "MONTHLY", dayOfMonth=11), ["compat_first_run_moved"]),
        (recurring("2024-02-29T09:00:00", "YEARLY"), ["compat_leap_day"]),
        (recurring("2026-03-02T09:00:00", "WEEKLY", interval=2), ["compat_week_monday"]),
        (recurring("2026-03-02T09:00:00.250", "DAILY"), ["compat_fraction_dropped"]),
        (recurring("2026-03-02T09:00:00", "DAILY", dayOfMonth=4, daysOfWeek=[]), ["compat_fields_unused"]),
        (recurring("2026-03-02T09:00:00", "DAILY", dayOfMonth=None, color="red"), ["compat_fields_unused"]),
        (recurring("2026-03-02T09:00:00", "CUSTOM", interval=2, cronExpression="0 9 * * *"), ["compat_fields_unused"]),
        (
            recurring("2026-01-10T09:00:00", "MONTHLY", dayOfMonth=9, endDate="2026-02-01T00:00:00"),
            ["compat_never_runs"],
        ),
    ],
)
def test_surprising_recurrences_have_a_note(mapping: dict[str, Any], notes: list[str]) -> None:
    assert [each.code for each in dailyuse.read(mapping, zone="UTC").notes] == notes


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({}, "compat_missing"),
        ({"scheduledTime": "2026-03-01"}, "compat_not_a_time"),
        ({"scheduledTime": 1772348400000}, "compat_not_a_time"),
        ({"scheduledTime": "2026-03-01T15:00:00", "recurrence": "DAILY"}, "compat_not_a_mapping"),
        ({"scheduledTime": "2026-03-01T15:00:00", "recurrence": {}}, "compat_missing"),
        (recurring("2026-03-01T15:00:00", "HOURLY"), "compat_unknown_choice"),
        (recurring("2026-03-01T15:00:00", "DAILY", interval=0), "compat_out_of_range"),
        (recurring("2026-03-01T15:00:00", "DAILY", interval=1.5), "compat_not_whole"),
        (recurring("2026-03-01T15:00:00", "DAILY", interval=1001), "compat_out_of_range"),
        (recurring("2026-03-01T15:00:00", "DAILY", maxOccurrences=0), "compat_out_of_range"),
        (recurring("2026-03-01T15:00:00", "DAILY", endDate="2026-02-28"), "empty_window"),
        (recurring("2026-03-01T15:00:00", "DAILY", endDate="never"), "compat_not_a_time"),
        (recurring("2026-03-01T15:00:00", "WEEKLY", daysOfWeek=[7]), "compat_out_of_range"),
        (recurring("2026-03-01T15:00:00", "WEEKLY", daysOfWeek="1,2"), "compat_bad_weekdays"),
        (recurring("2026-03-01T15:00:00", "WEEKLY", daysOfWeek=[True]), "compat_not_whole"),
        (recurring("2026-03-01T15:00:00", "MONTHLY", dayOfMonth=32), "compat_out_of_range"),
        (recurring("2026-03-01T15:00:00", "CUSTOM"), "compat_missing"),
        (recurring("2026-03-01T15:00:00", "CUSTOM", cronExpression="0 9 * *"), "field_count"),
        # a field that has no say must still make sense
        (recurring("2026-03-01T15:00:00", "DAILY", cronExpression={}), "compat_not_text"),
    ],
)
def test_invalid_input_is_refused(mapping: Any, code: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        dailyuse.read(mapping, zone="UTC")

    assert refused.value.code == code


ZONES = st.sampled_from([BERLIN, SHANGHAI, "UTC", "America/New_York"])
WALL = st.datetimes(datetime(1995, 1, 1), datetime(2100, 1, 1))
SECONDS = WALL.map(lambda at: at.replace(microsecond=0))
INSTANTS = SECONDS.map(lambda at: at.replace(tzinfo=UTC))
ENDS = st.dates(date(2101, 1, 1), date(2200, 1, 1))
LATE = st.datetimes(datetime(2101, 1, 1), datetime(2200, 1, 1))
EXPRESSIONS = st.sampled_from(["0 9 * * *", "*/5 * * * mon", " 0  0 L * * ", "@weekly"])
LIMITS: dict[str, st.SearchStrategy[Any]] = {
    "endDate": st.none()
    | ENDS.map(str)
    | LATE.map(datetime.isoformat)
    | LATE.map(lambda at: at.isoformat() + "Z")
    | LATE,
    "maxOccurrences": st.none() | st.integers(1, 10**9),
}
EVERY: dict[str, st.SearchStrategy[Any]] = {"interval": st.none() | st.integers(1, 400) | st.integers(1, 9).map(str)}
WEEKDAYS = st.lists(st.integers(0, 6), max_size=7)
RECURRENCES = st.one_of(
    st.none(),
    st.fixed_dictionaries({"type": st.just("NONE")}, optional=EVERY | LIMITS | {"dayOfMonth": st.integers(1, 31)}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["DAILY", "YEARLY"])}, optional=EVERY | LIMITS | {"daysOfWeek": WEEKDAYS}
    ),
    st.fixed_dictionaries({"type": st.just("WEEKLY")}, optional=EVERY | LIMITS | {"daysOfWeek": st.none() | WEEKDAYS}),
    st.fixed_dictionaries(
        {"type": st.just("MONTHLY")}, optional=EVERY | LIMITS | {"dayOfMonth": st.none() | st.integers(1, 31)}
    ),
    st.fixed_dictionaries({"type": st.just("CUSTOM"), "cronExpression": EXPRESSIONS}, optional=EVERY | LIMITS),
)
TIMES = st.builds(
    lambda at, timespec, suffix: at.isoformat(timespec=timespec) + suffix,
    WALL,
    st.sampled_from(["minutes", "seconds", "milliseconds"]),
    st.sampled_from(["", "Z", "+08:00"]),
)
SPELLINGS = st.fixed_dictionaries({"scheduledTime": TIMES | WALL | INSTANTS}, optional={"recurrence": RECURRENCES})


@given(SPELLINGS, ZONES)
def test_round_trip_loses_nothing(mapping: dict[str, Any], zone: str) -> None:
    read = dailyuse.read(mapping, zone=zone)
    back = dailyuse.write(read, zone=zone)

    assert back == mapping
    assert repr(back["scheduledTime"]) == repr(mapping["scheduledTime"])
    again = dailyuse.read(dailyuse.write(Translation(read.schedule, read.policies), zone=zone), zone=zone)
    assert (again.schedule, again.policies) == (read.schedule, read.policies)


def calendar(at: datetime, unit: Any, every: int, on: tuple[int, ...], zone: str, **limits: Any) -> Calendar:
    months = (at.month,) if unit == "year" else ()
    return Calendar(unit=unit, every=every, on=on, months=months, at=(at.time(),), zone=zone, start=at, **limits)


@st.composite
def expressible(draw: st.DrawFn) -> Calendar | Cron | Once:
    at, zone = draw(SECONDS), draw(ZONES)
    limits: dict[str, Any] = {"end": draw(st.none() | ENDS | LATE), "repeat": draw(st.none() | st.integers(1, 9))}
    every = draw(st.integers(1, 400))
    match draw(st.sampled_from(["once", "cron", "day", "week", "month", "year"])):
        case "once":
            return Once(draw(st.sampled_from([at, at.replace(tzinfo=UTC)])))
        case "cron":
            return Cron(
                draw(EXPRESSIONS), zone=zone, start=draw(st.sampled_from([at, at.replace(tzinfo=UTC)])), **limits
            )
        case "day":
            return calendar(at, "day", every, (), zone, **limits)
        case "week":
            days = draw(st.sets(st.integers(0, 6), min_size=1))
            return calendar(at, "week", every, tuple(days), zone, **limits)
        case "month":
            return calendar(at, "month", every, (draw(st.integers(1, 31)),), zone, **limits)
        case _:
            return calendar(at, "year", every, (at.day,), zone, **limits)


@given(expressible())
def test_every_expressible_schedule_round_trips(schedule: Calendar | Cron | Once) -> None:
    zone = schedule.zone or BERLIN

    found = dailyuse.read(dailyuse.write(Translation(schedule), zone=zone), zone=zone).schedule

    assert found.with_defaults(zone) == schedule.with_defaults(zone)


START = datetime(2026, 1, 31, 9)
NINE = (time(9),)


@pytest.mark.parametrize(
    ("schedule", "code", "told"),
    [
        (Every(timedelta(hours=1)), "compat_no_kind", "every"),
        (Cron("0 9 * * *"), "compat_start_missing", "start"),
        (Calendar(unit="day", at=NINE), "compat_start_missing", "start"),
        (Calendar(unit="day", at=NINE, start=START.date()), "compat_lost", "start"),
        (Calendar(unit="day", at=(time(9), time(17)), start=START), "compat_lost", "at"),
        (Calendar(unit="day", at=(time(10),), start=START), "compat_lost", "at"),
        (Calendar(unit="month", on=(-1,), at=NINE, start=START), "compat_lost", "on"),
        (Calendar(unit="month", on=(1, 15), at=NINE, start=START), "compat_lost", "on"),
        (Calendar(unit="month", on=(NthWeekday(4, -1),), at=NINE, start=START), "compat_lost", "on"),
        (Calendar(unit="month", on=(31,), months=(1, 2), at=NINE, start=START), "compat_lost", "months"),
        (Calendar(unit="year", on=(30,), months=(1,), at=NINE, start=START), "compat_lost", "on"),
        (Calendar(unit="day", at=NINE, start=START, exclude=(date(2026, 12, 25),)), "compat_lost", "exclude"),
        (Calendar(unit="day", at=NINE, start=START, repeat=2, counting="planned"), "compat_lost", "counting"),
        (Calendar(unit="day", at=NINE, start=START, fold="last"), "compat_lost", "fold"),
        (Calendar(unit="day", at=NINE, start=START, zone=SHANGHAI), "compat_lost", "zone"),
    ],
)
def test_inexpressible_schedule_is_refused_by_name(schedule: Any, code: str, told: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        dailyuse.write(Translation(schedule), zone=BERLIN)

    assert refused.value.code == code
    assert told in refused.value.message
