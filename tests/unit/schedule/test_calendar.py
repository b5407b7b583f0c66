"""Calendar schedules: clamping, anchors that never drift, windows of hours, dates left out."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

import pytest

import horae
from horae.schedule import Past, iterate


def fires(begin: str, number: int, **parts: Any) -> list[str]:
    schedule = horae.parse({"kind": "calendar", "zone": "UTC", **parts})
    after = datetime.fromisoformat(begin)
    return [f"{each:%Y-%m-%d %H:%M}" for each in islice(iterate(schedule, after, Past(after)), number)]


def days(begin: str, number: int, **parts: Any) -> list[str]:
    return [each.partition(" ")[0] for each in fires(begin, number, at=["09:00"], **parts)]


def test_a_day_beyond_the_month_clamps_and_never_drifts() -> None:
    assert days("2027-01-01T00:00:00Z", 4, unit="month", on=[31]) == [
        "2027-01-31",
        "2027-02-28",
        "2027-03-31",
        "2027-04-30",
    ]


def test_a_negative_day_before_the_first_clamps_to_the_first() -> None:
    assert days("2027-01-01T10:00:00Z", 3, unit="month", on=[-31]) == ["2027-02-01", "2027-03-01", "2027-04-01"]


def test_days_from_the_end() -> None:
    assert days("2028-01-31T10:00:00Z", 2, unit="month", on=[-1]) == ["2028-02-29", "2028-03-31"]
    assert days("2028-02-01T10:00:00Z", 2, unit="month", on=[-2]) == ["2028-02-28", "2028-03-30"]


def test_two_days_that_clamp_to_one_are_one_occurrence() -> None:
    assert days("2027-02-01T00:00:00Z", 2, unit="month", on=[30, 31]) == ["2027-02-28", "2027-03-30"]


def test_29_february_clamps_in_common_years() -> None:
    assert days("2026-01-01T00:00:00Z", 3, unit="year", on=[29], months=[2]) == [
        "2026-02-28",
        "2027-02-28",
        "2028-02-29",
    ]


def test_nth_weekdays_from_both_ends() -> None:
    last_friday = [{"weekday": "FRI", "nth": -1}]
    assert days("2026-01-01T00:00:00Z", 2, unit="month", on=last_friday) == ["2026-01-30", "2026-02-27"]
    fifth_friday = [{"weekday": "FRI", "nth": 5}]
    assert days("2026-01-01T00:00:00Z", 3, unit="month", on=fifth_friday) == ["2026-01-30", "2026-05-29", "2026-07-31"]


def test_every_nth_period_counts_from_the_start() -> None:
    parts: dict[str, Any] = {"unit": "week", "every": 2, "on": ["MON", "THU"], "start": "2026-01-07"}
    assert days("2026-01-01T00:00:00Z", 4, **parts) == ["2026-01-08", "2026-01-19", "2026-01-22", "2026-02-02"]


def test_without_a_start_periods_count_from_the_anchor() -> None:
    assert days("2026-01-31T12:00:00Z", 3, unit="month", every=2, on=[31]) == ["2026-03-31", "2026-05-31", "2026-07-31"]
    assert days("2026-01-01T12:00:00Z", 2, unit="day", every=3) == ["2026-01-04", "2026-01-07"]


def test_the_anchor_is_read_in_the_zone() -> None:
    begin = "2026-01-01T23:00:00Z"  # the 2nd in Shanghai
    assert fires(begin, 2, unit="day", every=2, at=["08:00"], zone="Asia/Shanghai") == [
        "2026-01-02 00:00",
        "2026-01-04 00:00",
    ]


def test_later_query_with_the_same_past_keeps_the_rhythm() -> None:
    schedule = horae.parse({"kind": "calendar", "unit": "day", "every": 3, "at": ["09:00"], "zone": "UTC"})
    past = Past(datetime.fromisoformat("2026-01-01T12:00:00Z"))
    later = datetime.fromisoformat("2026-06-01T00:00:00Z")
    assert next(iterate(schedule, later, past)) == datetime.fromisoformat("2026-06-03T09:00:00Z")


def test_a_window_of_hours_steps_from_its_opening_and_includes_both_ends() -> None:
    window = {"from": "09:00", "to": "10:00", "days": ["FRI", "MON"]}
    assert fires("2026-01-02T00:00:00Z", 4, hours=window, step="PT30M") == [
        "2026-01-02 09:00",
        "2026-01-02 09:30",
        "2026-01-02 10:00",
        "2026-01-05 09:00",
    ]


def test_a_step_that_does_not_divide_the_window_stops_before_its_end() -> None:
    assert fires("2026-01-02T00:00:00Z", 4, hours={"from": "09:00", "to": "10:00"}, step="PT25M")[:3] == [
        "2026-01-02 09:00",
        "2026-01-02 09:25",
        "2026-01-02 09:50",
    ]


def test_a_window_past_midnight_belongs_to_the_day_it_opened() -> None:
    window = {"from": "22:00", "to": "02:00", "days": ["FRI"]}
    assert fires("2026-01-02T00:00:00Z", 4, hours=window, step="PT2H") == [
        "2026-01-02 22:00",
        "2026-01-03 00:00",
        "2026-01-03 02:00",
        "2026-01-09 22:00",
    ]


def test_a_window_flows_through_clock_changes() -> None:
    window: dict[str, Any] = {"hours": {"from": "01:00", "to": "03:00"}, "step": "PT1H", "zone": "America/New_York"}
    spring = fires("2026-03-08T05:00:00Z", 2, **window)
    assert spring == ["2026-03-08 06:00", "2026-03-08 07:00"]  # 01:00 EST, then 03:00 EDT
    autumn = fires("2026-11-01T04:00:00Z", 4, **window)
    assert autumn == ["2026-11-01 05:00", "2026-11-01 06:00", "2026-11-01 07:00", "2026-11-01 08:00"]


def test_pinned_times_obey_gap_and_fold() -> None:
    parts: dict[str, Any] = {"at": ["02:30"], "zone": "America/New_York"}
    assert fires("2026-03-08T05:00:00Z", 1, **parts) == ["2026-03-08 07:00"]
    assert fires("2026-03-08T05:00:00Z", 1, **parts, gap="shift") == ["2026-03-08 07:30"]
    assert fires("2026-03-08T05:00:00Z", 1, **parts, gap="skip") == ["2026-03-09 06:30"]


def test_dates_left_out_are_no_occurrences() -> None:
    assert days("2026-12-24T00:00:00Z", 2, exclude=["2026-12-25", "2026-12-26"]) == ["2026-12-24", "2026-12-27"]


def test_months_limit_any_unit() -> None:
    assert days("2026-01-01T00:00:00Z", 2, months=[7]) == ["2026-07-01", "2026-07-02"]
    assert days("2026-01-01T00:00:00Z", 2, unit="week", on=["MON"], months=[7]) == ["2026-07-06", "2026-07-13"]


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({}, "missing_time"),
        ({"unit": "week", "at": ["09:00"]}, "missing_on"),
        ({"unit": "month", "at": ["09:00"]}, "missing_on"),
        ({"unit": "year", "on": [1], "at": ["09:00"]}, "missing_months"),
        ({"unit": "day", "on": [1], "at": ["09:00"]}, "on_needs_unit"),
        ({"unit": "month", "on": [0], "at": ["09:00"]}, "bad_on"),
        ({"unit": "month", "on": [32], "at": ["09:00"]}, "bad_on"),
        ({"unit": "week", "on": [1], "at": ["09:00"]}, "bad_value"),
        ({"unit": "fortnight", "at": ["09:00"]}, "bad_choice"),
        ({"every": 0, "at": ["09:00"]}, "bad_every"),
        ({"every": 10**6, "at": ["09:00"]}, "bad_every"),
        ({"months": [13], "at": ["09:00"]}, "bad_month"),
        ({"at": ["25:00"]}, "bad_value"),
        ({"at": ["9 o'clock"]}, "bad_value"),
        ({"hours": {"from": "09:00", "to": "18:00"}}, "hours_and_step"),
        ({"step": "PT5M", "at": ["09:00"]}, "hours_and_step"),
        ({"hours": {"from": "09:00"}, "step": "PT5M"}, "bad_value"),
        ({"hours": {"from": "09:00", "to": "18:00"}, "step": "PT0.5S"}, "bad_step"),
        ({"unit": "month", "on": [{"weekday": "MON", "nth": 6}], "at": ["09:00"]}, "bad_on"),
        (
            {
                "unit": "week",
                "every": 2,
                "on": ["MON"],
                "hours": {"from": "09:00", "to": "10:00", "days": ["TUE"]},
                "step": "PT5M",
            },
            "never",
        ),
        ({"at": ["09:00"], "start": "2027-01-01", "end": "2026-01-01"}, "empty_window"),
        ({"at": ["09:00"], "color": "red"}, "unknown_key"),
        ({"at": ["09:00"], "repeat": True}, "bad_value"),
        ({"at": ["09:00"], "repeat": 0}, "bad_repeat"),
        ({"at": ["09:00"], "jitter": "P2D"}, "bad_jitter"),
        ({"at": ["09:00"], "gap": "maybe"}, "bad_choice"),
        ({"at": ["09:00"], "zone": "Mars/Olympus"}, "unknown_zone"),
    ],
)
def test_refused(parts: dict[str, Any], code: str) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse({"kind": "calendar", **parts})
    assert refusal.value.code == code
