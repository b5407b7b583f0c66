"""fun-ai-station spellings: seconds, UTC times, documented oddities with a warning, round trips."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import Calendar, Cron, Every, Now, Once, Past, first, iterate
from horae.schedule import next as next_of
from horae.schedule.compat import Translation, fun_ai_station

BERLIN = "Europe/Berlin"
FOR_EVER = {
    "retry": {
        "attempts": None,
        "backoff": "PT1M",
        "factor": 1,
        "max": "PT1M",
        "jitter": "none",
        "superseded_by_next": False,
    },
    "give_up_after": None,
}


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("expression", "timezone", "after", "fires"),
    [
        ("0 9 * * *", "Asia/Shanghai", "2026-02-27T02:00Z", ["2026-02-28T01:00Z", "2026-03-01T01:00Z"]),
        ("0 9 L * *", BERLIN, "2026-01-31T08:00Z", ["2026-02-28T08:00Z", "2026-03-31T07:00Z"]),
        ("30 2 * * *", BERLIN, "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
        ("30 2 * * *", BERLIN, "2026-10-24T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
    ],
)
def test_cron_fires_in_its_timezone(expression: str, timezone: str, after: str, fires: list[str]) -> None:
    mapping = {"schedule_type": "cron", "schedule_expr": expression, "timezone": timezone}
    schedule = fun_ai_station.read(mapping).schedule
    past = Past(anchor=instant(after))

    found = [each for _, each in zip(fires, iterate(schedule, past.anchor, past), strict=False)]

    assert found == [instant(each) for each in fires]


def test_an_interval_counts_from_the_finish() -> None:
    read = fun_ai_station.read({"schedule_type": "interval", "schedule_expr": "60", "timezone": "UTC"})
    created = Past(anchor=instant("2026-02-27T01:00Z"))

    assert read == Translation(Every(timedelta(seconds=60), "end", zone="UTC"), FOR_EVER)
    assert first(read.schedule, created) == instant("2026-02-27T01:01Z")
    ended = replace(created, last_end=instant("2026-02-27T01:01:20Z"))
    assert next_of(read.schedule, instant("2026-02-27T01:01:20Z"), ended) == instant("2026-02-27T01:02:20Z")


def test_the_first_run_of_an_interval_may_be_chosen() -> None:
    mapping = {"schedule_type": "interval", "schedule_expr": 90, "next_run_at": "2026-02-27T01:30:00"}

    schedule = fun_ai_station.read(mapping).schedule

    assert first(schedule, Past(anchor=instant("2026-02-27T01:00Z"))) == instant("2026-02-27T01:30Z")


def test_first_run_off_the_expression_is_moved_with_a_note() -> None:
    mapping = {"schedule_expr": "0 9 * * *", "timezone": "Asia/Shanghai", "next_run_at": "2026-02-27T01:30:00"}

    read = fun_ai_station.read(mapping)

    assert first(read.schedule, Past(anchor=instant("2026-02-26T00:00Z"))) == instant("2026-02-28T01:00Z")
    assert [each.code for each in read.notes] == ["compat_first_run_moved"]
    assert "2026-02-28T01:00:00Z" in read.notes[0].english
    assert not fun_ai_station.read(mapping | {"next_run_at": "2026-02-27T01:00:00"}).notes


def test_first_run_beyond_the_calendar_has_a_note() -> None:
    late = {"schedule_expr": "0 0 1 1 *", "timezone": "UTC", "next_run_at": "9999-12-27T23:00:00"}

    assert [each.code for each in fun_ai_station.read(late).notes] == ["compat_never_runs"]


@pytest.mark.parametrize(
    ("next_run_at", "fires", "note"),
    [
        ("2026-02-27T01:30:00", "2026-02-27T01:30Z", "compat_naive_is_utc"),
        ("2026-02-27T01:30:00Z", "2026-02-27T01:30Z", "compat_once_instant"),
        ("2026-02-27T09:30:00+08:00", "2026-02-27T01:30Z", "compat_once_instant"),
        (datetime(2026, 2, 27, 1, 30), "2026-02-27T01:30Z", "compat_naive_is_utc"),
        (datetime(2026, 2, 27, 1, 30, tzinfo=UTC), "2026-02-27T01:30Z", "compat_once_instant"),
    ],
)
def test_once_is_an_instant_and_utc_without_a_suffix(next_run_at: Any, fires: str, note: str) -> None:
    read = fun_ai_station.read({"schedule_type": "once", "next_run_at": next_run_at, "timezone": "Asia/Shanghai"})

    assert read.schedule == Once(instant(fires), zone="Asia/Shanghai")
    assert [each.code for each in read.notes] == [note]
    assert "2026-02-27 09:30:00 in Asia/Shanghai" in read.notes[0].english


@pytest.mark.parametrize(
    ("mapping", "schedule", "notes"),
    [
        ({"schedule_type": "interval", "schedule_expr": "0"}, Every(timedelta(minutes=1), "end"), ["interval_default"]),
        (
            {"schedule_type": "interval", "schedule_expr": -(10**40)},
            Every(timedelta(minutes=1), "end"),
            ["interval_default"],
        ),
        ({"schedule_type": "interval", "schedule_expr": "9"}, Every(timedelta(seconds=9), "end"), ["below_minimum"]),
        ({"schedule_type": "interval", "schedule_expr": "10"}, Every(timedelta(seconds=10), "end"), []),
        (
            {"schedule_type": "cron", "schedule_expr": " ", "timezone": BERLIN},
            Cron("* * * * *", zone=BERLIN),
            ["cron_default"],
        ),
        ({}, Cron("* * * * *", zone="UTC"), ["cron_default", "zone_assumed"]),
        ({"schedule_expr": "0 9 * * *", "timezone": ""}, Cron("0 9 * * *", zone="UTC"), ["zone_assumed"]),
    ],
)
def test_documented_oddities_are_kept_with_a_warning(mapping: dict[str, Any], schedule: Any, notes: list[str]) -> None:
    read = fun_ai_station.read(mapping)

    assert read.schedule == schedule
    assert [each.code for each in read.notes] == [f"compat_{each}" for each in notes]
    assert fun_ai_station.write(read) == mapping


def test_disabled_is_paused() -> None:
    read = fun_ai_station.read({"schedule_type": "interval", "schedule_expr": "60", "enabled": False})

    assert read.policies == FOR_EVER | {"paused": {"counting": False}}
    assert fun_ai_station.write(Translation(read.schedule, read.policies))["enabled"] is False


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({"schedule_type": "interval"}, "compat_missing"),
        ({"schedule_type": "interval", "schedule_expr": ""}, "compat_bad_seconds"),
        ({"schedule_type": "interval", "schedule_expr": "60s"}, "compat_bad_seconds"),
        ({"schedule_type": "interval", "schedule_expr": "1.5"}, "compat_bad_seconds"),
        ({"schedule_type": "interval", "schedule_expr": 10**30}, "compat_bad_seconds"),
        ({"schedule_type": "once"}, "compat_missing"),
        ({"schedule_type": "once", "next_run_at": "2026-02-27"}, "compat_not_a_time"),
        ({"schedule_type": "once", "next_run_at": 1772155800}, "compat_not_a_time"),
        ({"schedule_type": "once", "next_run_at": "2026-02-27T01:30:00", "schedule_expr": []}, "compat_not_text"),
        ({"schedule_type": "monthly"}, "compat_unknown_choice"),
        ({"schedule_expr": "0 9 * * *", "timezone": "Asia/Peking"}, "unknown_zone"),
        ({"schedule_expr": "0 9 * * *", "timezone": 8}, "compat_not_text"),
        ({"schedule_expr": "61 9 * * *", "timezone": "UTC"}, "out_of_range"),
        ({"schedule_expr": "0 9 * * *", "enabled": "maybe"}, "compat_not_flag"),
        (None, "compat_not_a_mapping"),
    ],
)
def test_invalid_input_is_refused(mapping: Any, code: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        fun_ai_station.read(mapping)

    assert refused.value.code == code


ZONES = st.sampled_from([BERLIN, "Asia/Shanghai", "UTC"])
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1))
INSTANTS = MOMENTS.map(lambda at: at.replace(tzinfo=UTC))
EXPRESSIONS = st.sampled_from(["0 9 * * *", "*/5 * * * mon", " 0  0 L * * ", "@weekly"])
SECONDS = st.integers(1, 3_000_000_000)
TIMES = (
    st.builds(lambda at, suffix: at.isoformat() + suffix, MOMENTS, st.sampled_from(["", "Z", "+08:00"]))
    | MOMENTS
    | INSTANTS
)
SPELLINGS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "schedule_type": st.just("cron"),
            "schedule_expr": EXPRESSIONS | st.sampled_from(["", " "]),
            "timezone": ZONES | st.none() | st.just(""),
            "next_run_at": TIMES | st.none(),
            "enabled": st.booleans() | st.sampled_from([0, 1, "true", "False"]),
        },
    ),
    st.fixed_dictionaries(
        {"schedule_type": st.just("interval"), "schedule_expr": st.integers(-5, 10**9) | SECONDS.map(str)},
        optional={"timezone": ZONES, "next_run_at": TIMES, "enabled": st.booleans()},
    ),
    st.fixed_dictionaries(
        {"schedule_type": st.just("once"), "next_run_at": TIMES},
        optional={"schedule_expr": st.just(""), "timezone": ZONES | st.none()},
    ),
)


@given(SPELLINGS, ZONES)
def test_round_trip_loses_nothing(mapping: dict[str, Any], zone: str) -> None:
    read = fun_ai_station.read(mapping, zone=zone)
    back = fun_ai_station.write(read, zone=zone)

    assert {key: repr(value) for key, value in back.items()} == {key: repr(value) for key, value in mapping.items()}
    again = fun_ai_station.read(fun_ai_station.write(Translation(read.schedule, read.policies), zone=zone), zone=zone)
    assert (again.schedule, again.policies) == (read.schedule, read.policies)


@given(
    st.one_of(
        st.builds(Cron, EXPRESSIONS, zone=ZONES, start=st.none() | INSTANTS),
        st.builds(
            lambda seconds, zone, start: Every(timedelta(seconds=seconds), "end", zone=zone, start=start),
            SECONDS,
            st.none() | ZONES,
            st.none() | INSTANTS,
        ),
        st.builds(Once, INSTANTS, zone=st.none() | ZONES),
    )
)
def test_every_expressible_schedule_round_trips(schedule: Cron | Every | Once) -> None:
    assert fun_ai_station.read(fun_ai_station.write(Translation(schedule))).schedule == schedule


@pytest.mark.parametrize(
    ("translation", "code", "told"),
    [
        (Translation(Now()), "compat_no_kind", "now"),
        (Translation(Calendar(unit="day", at=(datetime(2026, 1, 1, 9).time(),))), "compat_no_kind", "calendar"),
        (Translation(Every(timedelta(hours=1))), "compat_lost", "from"),
        (Translation(Every(timedelta(seconds=90.5), "end")), "compat_lost", "interval"),
        (Translation(Once(datetime(2026, 1, 1, 9), zone=BERLIN)), "compat_lost", "at"),
        (Translation(Cron("0 9 * * *", zone=BERLIN, start=datetime(2026, 1, 1).date())), "compat_lost", "start"),
        (Translation(Cron("0 9 * * *", zone=BERLIN, end=datetime(2026, 1, 1).date())), "compat_lost", "end"),
        (Translation(Cron("0 9 * * *", zone=BERLIN), {"give_up_after": 10}), "compat_lost", "give_up_after"),
        (Translation(Cron("0 9 * * *", zone=BERLIN), {"paused": {"counting": True}}), "compat_lost", "paused"),
    ],
)
def test_inexpressible_schedule_is_refused_by_name(translation: Translation, code: str, told: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        fun_ai_station.write(translation)

    assert refused.value.code == code
    assert told in refused.value.message
