"""Periods of the calendar: whole weeks from Monday, days of 23 and 25 hours, clock changes, and numbers in little space."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.console.calendar_grid import VIEWS, find_changes, make_day, make_period, parse_day, parse_view
from horae.console.pages.calendar import compact, heat_level

TODAY = date(2026, 11, 17)


@given(
    chosen=st.dates(date(1971, 1, 1), date(8999, 12, 31)),
    zone=st.sampled_from(("UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia")),
    view=st.sampled_from(VIEWS),
)
def test_period_has_whole_weeks_without_gaps(chosen: date, zone: str, view: str) -> None:
    period = make_period(parse_view(view), zone, chosen)
    assert chosen in [day.date for day in period.days]
    assert all(earlier.until == later.since for earlier, later in pairwise(period.days))
    assert period.since.tzinfo is not None
    if view != "day":
        assert len(period.days) % 7 == 0
        assert period.days[0].date.weekday() == 0
    if view == "month":
        assert {day.date for day in period.days} >= {
            chosen.replace(day=1) + timedelta(days=place) for place in range(28)
        }
        assert (period.previous.day, period.next.day) == (1, 1)
    assert make_period(period.view, zone, period.next).previous <= chosen


def test_days_of_clock_changes_have_23_and_25_hours() -> None:
    assert [len(make_day("Europe/Berlin", date(2026, *day)).hours) for day in ((3, 28), (3, 29), (10, 25))] == [
        24,
        23,
        25,
    ]


def test_clock_changes_of_a_period() -> None:
    since = datetime(2026, 3, 1, tzinfo=UTC)
    (change,) = find_changes("Europe/Berlin", since, since + timedelta(days=31))
    assert change.at == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert (f"{change.before:%H:%M}", f"{change.after:%H:%M}") == ("02:00", "03:00")
    assert find_changes("Europe/Berlin", since, change.at) == ()
    assert find_changes("Asia/Shanghai", since, since + timedelta(days=365)) == ()


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-02-30", "0001-01-01", "9999-12-31", "<script>"])
def test_dates_that_are_none_mean_today(text: str | None) -> None:
    assert parse_day(text, TODAY) == TODAY
    assert parse_view(text) == "month"


def test_date_of_the_url() -> None:
    assert parse_day("2031-02-03", TODAY) == date(2031, 2, 3)
    assert [parse_view(view) for view in VIEWS] == ["month", "week", "day"]


def test_numbers_are_compact() -> None:
    numbers = (0, 7, 999, 1000, 1234, 9_960, 38_000, 999_999, 1_000_000, 4_200_000)
    assert [compact(number) for number in numbers] == [
        "–",
        "7",
        "999",
        "1k",
        "1.2k",
        "9k",
        "38k",
        "999k",
        "1M",
        "4.2M",
    ]


def test_heat_has_four_levels_and_nothing_is_cold() -> None:
    assert [heat_level(number, 10_000) for number in (0, 1, 9, 100, 1_000, 10_000)] == [0, 1, 1, 3, 4, 4]
    assert heat_level(0, 0) == 0
    assert heat_level(1, 1) == 4
