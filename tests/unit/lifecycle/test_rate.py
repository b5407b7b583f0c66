"""The rule of a lane with a rate: no window of its length holds more starts, whatever the claims and the clock do."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.lifecycle.explain.explanation import explain
from horae.lifecycle.explain.lane import LaneWait, earliest_start, lane_words, rate_words
from horae.lifecycle.lanes.rate import instant_after, keep_last_starts, next_start, record_starts, starts_left
from horae.lifecycle.start import full_lane
from horae.model.entry import EntryState
from horae.model.lanes.lane import MAX_LANE_LIMIT, LaneUse
from horae.model.lanes.rate import MAX_RATE_PERIOD, Rate, StartsAt, check_rate, parse_rate
from horae.testing.factories import MICROSECOND, NOON, SECOND

from .task_world import World

TWO = Rate(2, SECOND)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_starts_are_left_until_the_period_is_full() -> None:
    assert starts_left(TWO, (), NOON) == 2
    kept = record_starts(TWO, (), NOON, 1)
    assert starts_left(TWO, kept, NOON) == 1
    kept = record_starts(TWO, kept, at(0.5), 1)
    assert [starts_left(TWO, kept, at(seconds)) for seconds in (0.5, 0.999999, 1, 1.5)] == [0, 0, 1, 2]
    assert starts_left(TWO, kept, None) == 0, "at any instant, however early"


def test_next_start_is_one_period_after_the_start_n_before_it() -> None:
    kept = (StartsAt(NOON, 1), StartsAt(at(0.5), 1))
    assert next_start(TWO, kept) == at(1)
    assert next_start(TWO, kept, reserved=1) == at(1.5)
    assert next_start(TWO, kept, reserved=2) is None, "it depends on a start that has not happened"
    assert next_start(TWO, kept[:1]) is None, "it is allowed at any instant"
    assert next_start(Rate(1, SECOND), kept) == at(1.5)
    assert instant_after(TWO, (), 0) is None


def test_starts_at_one_instant_are_kept_together() -> None:
    assert record_starts(Rate(9, SECOND), (StartsAt(NOON, 2),), NOON, 3) == (StartsAt(NOON, 5),)


def test_a_start_is_never_kept_earlier_than_the_one_before() -> None:
    assert record_starts(TWO, (StartsAt(at(9), 1),), NOON, 1) == (StartsAt(at(9), 2),)


def test_only_the_last_n_starts_are_kept() -> None:
    kept = (StartsAt(NOON, 3), StartsAt(at(1), 1), StartsAt(at(2), 1))
    assert keep_last_starts(TWO, kept) == kept[1:]
    assert keep_last_starts(Rate(3, SECOND), kept) == kept
    assert keep_last_starts(Rate(9, SECOND), kept) == kept


def test_lane_without_a_start_left_is_full() -> None:
    lane = LaneUse("api", 9, 0, rate=TWO, starts_left=1)
    assert (lane.is_full, lane.is_taken) == (False, False)
    assert lane._replace(offered=1).is_taken, "the start is kept for an entry that waited"
    assert lane._replace(starts_left=0).is_full
    assert not lane._replace(starts_left=None).is_full
    world = World()
    facts = world.facts._replace(lanes=(lane._replace(starts_left=0),))
    assert full_lane(facts, world.entries["next"]) == "api"


def test_why_says_the_rate_and_the_earliest_next_start() -> None:
    world = World()
    parked = world.entries["next"]._replace(state=EntryState.PARKED, lane="api", due=NOON)
    lane = LaneUse("api", 9, 0, rate=TWO, next_start=at(1))
    facts = world.facts._replace(entries=(parked,), lanes=(LaneUse("other", 1, 1), lane))
    words = rate_words(facts, parked)
    assert words is not None
    assert words[0].startswith("its lane 'api' has a rate of 2/1s; its next start is at ")
    assert "速率为 2/1s，最早于 " in words[1]
    assert rate_words(facts._replace(lanes=(lane._replace(next_start=None),)), parked) == (
        "its lane 'api' has a rate of 2/1s",
        "它的通道“api”的速率为 2/1s",
    )
    full = facts._replace(lanes=(lane._replace(used=9),))
    assert rate_words(full, parked) is None, "it waits for a slot"
    english = explain(facts, (), parked.planned, parked.planned + SECOND).english
    assert english.startswith("It is due and waits: its lane 'api' has a rate of 2/1s; its next start is at ")


def test_why_names_the_earliest_start_once() -> None:
    world = World()
    parked = world.entries["next"]._replace(state=EntryState.PARKED, lane="api", due=NOON)
    lane = LaneUse("api", MAX_LANE_LIMIT, 0, rate=TWO, next_start=at(1))
    facts = world.facts._replace(entries=(parked,), lanes=(lane,))
    wait = LaneWait("api", MAX_LANE_LIMIT, 0, ahead=1, not_before=earliest_start(TWO, at(1), 1))
    assert lane_words(facts, wait) == ("One entry is ahead of it.", "它前面有 1 个。")
    later = wait._replace(ahead=2, not_before=earliest_start(TWO, at(1), 2))
    english, chinese = lane_words(facts, later)
    assert "Its rate allows it at " in english
    assert "按速率" in chinese
    full = facts._replace(lanes=(lane._replace(used=MAX_LANE_LIMIT),))
    assert "Its rate allows it at " in lane_words(full, wait)[0], "the cause is the limit, which names no instant"


def test_why_names_no_limit_of_a_lane_that_has_a_rate_alone() -> None:
    assert lane_words(World().facts, LaneWait("api", MAX_LANE_LIMIT, 3)) == ("It is the next one.", "下一个就是它。")


class NaiveLane:
    """All starts ever, counted one by one in each window."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.starts: list[datetime] = []

    def breaks_rate(self) -> bool:
        ordered = sorted(self.starts)
        return any(
            sum(begin <= each < begin + self.rate.period for each in ordered) > self.rate.starts for begin in ordered
        )


rates = st.builds(Rate, st.integers(1, 4), st.sampled_from((MICROSECOND * 3, SECOND, 5 * SECOND)))
steps = st.sampled_from((0, 1, 2, 3, 500_000, 999_999, 1_000_000, 4_000_000, -1, -2, -600_000, -2_000_000))
claims = st.lists(st.tuples(steps, st.integers(0, 5)), max_size=40)


@given(rates, claims)
def test_no_window_has_more_starts_than_the_rate(rate: Rate, claimed: list[tuple[int, int]]) -> None:
    """Also when the clock of a claim is behind that of the one before."""
    naive, kept, now = NaiveLane(rate), tuple[StartsAt, ...](), NOON
    for step, wanted in claimed:
        now += step * MICROSECOND
        count = min(wanted, starts_left(rate, kept, now))
        if count:
            kept = record_starts(rate, kept, now, count)
            naive.starts += [now] * count
        assert sum(each.number for each in kept[1:]) < rate.starts, "no more are kept than count"
    assert not naive.breaks_rate()


@given(rates, st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(0, 5)), max_size=40))
def test_a_start_is_allowed_as_soon_as_the_window_has_room(rate: Rate, claimed: list[tuple[int, int]]) -> None:
    """While the clock goes on, the rule allows exactly what fits into each window."""
    naive, kept, now = NaiveLane(rate), tuple[StartsAt, ...](), NOON
    for step, wanted in claimed:
        now += step * MICROSECOND
        within = sum(each > now - rate.period for each in naive.starts)
        left = starts_left(rate, kept, now)
        assert left == rate.starts - within
        allowed_from = next_start(rate, kept)
        assert (left > 0) == (allowed_from is None or allowed_from <= now)
        count = min(wanted, left)
        if count:
            kept = record_starts(rate, kept, now, count)
            naive.starts += [now] * count


@given(rates, rates, claims, claims)
def test_a_new_rate_holds_for_the_starts_after_it(
    former: Rate, rate: Rate, before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    kept, now = tuple[StartsAt, ...](), NOON
    for step, wanted in before:
        now += step * MICROSECOND
        if count := min(wanted, starts_left(former, kept, now)):
            kept = record_starts(former, kept, now, count)
    naive, kept = NaiveLane(rate), keep_last_starts(rate, kept)
    for step, wanted in after:
        now += step * MICROSECOND
        if count := min(wanted, starts_left(rate, kept, now)):
            kept = record_starts(rate, kept, now, count)
            naive.starts += [now] * count
    assert not naive.breaks_rate()


@pytest.mark.parametrize(
    ("text", "rate", "written"),
    [
        ("100/1s", Rate(100, SECOND), "100/1s"),
        ("1/1ms", Rate(1, timedelta(milliseconds=1)), "1/0.001s"),
        (" 10000 / 1h30m ", Rate(10_000, timedelta(minutes=90)), "10000/1h30m"),
        ("5/PT1M", Rate(5, timedelta(minutes=1)), "5/1m"),
        ("1/366d", Rate(1, MAX_RATE_PERIOD), "1/366d"),
    ],
)
def test_rate_is_read_and_written(text: str, rate: Rate, written: str) -> None:
    assert parse_rate(text) == rate
    assert str(rate) == written
    assert parse_rate(written) == rate
    assert parse_rate(rate) == rate


@pytest.mark.parametrize(
    "value",
    [
        "",
        "100",
        "/1s",
        "100/",
        "0/1s",
        "10001/1s",
        "-1/1s",
        "1.5/1s",
        "١/1s",
        "1/0s",
        "1/0.9ms",
        "1/367d",
        "1/month",
        "keep",
        "99999999999999999999999/1s",
        7,
        None,
        True,
        Rate(0, SECOND),
        Rate(1, MICROSECOND),
    ],
)
def test_bad_rate_is_refused_with_its_field(value: object) -> None:
    with pytest.raises(Refusal) as refused:
        parse_rate(value)
    assert refused.value.code == "bad_rate"


def test_rate_in_bounds_is_returned() -> None:
    assert check_rate(TWO) is TWO
