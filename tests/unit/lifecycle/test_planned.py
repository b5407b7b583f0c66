"""Planned occurrences: counting by arithmetic gives the same numbers as listing, for every kind of schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.planned import MAX_ITERATED, Bounds, count_planned, iterate_planned
from horae.model.change import Facts
from horae.model.entry import RESUME_SLOT, Entry, EntryKind, EntryState
from horae.model.policy import policies_for
from horae.model.reason import Reason
from horae.model.run import Origin
from horae.model.task import NEW_TASK_STATUS, Pause, Target, TaskState
from horae.schedule import Schedule
from horae.schedule.text import parse_text
from horae.testing.factories import DAY, HOUR, MINUTE

START = datetime(2026, 3, 28, 11, 59, 30, 500, tzinfo=UTC)
"""The day before the clock change in Berlin."""
FREQUENT = (
    "every 7s",
    "every 7s with jitter up to 5s",
    "every 90s, 1000 times",
    "every 20s, 3000 times with jitter up to 1h",
    "*/20 * * * * *",
    "*/5 * * * *",
    "*/10 2,3 * * *",
    "*/2 9-17 * * 1-5",
    "every 10 minutes from 09:00 to 18:00",
    "every 7s and every 11s",
    "*/5 * * * * and every 90s and every day at 02:30; 1000 times, with jitter up to 20s",
)
RARE = (
    "30 2 * * *",
    "every day at 02:30 with jitter up to 2h",
    "RRULE:FREQ=HOURLY;INTERVAL=5",
    "RRULE:FREQ=HOURLY;INTERVAL=5; and 30 2 * * *; and every 7h",
    "in 3h",
    "every 5h after end",
)


def facts_of(when: str | Schedule, *, skips: int = 0, created: datetime = START) -> Facts:
    schedule = parse_text(when, zone="Europe/Berlin", now=created).schedule if isinstance(when, str) else when
    schedule = schedule.with_defaults("Europe/Berlin")
    draft = Draft("ada", "task", schedule, Target("event", "{}"), "{}", policies_for(schedule))
    change = plan(draft, "tsk_1", created)
    assert change.task is not None
    return Facts(change.task, NEW_TASK_STATUS._replace(skips_left=skips), change.put)


def count_listed(facts: Facts, now: datetime, bounds: list[datetime]) -> list[int]:
    return [sum(1 for _ in iterate_planned(facts, now, since, until)) for since, until in pairwise(bounds)]


@settings(max_examples=60, deadline=None)
@given(
    when=st.sampled_from((*FREQUENT, *RARE)),
    skips=st.sampled_from((0, 0, 1, 5)),
    hours=st.lists(st.integers(1, 7), min_size=1, max_size=8),
    shift=st.integers(-90, 60 * 24),
)
def test_counts_are_those_of_the_list(when: str, skips: int, hours: list[int], shift: int) -> None:
    facts, begin = facts_of(when, skips=skips), START + shift * MINUTE
    bounds = [begin]
    for length in hours:
        bounds.append(bounds[-1] + length * HOUR)
    assert count_planned(facts, START, Bounds.of(bounds)).numbers == count_listed(facts, START, bounds)


def test_list_is_sorted_and_within_its_period() -> None:
    for when in (*FREQUENT, *RARE):
        found = [each.due for each in iterate_planned(facts_of(when), START, START + HOUR, START + 5 * HOUR)]
        assert found == sorted(found)
        assert all(START + HOUR <= each < START + 5 * HOUR for each in found)


def test_spring_forward_moves_an_occurrence() -> None:
    found = iterate_planned(facts_of("30 2 * * *"), START, START, START + 2 * DAY)
    assert [f"{each.due:%d %H:%M}" for each in found] == ["29 01:00", "30 00:30"]


def test_repeats_and_requested_skips_are_taken_into_account() -> None:
    def dues(when: str, skips: int) -> list[timedelta]:
        facts = facts_of(when, skips=skips)
        return [each.due - START for each in iterate_planned(facts, START, START, START + DAY)]

    assert dues("every 1h, 3 times", 0) == [HOUR, 2 * HOUR, 3 * HOUR]
    assert dues("every 1h, 3 times", 2) == [3 * HOUR, 4 * HOUR, 5 * HOUR]
    assert dues("in 1h", 1) == []


def test_nothing_is_planned_for_a_blocked_or_paused_task() -> None:
    facts = facts_of("every 1h")
    blocked = facts._replace(block_reason=Reason.OWNER_REVOKED)
    paused = facts._replace(status=facts.status._replace(state=TaskState.PAUSED, pause=Pause(START)))
    for each in (blocked, paused):
        assert list(iterate_planned(each, START, START, START + DAY)) == []
        assert count_planned(each, START, Bounds.of([START, START + DAY])).numbers == [0]


def test_overdue_task_is_planned_once_and_goes_on_in_the_future() -> None:
    facts, now = facts_of("every 1h"), START + 3 * HOUR + MINUTE
    found = [each.due - START for each in iterate_planned(facts, now, START, START + 6 * HOUR)]
    assert found == [HOUR, 4 * HOUR, 5 * HOUR]


def test_rule_that_only_iterating_can_count_is_counted_up_to_a_bound() -> None:
    facts = facts_of("RRULE:FREQ=MINUTELY")
    numbers, complete_until = count_planned(facts, START, Bounds.of([START, START + 30 * DAY]))
    assert numbers == [MAX_ITERATED + 1]
    assert complete_until is not None
    assert complete_until < START + 4 * DAY


@pytest.mark.parametrize("when", ["* * * * *", "every 1s", "every 1s with jitter up to 1s"])
def test_count_of_a_frequent_task_costs_as_much_as_its_periods(when: str) -> None:
    facts, bounds = facts_of(when), [START + place * HOUR for place in range(25)]
    count_planned(facts, START, Bounds.of(bounds))
    begin = perf_counter()
    numbers = count_planned(facts, START, Bounds.of(bounds)).numbers
    assert perf_counter() - begin < 0.2, "a list of all would take longer"
    assert numbers[1:] == [60 if when.startswith("*") else 3600] * 23


def test_overlong_interval_has_no_occurrence() -> None:
    facts = facts_of("every 30d")
    assert count_planned(facts, START, Bounds.of([START, START + DAY])).numbers == [0]
    assert [each.due for each in iterate_planned(facts, START, START, START + 31 * DAY)] == [START + 30 * DAY]


def _offsets(facts: Facts, days: int = 1) -> list[timedelta]:
    return [each.due - START for each in iterate_planned(facts, START, START, START + days * DAY)]


def _with_entry(facts: Facts, kind: EntryKind, due: timedelta, **fields: Any) -> Facts:
    slot = RESUME_SLOT if kind is EntryKind.RESUME else f"{kind}-{len(facts.entries)}"
    entry = Entry(facts.task.id, slot, kind, START + due, START, "ada")._replace(**fields)
    return facts._replace(entries=(*facts.entries, entry))


def _paused_until(facts: Facts, end: timedelta) -> Facts:
    paused = facts._replace(status=facts.status._replace(state=TaskState.PAUSED, pause=Pause(START)))
    return _with_entry(paused, EntryKind.RESUME, end)


def test_retries_and_requested_runs_are_planned_among_the_occurrences() -> None:
    facts = _with_entry(facts_of("every 1h, 3 times"), EntryKind.MANUAL, 90 * MINUTE, origin=Origin.MANUAL)
    facts = _with_entry(facts, EntryKind.RETRY, 10 * MINUTE, attempt=2)
    facts = _with_entry(facts, EntryKind.MANUAL, 9 * HOUR, origin=Origin.MANUAL)
    assert _offsets(facts) == [10 * MINUTE, HOUR, 90 * MINUTE, 2 * HOUR, 3 * HOUR, 9 * HOUR]
    bounds = [START, START + HOUR, START + 2 * HOUR, START + DAY]
    assert count_planned(facts, START, Bounds.of(bounds)).numbers == [1, 2, 3]


def test_task_without_a_next_occurrence_has_only_what_was_requested() -> None:
    ended = facts_of("in 1h")._replace(entries=())
    assert _offsets(ended) == []
    assert _offsets(_with_entry(ended, EntryKind.MANUAL, HOUR, origin=Origin.MANUAL)) == [HOUR]


def test_task_goes_on_after_the_end_of_its_pause() -> None:
    assert _offsets(_paused_until(facts_of("every 1h, 4 times"), 150 * MINUTE))[:2] == [3 * HOUR, 4 * HOUR]
    assert _offsets(_paused_until(facts_of("every 5h"), HOUR)) == [5 * HOUR, 10 * HOUR, 15 * HOUR, 20 * HOUR]
    assert _offsets(_paused_until(facts_of("every 2h after end"), 3 * HOUR))[0] == 5 * HOUR
    assert _offsets(_paused_until(facts_of("in 1h"), 2 * HOUR)) == []


def test_end_of_a_pause_starts_what_was_requested_and_skips_what_was_scheduled() -> None:
    asleep: dict[str, Any] = {"state": EntryState.ASLEEP}
    facts = facts_of("every 5h")._replace(entries=())
    facts = _with_entry(facts, EntryKind.MANUAL, HOUR, origin=Origin.MANUAL, **asleep)
    assert _offsets(facts) == [], "its end is not known"
    facts = _with_entry(facts, EntryKind.RETRY, HOUR, attempt=2, **asleep)
    facts = _with_entry(facts, EntryKind.RETRY, 9 * HOUR, attempt=2, **asleep)
    facts = _with_entry(facts, EntryKind.MANUAL, HOUR, origin=Origin.MANUAL, state=EntryState.PARKED)
    assert _offsets(_paused_until(facts, 3 * HOUR)) == [3 * HOUR, 9 * HOUR]


def test_skipped_occurrences_of_an_interval_from_the_end_are_estimated() -> None:
    assert _offsets(facts_of("every 2h after end", skips=1))[0] == 4 * HOUR
