"""Schedule warnings: useful ones, and none without cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import horae
from horae.schedule.lint import lint
from horae.schedule.preview import format_relative, make_fires
from horae.schedule.text import parse_text

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def warnings(text: str, zone: str = "UTC") -> dict[str, str]:
    reading = parse_text(text, zone=zone, now=NOW)
    return {each.code: each.in_language("en") for each in lint(reading.schedule, NOW, notes=reading.notes)}


def told(text: str, zone: str = "UTC") -> list[str]:
    reading = parse_text(text, zone=zone, now=NOW)
    return [each.in_language("en") for each in lint(reading.schedule, NOW, notes=reading.notes)]


def test_a_time_that_a_clock_change_leaves_out() -> None:
    assert told("30 2 * * *", "America/New_York") == [
        "On 2027-03-14 the clock goes from 02:00 to 03:00: 02:30 does not exist and runs at 03:00.",
        "On 2028-03-12 the clock goes from 02:00 to 03:00: 02:30 does not exist and runs at 03:00.",
    ]


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("30 2 * * * gap shift", "gap_shifted", "runs at 03:30"),
        ("30 2 * * * gap skip", "gap_dropped", "does not run"),
        ("30 1 * * *", "fold_first", "runs the first time only"),
        ("30 1 * * * fold last", "fold_last", "the second time only"),
        ("every day at 1:30 fold both", "fold_both", "runs both times"),
        ("0 */2 * * *", "gap_flowing", "is not replaced"),
        ("every 10m between 1:00 and 4:00", "fold_flowing", "run twice"),
        ("2027-03-14 02:30", "gap_moved", "runs at 03:00"),
        ("RRULE:FREQ=DAILY;BYHOUR=2;BYMINUTE=30;BYSECOND=0", "gap_dropped", "does not run"),
    ],
)
def test_clock_change_warnings(text: str, code: str, part: str) -> None:
    assert part in warnings(text, "America/New_York")[code]


@pytest.mark.parametrize(
    "text", ["0 9 * * 1-5", "*/5 * * * *", "0 * * * *", "every 5m from 08:00", "every day at 9:00"]
)
def test_no_warning_without_a_clock_change(text: str) -> None:
    assert warnings(text, "America/New_York") == {}


def test_a_change_after_the_end_does_not_count() -> None:
    assert warnings("30 2 * * * until 2027-03-01", "America/New_York") == {}


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("*/7 * * * *", "uneven_step", "does not mean every 7 minutes"),
        ("0 */5 * * *", "uneven_step", "does not mean every 5 hours"),
        ("0 0 */2 * *", "day_step", "begins again on the 1st"),
        ("0 0 31 * *", "skips_months", "February, April, June, September and November"),
        ("0 0 30 * *", "skips_months", "February"),
        ("0 0 29 2 *", "leap_years_only", "leap years"),
        ("0 0 13 * 5", "either_day", "only one of the two"),
        ("RRULE:FREQ=MONTHLY;BYMONTHDAY=31;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "skips_months", "February"),
        ("every 29 feb at 9:00", "clamps", "last day"),
        ("每月31号9点", "clamps", "last day"),
        ("every 30s", "often", "more often than once a minute"),
        ("*/10 * * * * *", "often", "more often than once a minute"),
        ("every 5m", "anchored", "creation"),
        ("every 5m after end", "from_end", "estimates"),
        ("2020-01-01 10:00", "in_the_past", "due at once"),
        ("every day at 9:00 until 2020-01-01", "nothing_left", "Nothing is left"),
        ("工作日9点", "working_days", "Monday to Friday"),
        ("next friday noon", "next_weekday", "next week"),
    ],
)
def test_surprises(text: str, code: str, part: str) -> None:
    assert part in warnings(text)[code]


def test_a_day_of_real_time_drifts_only_where_clocks_change() -> None:
    assert "drifts" in warnings("every 24h", "Europe/Berlin")
    assert "drifts" not in warnings("every 24h", "Asia/Shanghai")


def test_every_warning_has_both_languages() -> None:
    for text in ("30 2 * * *", "*/7 * * * *", "0 0 31 * *", "every 24h", "every 30s"):
        for each in lint(horae.parse(text, zone="America/New_York", now=NOW), NOW):
            assert each.in_language("zh") != each.in_language("en")


def test_fires_carry_local_time_offset_and_utc() -> None:
    fire = make_fires("Asia/Kolkata", [NOW])[0]
    assert fire.local.isoformat() == "2026-11-15T17:30:00+05:30"
    assert fire.utc == NOW
    assert fire.relative(NOW - timedelta(hours=13, minutes=4)) == "in 13 h 4 m"


@pytest.mark.parametrize(
    ("ahead", "en", "zh"),
    [
        (timedelta(0), "in 0 s", "0 秒后"),
        (timedelta(seconds=59), "in 59 s", "59 秒后"),
        (timedelta(days=470), "in 1 y 105 d", "1 年 105 天后"),
        (timedelta(days=-1, hours=-2), "1 d 2 h ago", "1 天 2 小时前"),
        (timedelta(days=2, seconds=5), "in 2 d", "2 天后"),
    ],
)
def test_how_long_until_then(ahead: timedelta, en: str, zh: str) -> None:
    assert format_relative(ahead, "en") == en
    assert format_relative(ahead, "zh") == zh


def test_warnings_of_each_schedule_of_a_list() -> None:
    found = warnings("*/7 * * * * and 0 9 31 * *")
    assert {"uneven_step", "skips_months"} <= found.keys()
    assert told("every 5m and every 7m").count(told("every 5m")[0]) == 1, (
        "a warning that two schedules share is said once"
    )
    assert "often" in warnings("every day at 9:00 and every day at 9:00:30 and every 8h")
    assert "in_the_past" in warnings("every day at 9:00 and 2026-01-01 09:00")
    assert "nothing_left" in warnings("every monday at 10:00 and every day at 9:00 until 2026-11-01")


def test_clock_changes_of_all_schedules_of_a_list_in_order() -> None:
    changes = told("every day at 2:30 and every day at 1:30", "America/New_York")
    assert [each[3:13] for each in changes[:3]] == ["2027-03-14", "2027-11-07", "2028-03-12"]
    each_zone = told("every day at 2:30 New York time and every day at 2:30 Berlin time")
    assert [each[3:13] for each in each_zone[:2]] == ["2027-03-14", "2027-03-28"]
