"""Moments in questions: instants, times of day and days, in the zone of the task."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.schedule.text import parse_text
from horae.service.query.instants import TimeSpan, parse_future_instant, parse_span

NOW = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)
"""In Tokyo it is already the 16th, half past eight in the morning."""
BERLIN, TOKYO = "Europe/Berlin", "Asia/Tokyo"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("2026-11-15T02:00Z", BERLIN, "2026-11-15T02:00"),
        ("2026-11-15T02:00:00+09:00", BERLIN, "2026-11-14T17:00"),
        ("2026-11-15 02:00", "UTC", "2026-11-15T02:00"),
        ("2026-11-15 02:00", BERLIN, "2026-11-15T01:00"),
        ("2026-07-15T02:00:30", BERLIN, "2026-07-15T00:00:30"),
        ("02:00", "UTC", "2026-11-15T02:00"),
        ("2:00", TOKYO, "2026-11-15T17:00"),
        ("02:00:05", "UTC", "2026-11-15T02:00:05"),
        ("yesterday 02:00", "UTC", "2026-11-14T02:00"),
        ("yesterday  02:00", "UTC", "2026-11-14T02:00"),
        ("Yesterday 2:00", TOKYO, "2026-11-14T17:00"),
        ("today 00:00", TOKYO, "2026-11-15T15:00"),
        ("昨天 2:00", "UTC", "2026-11-14T02:00"),
        ("前天 2:00", "UTC", "2026-11-13T02:00"),
        ("  2026-11-15T02:00Z ", BERLIN, "2026-11-15T02:00"),
        ("tomorrow 02:00", "UTC", "2026-11-16T02:00"),
        ("明天 2:00", "UTC", "2026-11-16T02:00"),
        ("后天 2:00", "UTC", "2026-11-17T02:00"),
        ("today at 9am", "UTC", "2026-11-15T09:00"),
        ("today at 9am", TOKYO, "2026-11-16T00:00"),
        ("at 9am today", "UTC", "2026-11-15T09:00"),
        ("9am", "UTC", "2026-11-15T09:00"),
        ("yesterday at 9am", BERLIN, "2026-11-15T08:00"),
        ("9:30 pm yesterday", "UTC", "2026-11-14T21:30"),
        ("the day before yesterday at noon", "UTC", "2026-11-13T12:00"),
        ("last night at 11pm", "UTC", "2026-11-14T23:00"),
        ("yesterday morning at 9", "UTC", "2026-11-14T09:00"),
        ("last Sunday at 9am", "UTC", "2026-11-08T09:00"),
        ("last Saturday 18:00", "UTC", "2026-11-14T18:00"),
        ("on Friday at 9am", "UTC", "2026-11-13T09:00"),
        ("Sunday at 23:45", "UTC", "2026-11-08T23:45"),
        ("24 Dec at 9am", "UTC", "2025-12-24T09:00"),
        ("29 Feb at 9am", "UTC", "2024-02-29T09:00"),
        ("next Monday at 9am", "UTC", "2026-11-16T09:00"),
        ("yesterday at 9am Asia/Tokyo", BERLIN, "2026-11-15T00:00"),
        ("2026-11-15 9am", BERLIN, "2026-11-15T08:00"),
        ("in 20m", BERLIN, "2026-11-15T23:50"),
        ("今天早上9点", "UTC", "2026-11-15T09:00"),
        ("今天早上9点", TOKYO, "2026-11-16T00:00"),
        ("今早9点", "UTC", "2026-11-15T09:00"),
        ("昨天9点", "UTC", "2026-11-14T09:00"),
        ("昨天下午3点半", "UTC", "2026-11-14T15:30"),
        ("昨晚10点", "UTC", "2026-11-14T22:00"),
        ("前天中午", "UTC", "2026-11-13T12:00"),
        ("大前天9点", "UTC", "2026-11-12T09:00"),
        ("早上9点", "UTC", "2026-11-15T09:00"),
        ("上周一早上9点", "UTC", "2026-11-02T09:00"),
        ("周五18点", "UTC", "2026-11-13T18:00"),
        ("上个月25号8点", "UTC", "2026-10-25T08:00"),
        ("11月1日 08:00", "UTC", "2026-11-01T08:00"),
        ("昨天早上9点 东京时间", "UTC", "2026-11-15T00:00"),
        ("20分钟后", BERLIN, "2026-11-15T23:50"),
        ("明天早上9点", "UTC", "2026-11-16T09:00"),
    ],
)
def test_an_instant_is_read_in_the_zone(text: str, zone: str, instant: str) -> None:
    found = parse_span(text, zone, NOW)
    assert found == TimeSpan(utc(instant), utc(instant))
    assert found.exact


@pytest.mark.parametrize(
    ("text", "zone", "first", "hours"),
    [
        ("2026-11-15", "UTC", "2026-11-15T00:00", 24),
        ("2026-11-15", TOKYO, "2026-11-14T15:00", 24),
        ("today", "UTC", "2026-11-15T00:00", 24),
        ("today", TOKYO, "2026-11-15T15:00", 24),
        ("yesterday", TOKYO, "2026-11-14T15:00", 24),
        ("昨天", "UTC", "2026-11-14T00:00", 24),
        ("tomorrow", "UTC", "2026-11-16T00:00", 24),
        ("今天", "UTC", "2026-11-15T00:00", 24),
        ("2026-03-29", BERLIN, "2026-03-28T23:00", 23),
        ("2026-10-25", BERLIN, "2026-10-24T22:00", 25),
    ],
)
def test_day_has_the_length_that_its_zone_gives_it(text: str, zone: str, first: str, hours: int) -> None:
    found = parse_span(text, zone, NOW)
    assert found.first == utc(first)
    assert timedelta(0) < utc(first) + timedelta(hours=hours) - found.last <= timedelta(seconds=1)
    assert not found.exact


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("this morning", "2026-11-15T05:00", "2026-11-15T12:00"),
        ("yesterday afternoon", "2026-11-14T12:00", "2026-11-14T18:00"),
        ("last night", "2026-11-14T17:00", "2026-11-15T00:00"),
        ("今天早上", "2026-11-15T05:00", "2026-11-15T12:00"),
        ("昨晚", "2026-11-14T17:00", "2026-11-15T00:00"),
    ],
)
def test_part_of_a_day_is_a_stretch(text: str, first: str, after: str) -> None:
    found = parse_span(text, "UTC", NOW)
    assert (found.first, found.last) == (utc(first), utc(after) - timedelta(microseconds=1))


@pytest.mark.parametrize("text", ["yesterday at 9", "yesterday at two", "today 9", "昨天 9"])
def test_hour_without_half_of_the_day_is_refused_with_both_choices(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_span(text, "UTC", NOW)
    assert caught.value.code == "ambiguous_hour"
    assert caught.value.source == text


@pytest.mark.parametrize("text", ["yesterday at 9am", "last Monday at 9am", "昨天早上9点", "上周一早上9点"])
def test_schedule_does_not_accept_days_that_have_passed(text: str) -> None:
    with pytest.raises(Refusal):
        parse_text(text, zone="UTC", now=NOW)


@pytest.mark.parametrize(
    ("text", "instant"),
    [("next Friday at 9am", "2026-11-20T09:00"), ("in 2h", "2026-11-16T01:30"), ("9am", "2026-11-16T09:00")],
)
def test_moment_to_come_is_read_forward(text: str, instant: str) -> None:
    assert parse_future_instant(text, "UTC", NOW) == utc(instant)


def test_an_instant_as_a_value_is_taken_as_it_is() -> None:
    at = datetime(2026, 11, 15, 9, tzinfo=ZoneInfo(TOKYO))
    assert parse_span(at, BERLIN, NOW) == TimeSpan(utc("2026-11-15T00:00"), utc("2026-11-15T00:00"))
    assert parse_span(at, BERLIN, NOW).first.tzinfo is UTC
    with pytest.raises(Refusal) as caught:
        parse_span(datetime(2026, 11, 15, 9), BERLIN, NOW)
    assert caught.value.code == "naive_instant"


@pytest.mark.parametrize("text", ["now", " NOW ", "现在"])
def test_now_is_a_moment(text: str) -> None:
    assert parse_span(text, BERLIN, NOW) == TimeSpan(NOW, NOW)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("5m ago", timedelta(minutes=5)),
        ("5 minutes ago", timedelta(minutes=5)),
        ("1h30m ago", timedelta(minutes=90)),
        ("2 days  ago", timedelta(days=2)),
        ("250ms ago", timedelta(milliseconds=250)),
        ("5分钟前", timedelta(minutes=5)),
        ("5 分钟前", timedelta(minutes=5)),
        ("2个小时前", timedelta(hours=2)),
        ("3天之前", timedelta(days=3)),
        ("1周前", timedelta(weeks=1)),
        ("30秒前", timedelta(seconds=30)),
    ],
)
def test_duration_ago_is_a_moment(text: str, length: timedelta) -> None:
    assert parse_span(text, BERLIN, NOW) == TimeSpan(NOW - length, NOW - length)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "24:00",
        "2:60",
        "yesterday at some time",
        "yesterday 25:00",
        "2026-13-01",
        "2026-02-30",
        "昨晚2点",
        "yesterday at midnight",
        "ago",
        "5 ago",
        "2 months ago",
        "five minutes ago",
        "0s ago",
        "前",
        "every day at 9am",
        "yesterday at 9am at 10am",
        "-1:00",
        "5m" * 100 + " ago",  # too long to be parsed
    ],
)
def test_invalid_moment_is_refused_with_examples(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_span(text, BERLIN, NOW)
    assert caught.value.code == "unclear_moment"
    assert "yesterday" in caught.value.hint


@given(st.one_of(st.text(), st.from_regex(r"\d{1,5}-\d\d-\d\d([T ]\d\d:\d\d(Z|[+-]\d\d:\d\d)?)?", fullmatch=True)))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for zone in ("UTC", TOKYO, "America/New_York", "Pacific/Apia"):
        try:
            found = parse_span(text, zone, NOW)
        except Refusal:
            continue
        assert found.first <= found.last


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00"])
def test_moment_outside_of_the_calendar_is_refused(text: str) -> None:
    for zone in ("UTC", TOKYO, "America/New_York"):
        with pytest.raises(Refusal) as caught:
            parse_span(text, zone, NOW)
        assert caught.value.code == "unclear_moment"


def test_unknown_zone_is_refused() -> None:
    with pytest.raises(Refusal):
        parse_span("02:00", "Mars/Olympus", NOW)
