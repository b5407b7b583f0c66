"""Order of the entries that wait in a lane, and the explanation of one of them."""

from __future__ import annotations

import pytest

from horae.lifecycle.explain.explanation import Explanation, Verdict, with_lane
from horae.lifecycle.explain.lane import LaneWait, earliest_start, lane_words, parked_entry, soonest
from horae.model.change import Facts
from horae.model.entry import MAX_REPARKS, EntryKind, EntryState
from horae.model.lanes.lane import MAX_LANE_LIMIT, LaneWaiter, turn_order
from horae.model.lanes.rate import Rate
from horae.model.run import Span
from horae.model.task import NEW_TASK_STATUS
from horae.testing.factories import HOUR, MINUTE, NOON, a_task, an_entry, an_extra_entry


def _waiters(owners: str, reparked: str = "") -> list[LaneWaiter]:
    """One waiter for each letter, its owner, by priority; those at the places in `reparked` were parked again too often."""
    return [
        LaneWaiter(f"{owner}{place}", "next", owner, 0, NOON, MAX_REPARKS if str(place) in reparked else 0)
        for place, owner in enumerate(owners)
    ]


@pytest.mark.parametrize(
    ("owners", "last", "reparked", "expected"),
    [
        ("", "", "", []),
        ("aab", "", "", ["a0", "b2", "a1"]),
        ("aab", "a", "", ["b2", "a0", "a1"]),
        ("aabbc", "b", "", ["c4", "a0", "b2", "a1", "b3"]),
        ("aabbc", "z", "3", ["b3", "a0", "b2", "c4", "a1"]),
    ],
)
def test_owners_take_turns_after_the_last_one(owners: str, last: str, reparked: str, expected: list[str]) -> None:
    assert [each.task_id for each in turn_order(_waiters(owners, reparked), last)] == expected


TASK = a_task(lane="press")
PARKED = an_entry(TASK, state=EntryState.PARKED, lane="press")


def _facts(*entries: object) -> Facts:
    return Facts(TASK, NEW_TASK_STATUS, entries)  # type: ignore[arg-type]


def test_parked_entry_of_an_instant() -> None:
    ranged = an_extra_entry(TASK, state=EntryState.PARKED, lane="press", kind=EntryKind.WAITING, through=NOON + HOUR)
    merged = an_extra_entry(TASK, state=EntryState.PARKED, lane="press")._replace(
        planned=NOON + 3 * HOUR, span=Span(NOON - HOUR, NOON, 2)
    )
    assert parked_entry(_facts(PARKED), NOON + HOUR) == PARKED
    assert parked_entry(_facts(PARKED), NOON - HOUR) is None
    assert parked_entry(_facts(ranged), NOON + MINUTE) == ranged
    assert parked_entry(_facts(ranged), NOON + 2 * HOUR) is None
    assert parked_entry(_facts(merged), NOON - HOUR) == merged
    for other in (
        PARKED._replace(state=EntryState.TIMED),
        PARKED._replace(lane="function:x"),
        PARKED._replace(lane=None),
        PARKED._replace(kind=EntryKind.DEADLINE),
    ):
        assert parked_entry(_facts(other), NOON) is None


@pytest.mark.parametrize(
    ("wait", "english", "chinese"),
    [
        (
            LaneWait("press", 1, 1, ("run_1",)),
            (
                "Its limit is 1, and 1 run is in it, held by run_1. It is the next one. "
                "When a slot becomes free is not known: no run in the lane has a deadline."
            ),
            "上限为 1，其中有 1 个运行，占用者：run_1。下一个就是它。何时有空位尚不清楚：通道中的运行都没有截止时间。",
        ),
        (
            LaneWait("press", 2, 2, (), 2, 1, more_ahead=False, free_by=NOON),
            (
                "Its limit is 2, and 2 runs are in it, held by 2 runs that you do not see. One entry is ahead of it. "
                "A slot becomes free by 2026-03-01 12:00 +00:00 at the latest."
            ),
            "上限为 2，其中有 2 个运行，占用者：他人的 2 个。它前面有 1 个。最迟在 2026-03-01 12:00 +00:00 会有空位。",
        ),
        (
            LaneWait("press", 8, 7, tuple("abcdef"), 1, 10_000, more_ahead=True),
            (
                "Its limit is 8, and 7 runs are in it, held by a, b, c, d, e, 1 more, 1 of others. "
                "At least 10000 entries are ahead of it."
            ),
            "上限为 8，其中有 7 个运行，占用者：a、b、c、d、e、另外 1 个、他人的 1 个。它前面至少有 10000 个。",
        ),
        (
            LaneWait("press", 1, 1, (), 1, 3),
            (
                "Its limit is 1, and 1 run is in it, held by a run that you do not see. 3 entries are ahead of it. "
                "When a slot becomes free is not known: no run in the lane has a deadline."
            ),
            "上限为 1，其中有 1 个运行，占用者：他人的 1 个。它前面有 3 个。何时有空位尚不清楚：通道中的运行都没有截止时间。",
        ),
        (
            LaneWait("api", MAX_LANE_LIMIT, 3, ahead=250, not_before=earliest_start(Rate(100, HOUR), NOON, 250)),
            "250 entries are ahead of it. Its rate allows it at 2026-03-01 14:00 +00:00 at the earliest.",
            "它前面有 250 个。按速率，它最早在 2026-03-01 14:00 +00:00 启动。",
        ),
        (
            LaneWait("press", 0, 0),
            "The lane is closed: its limit is 0. It is the next one.",
            "通道已关闭：上限为 0。下一个就是它。",
        ),
        (
            LaneWait("press", 1, 0),
            "Its limit is 1, and 0 runs are in it. It is the next one.",
            "上限为 1，其中有 0 个运行。下一个就是它。",
        ),
    ],
)
def test_sentences_about_a_lane(wait: LaneWait, english: str, chinese: str) -> None:
    assert lane_words(_facts(), wait) == (english, chinese)
    answer = with_lane(_facts(), Explanation(Verdict.WAITING, "It waits.", "等待。"), wait)
    assert (answer.english, answer.chinese, answer.lane) == (f"It waits. {english}", f"等待。{chinese}", wait)


def test_soonest_deadline() -> None:
    assert soonest([None, NOON + HOUR, NOON]) == NOON
    assert soonest([None]) is None


def test_earliest_start_needs_a_rate_and_a_next_start() -> None:
    assert earliest_start(None, NOON, 3) is None
    assert earliest_start(Rate(2, HOUR), None, 3) is None
    assert earliest_start(Rate(2, HOUR), NOON, 1) == NOON
