"""Evaluation of schedules: next, first, iterate, count, due."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, islice, pairwise
from typing import Final

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import horae
from horae.schedule import (
    Calendar,
    Cron,
    Every,
    Now,
    Once,
    Past,
    RRule,
    Schedule,
    advance,
    count,
    count_each,
    due,
    first,
    iterate,
)
from horae.schedule import next as next_after
from horae.schedule.every import MAX_INTERVAL, MIN_INTERVAL, From
from horae.schedule.instants import to_datetime, to_instant
from tests.sizes import sized
from tests.strategies import NOON, instants, modifiers, schedules, zones

with_zone = modifiers.flatmap(lambda chosen: zones.map(lambda zone: {**chosen, "zone": zone}))
YEAR = timedelta(days=366)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@settings(max_examples=sized(500, soak=1_500), deadline=None)
@given(schedules(with_zone), instants, instants)
def test_next_is_always_later(schedule: Schedule | None, anchor: datetime, after: datetime) -> None:
    assume(schedule is not None)
    assert schedule is not None
    found = next_after(schedule, after, Past(anchor))
    assert found is None or found > after


@settings(max_examples=sized(200, soak=600), deadline=None)
@given(schedules(with_zone), instants)
def test_iterating_is_asking_again_and_again(schedule: Schedule | None, after: datetime) -> None:
    assume(schedule is not None)
    assert schedule is not None
    past = Past(after)
    asked: list[datetime] = []
    found = next_after(schedule, after, past)
    while found is not None and len(asked) < 30:
        asked.append(found)
        found = next_after(schedule, found, advance(past, len(asked)))
    assert list(islice(iterate(schedule, after, past), 30)) == asked


@settings(max_examples=sized(150, soak=300), deadline=None)
@given(schedules(with_zone), instants, st.lists(st.integers(0, 366 * 86_400), max_size=4))
def test_a_year_is_the_sum_of_its_pieces(schedule: Schedule | None, after: datetime, cuts: list[int]) -> None:
    assume(schedule is not None)
    assert schedule is not None
    whole = list(islice(iterate(schedule, after, Past(after), until=after + YEAR), 400))
    end = whole[-1] if len(whole) == 400 else after + YEAR
    edges = sorted({after, end, *(cut for cut in (after + timedelta(seconds=each) for each in cuts) if cut <= end)})
    pieces: list[datetime] = []
    for begin, until in pairwise(edges):
        pieces += iterate(schedule, begin, Past(after, counted=len(pieces)), until=until)
    assert pieces == whole


@settings(max_examples=sized(200, soak=500), deadline=None)
@given(schedules(with_zone), instants, st.integers(0, 40 * 86_400))
def test_counting_is_walking_but_faster(schedule: Schedule | None, after: datetime, length: int) -> None:
    assume(schedule is not None)
    assert schedule is not None
    until = after + timedelta(seconds=length)
    walked = sum(1 for _ in islice(iterate(schedule, after, Past(after), until=until), 5000))
    assume(walked < 5000)
    assert count(schedule, after, until, Past(after)) == walked


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Cron("* * * * *", zone="America/New_York"), 43_200),
        (Cron("* * * * * *", zone="America/New_York"), 43_200 * 60),
        (Every(timedelta(minutes=1)), 43_200),
        (Calendar(at=(NOON,), zone="Europe/Berlin"), 30),
    ],
)
def test_a_month_is_counted_without_walking(schedule: Schedule, expected: int) -> None:
    begin = at("2026-03-01T00:00:00Z")
    assert count(schedule, begin, begin + timedelta(days=30), Past(begin)) == expected


def test_every_first_fires_one_interval_after_creation() -> None:
    past = Past(at("2026-03-01T10:00:07.5Z"))
    hourly = Every(timedelta(hours=1))
    assert first(hourly, past) == at("2026-03-01T11:00:07.5Z")
    assert next_after(hourly, at("2026-03-01T13:00:07.5Z"), past) == at("2026-03-01T14:00:07.5Z")


def test_every_fires_first_at_its_start() -> None:
    start = at("2026-03-01T10:00:00Z")
    hourly = Every(timedelta(hours=1), start=start)
    assert first(hourly, Past(start)) == start
    assert first(hourly, Past(start - timedelta(days=1))) == start
    assert first(hourly, Past(start + timedelta(minutes=90))) == start + timedelta(hours=2)


def test_every_from_the_end_counts_from_the_last_end() -> None:
    schedule = Every(timedelta(minutes=30), "end")
    past = Past(at("2026-03-01T10:00:00Z"), last_end=at("2026-03-01T11:05:00Z"))
    assert next_after(schedule, at("2026-03-01T11:00:00Z"), past) == at("2026-03-01T11:35:00Z")
    assert first(schedule, Past(at("2026-03-01T10:00:00Z"))) == at("2026-03-01T10:30:00Z")


def test_every_keeps_real_time_through_a_clock_change() -> None:
    begin = at("2026-03-08T05:00:00Z")
    fires = list(
        iterate(
            Every(timedelta(hours=2), zone="America/New_York"), begin, Past(begin), until=begin + timedelta(hours=6)
        )
    )
    assert fires == [begin + timedelta(hours=hours) for hours in (2, 4, 6)]


def test_now_and_a_past_once_are_due_at_creation() -> None:
    past = Past(at("2026-03-01T10:00:00Z"))
    assert first(Now(), past) == past.anchor
    assert first(Once(datetime(2020, 1, 1), zone="UTC"), past) == past.anchor
    assert first(Once(datetime(2027, 1, 1), zone="UTC"), past) == at("2027-01-01T00:00:00Z")
    assert next_after(Now(), past.anchor, past) is None


@pytest.mark.parametrize(
    ("gap", "fold", "wall", "expected"),
    [
        ("next", None, "2026-03-08T02:30:00", ["2026-03-08T07:00:00Z"]),
        ("shift", None, "2026-03-08T02:30:00", ["2026-03-08T07:30:00Z"]),
        ("skip", None, "2026-03-08T02:30:00", []),
        (None, "first", "2026-11-01T01:30:00", ["2026-11-01T05:30:00Z"]),
        (None, "last", "2026-11-01T01:30:00", ["2026-11-01T06:30:00Z"]),
        (None, "both", "2026-11-01T01:30:00", ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"]),
    ],
)
def test_once_obeys_gap_and_fold(gap: str | None, fold: str | None, wall: str, expected: list[str]) -> None:
    schedule = horae.parse({"kind": "once", "at": wall, "zone": "America/New_York", "gap": gap, "fold": fold})
    begin = at("2026-01-01T00:00:00Z")
    assert list(iterate(schedule, begin, Past(begin))) == [at(each) for each in expected]


def test_repeat_ends_after_so_many_that_were_counted() -> None:
    schedule = Cron("0 9 * * *", zone="UTC", repeat=3)
    begin = at("2026-03-01T00:00:00Z")
    assert len(list(iterate(schedule, begin, Past(begin)))) == 3
    assert next_after(schedule, begin, Past(begin, counted=2)) == at("2026-03-01T09:00:00Z")
    assert next_after(schedule, begin, Past(begin, counted=3)) is None


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_an_rrule_count_counts_from_its_start_whatever_the_past(zone: str) -> None:
    schedule = RRule("FREQ=DAILY;COUNT=3", start=datetime(2026, 3, 7, 2, 30), zone=zone)
    begin = at("2020-01-01T00:00:00Z")
    fires = list(iterate(schedule, begin, Past(begin, counted=7)))
    assert len(fires) == 3
    assert next_after(schedule, fires[1], Past(begin)) == fires[2]
    assert next_after(schedule, fires[2], Past(begin)) is None


def test_what_a_gap_leaves_out_does_not_count_toward_an_rrule_count() -> None:
    schedule = RRule("FREQ=DAILY;COUNT=2", start=datetime(2026, 3, 7, 2, 30), zone="America/New_York")
    begin = at("2020-01-01T00:00:00Z")
    assert list(iterate(schedule, begin, Past(begin))) == [at("2026-03-07T07:30:00Z"), at("2026-03-09T06:30:00Z")]


def test_an_rrule_start_that_does_not_match_is_no_occurrence() -> None:
    schedule = RRule("FREQ=WEEKLY;BYDAY=MO", start=datetime(2026, 3, 4, 9), zone="UTC")
    begin = at("2026-01-01T00:00:00Z")
    assert next_after(schedule, begin, Past(begin)) == at("2026-03-09T09:00:00Z")


def test_rrule_exceptions_count_but_do_not_fire() -> None:
    schedule = RRule("FREQ=DAILY;COUNT=3", (datetime(2026, 3, 5, 9).date(),), start=datetime(2026, 3, 4, 9), zone="UTC")
    begin = at("2026-01-01T00:00:00Z")
    assert [each.day for each in iterate(schedule, begin, Past(begin))] == [4, 6]


def test_an_hourly_rrule_flows_through_the_fold() -> None:
    schedule = RRule("FREQ=HOURLY", start=datetime(2026, 11, 1, 0, 0), zone="America/New_York")
    begin = at("2026-11-01T03:59:00Z")
    hours = list(islice(iterate(schedule, begin, Past(begin)), 4))
    assert hours == [at(f"2026-11-01T0{hour}:00:00Z") for hour in (4, 5, 6, 7)]


def test_a_window_opens_and_closes_inclusively() -> None:
    schedule = Cron("0 9 * * *", zone="UTC", start=at("2026-03-02T09:00:00Z"), end=at("2026-03-04T09:00:00Z"))
    begin = at("2026-01-01T00:00:00Z")
    assert [each.day for each in iterate(schedule, begin, Past(begin))] == [2, 3, 4]


def test_an_end_given_as_a_date_includes_that_day() -> None:
    schedule = horae.parse("every day at 9:00 until 2026-03-03", zone="Asia/Shanghai", now=at("2026-03-01T00:00:00Z"))
    begin = at("2026-03-01T00:30:00Z")
    assert [each.day for each in iterate(schedule, begin, Past(begin))] == [1, 2, 3]


def test_jitter_is_one_constant_offset_per_task() -> None:
    schedule = Cron("0 9 * * *", zone="UTC", jitter=timedelta(minutes=10))
    begin = at("2026-03-01T00:00:00Z")
    planned = list(islice(iterate(schedule, begin, Past(begin)), 10))
    offsets = {due(schedule, each, "tsk_1", Past(begin)) - each for each in planned}
    assert len(offsets) == 1
    assert timedelta(0) <= offsets.pop() <= timedelta(minutes=10)
    assert due(schedule, planned[0], "tsk_1", Past(begin)) != due(schedule, planned[0], "tsk_2", Past(begin))


def test_jitter_never_passes_the_next_occurrence() -> None:
    schedule = Every(timedelta(seconds=5), jitter=timedelta(hours=1))
    past = Past(at("2026-03-01T00:00:00Z"))
    planned = at("2026-03-01T00:00:05Z")
    for number in range(50):
        assert planned <= due(schedule, planned, f"tsk_{number}", past) < planned + timedelta(seconds=5)


def test_jitter_stays_the_same_whatever_was_counted() -> None:
    schedule = Cron("* * * * *", zone="UTC", repeat=1, end=at("2026-03-01T00:00:00Z"), jitter=timedelta(hours=1))
    planned = at("2026-03-01T00:00:00Z")
    assert len({due(schedule, planned, "tsk_1", Past(planned, counted=counted)) for counted in range(3)}) == 1


def test_jitter_longer_than_the_interval_still_spreads() -> None:
    schedule = Every(timedelta(seconds=5), jitter=timedelta(hours=1))
    planned = at("2026-03-01T00:00:05Z")
    past = Past(at("2026-03-01T00:00:00Z"))
    assert len({due(schedule, planned, f"tsk_{number}", past) for number in range(50)}) == 50


def test_an_rrule_without_a_start_counts_from_creation() -> None:
    schedule = RRule("FREQ=DAILY;COUNT=1", zone="Asia/Shanghai")
    for anchor in (at("2026-03-01T00:00:00Z"), at("2026-03-01T00:00:00.25Z")):
        found = first(schedule, Past(anchor))
        assert found is not None
        assert timedelta(0) <= found - anchor < timedelta(seconds=1)


def test_an_rrule_start_on_the_second_pass_of_a_fold_counts_from_there() -> None:
    schedule = RRule("FREQ=DAILY;COUNT=3", start=at("2026-11-01T06:30:00Z"), zone="America/New_York", fold="last")
    begin = at("2026-10-01T00:00:00Z")
    assert len(list(iterate(schedule, begin, Past(begin)))) == 3


def test_an_rrule_may_end_in_the_past() -> None:
    assert RRule("FREQ=DAILY;UNTIL=20230101", zone="UTC").parsed.until is not None


def test_a_day_left_out_ends_with_the_clock_that_shows_it() -> None:
    """Casey's clock went back over midnight: the day before came again and is not left out."""
    schedule = RRule(
        "FREQ=MINUTELY;INTERVAL=15", (date(2010, 3, 5),), start=datetime(2010, 3, 4, 0, 0), zone="Antarctica/Casey"
    )
    begin = at("2010-03-04T14:00:00Z")
    fires = list(iterate(schedule, begin, Past(begin), until=at("2010-03-04T16:00:00Z")))
    assert at("2010-03-04T15:00:00Z") in fires
    assert at("2010-03-04T15:45:00Z") in fires


def test_a_window_between_two_sorts_of_moments_waits_for_its_zone() -> None:
    window = {"start": "2026-03-01T12:00:00Z", "end": "2026-03-01T10:00:00"}
    schedule = horae.parse({"kind": "cron", "expression": "0 * * * *", **window}, zone="America/New_York")
    assert len(horae.preview(schedule, after=at("2026-03-01T00:00:00Z"), limit=9)) == 4
    with pytest.raises(horae.InvalidSchedule):
        horae.parse({"kind": "cron", "expression": "0 * * * *", **window}, zone="UTC")


def test_never_within_the_calendar_is_never() -> None:
    """A time that every year's clock change leaves out, with gap skip."""
    schedule = Cron("30 2 * 3 SUN#2", zone="America/New_York", gap="skip")
    after = at("2026-03-01T00:00:00Z")
    assert next_after(schedule, after, Past(after)) is None


@pytest.mark.parametrize("after", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
@pytest.mark.parametrize(
    "schedule", [Cron("* * * * *", zone="Asia/Tokyo"), Every(timedelta(days=1)), RRule("FREQ=DAILY", zone="UTC")]
)
def test_the_ends_of_the_calendar_are_no_surprise(schedule: Schedule, after: str) -> None:
    found = next_after(schedule, at(after), Past(at("2026-01-01T00:00:00Z")))
    assert found is None or found > at(after)


def test_a_naive_datetime_is_refused() -> None:
    for schedule in (Cron("* * * * *", zone="UTC"), Every(timedelta(days=1))):
        with pytest.raises(horae.InvalidSchedule) as refusal:
            next_after(schedule, datetime(2026, 1, 1), Past(datetime(2026, 1, 1, tzinfo=UTC)))
        assert refusal.value.code == "naive_instant"


def test_wall_time_without_a_zone_is_refused() -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        next_after(Cron("0 9 * * *"), at("2026-01-01T00:00:00Z"), Past(at("2026-01-01T00:00:00Z")))
    assert refusal.value.code == "zone_missing"


@settings(max_examples=sized(200, soak=1_500), deadline=None)
@given(
    expression=st.sampled_from(
        ("*/5 * * * *", "30 2 * * *", "15 0 * * MON", "*/20 * * * * *", "0 1,2,3 * * SUN", "7 * * * *")
    ),
    zone=st.sampled_from(("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York")),
    start=st.datetimes(datetime(1965, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
    lengths=st.lists(st.integers(1, 3 * 86_400_000_000), min_size=1, max_size=5),
)
def test_counts_of_several_periods_are_those_of_iterating(
    expression: str, zone: str, start: datetime, lengths: list[int]
) -> None:
    schedule, past = Cron(expression, zone=zone), Past(start)
    bounds = list(accumulate((to_instant(start), *lengths)))
    listed = [
        sum(1 for _ in iterate(schedule, to_datetime(after), past, until=to_datetime(until)))
        for after, until in pairwise(bounds)
    ]
    assert count_each(schedule, bounds, past) == listed
    assert [count(schedule, to_datetime(one), to_datetime(other), past) for one, other in pairwise(bounds)] == listed


_ANY_INSTANT: Final = st.datetimes(datetime(1, 1, 4), datetime(9999, 12, 28), timezones=st.just(UTC))


@given(_ANY_INSTANT, _ANY_INSTANT, st.timedeltas(MIN_INTERVAL, MAX_INTERVAL), st.sampled_from(("grid", "end")))
@example(datetime(9000, 1, 1, tzinfo=UTC), datetime(9999, 12, 28, tzinfo=UTC), MAX_INTERVAL, "grid")
@example(datetime(2, 1, 1, tzinfo=UTC), datetime(1, 1, 4, tzinfo=UTC), MIN_INTERVAL, "grid")
def test_next_of_an_interval_is_the_first_that_is_iterated(
    anchor: datetime, after: datetime, interval: timedelta, since: From
) -> None:
    """`next` computes a plain grid by datetimes, and everything else by the rule."""
    past = Past(anchor, last_end=anchor + MIN_INTERVAL)
    for schedule in (Every(interval, since), Every(interval, since, start=anchor), Every(interval, since, repeat=1)):
        assert next_after(schedule, after, past) == next(iterate(schedule, after, past), None)
