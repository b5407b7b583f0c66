"""Counters: deltas of a change, lateness buckets, and sums that equal a recount."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.model.change import NOTHING, Change
from horae.model.counts import (
    AGENT_PREFIX,
    LATENESS_PREFIX,
    NO_HOUR,
    OUTCOME_PREFIX,
    STATE_PREFIX,
    Lateness,
    bucket_end,
    bucket_of,
    counter_deltas,
    hour_of,
    summarize_hours,
    summarize_lateness,
)
from horae.model.reason import Reason
from horae.model.run import RunState, Span
from horae.model.task import NEW_TASK_STATUS, TaskState, TaskStatus
from horae.testing.factories import HOUR, MICROSECOND, MINUTE, NOON, SECOND, a_run, a_task, an_ended_run

microseconds = st.integers(0, 400 * 86_400 * 1_000_000).map(lambda number: timedelta(microseconds=number))
HOUR_NUMBER = hour_of(NOON)


@given(microseconds)
def test_bucket_upper_bound_is_within_a_quarter(lateness: timedelta) -> None:
    end = bucket_end(bucket_of(lateness))
    assert lateness <= end <= lateness * 1.25 + MICROSECOND


@given(microseconds, microseconds)
def test_buckets_are_monotonic(one: timedelta, other: timedelta) -> None:
    assert (bucket_of(one) <= bucket_of(other)) or one > other
    assert (bucket_end(bucket_of(one)) <= bucket_end(bucket_of(other))) or one > other


@given(st.integers(0, 250))
def test_the_end_of_a_bucket_is_its_last_microsecond(bucket: int) -> None:
    assert bucket_of(bucket_end(bucket)) == bucket
    assert bucket_of(bucket_end(bucket) + MICROSECOND) == bucket + 1


def test_negative_lateness_is_on_time() -> None:
    assert bucket_of(-SECOND) == bucket_of(timedelta(0)) == 0


def test_small_buckets_are_exact() -> None:
    assert [bucket_end(bucket_of(timedelta(microseconds=each))) // MICROSECOND for each in range(9)] == [
        *range(8),
        9,
    ]


# --- what a change adds ----------------------------------------------------------------------------------------------


def sums(before: TaskStatus | None, change: Change) -> dict[tuple[int, str], int]:
    total: Counter[tuple[int, str]] = Counter()
    for hour, name, number in counter_deltas(before, change):
        total[hour, name] += number
    return dict(total)


def test_state_change_moves_the_count() -> None:
    paused = TaskStatus(TaskState.PAUSED)
    assert sums(None, Change(status=NEW_TASK_STATUS)) == {(NO_HOUR, STATE_PREFIX + "active"): 1}
    assert sums(NEW_TASK_STATUS, Change(status=paused)) == {
        (NO_HOUR, STATE_PREFIX + "active"): -1,
        (NO_HOUR, STATE_PREFIX + "paused"): 1,
    }
    assert sums(paused, Change(deleted=True, status=paused)) == {(NO_HOUR, STATE_PREFIX + "paused"): -1}
    assert sums(NEW_TASK_STATUS, Change(status=NEW_TASK_STATUS._replace(counted=7))) == {}
    assert sums(NEW_TASK_STATUS, NOTHING) == {}
    assert sums(None, Change(deleted=True)) == {}


def test_ended_run_is_counted_by_state_lateness_and_hour() -> None:
    task = a_task()
    run = an_ended_run(task, planned=NOON, started=NOON + timedelta(milliseconds=3), ended=NOON + HOUR)
    late = f"{LATENESS_PREFIX}{bucket_of(timedelta(milliseconds=3))}"
    assert sums(NEW_TASK_STATUS, Change(updated_runs=(run,))) == {
        (HOUR_NUMBER + 1, OUTCOME_PREFIX + "succeeded"): 1,
        (HOUR_NUMBER + 1, late): 1,
    }


def test_live_runs_are_not_counted() -> None:
    task = a_task()
    assert (
        sums(
            NEW_TASK_STATUS,
            Change(new_runs=(a_run(task),), updated_runs=(a_run(task, state=RunState.WAITING, attempt=2),)),
        )
        == {}
    )


def test_skipped_span_is_counted_by_reason_and_size() -> None:
    task = a_task()
    span = Span(NOON - 9 * MINUTE, NOON, 10)
    gone: dict[str, Any] = {"started": None, "node": None, "ended": NOON}
    stretch = a_run(task, state=RunState.SKIPPED, reason=Reason.PAUSED, span=span, **gone)
    unexplained = a_run(task, state=RunState.CANCELLED, attempt=2, **gone)
    alone = a_run(task, state=RunState.SKIPPED, reason=Reason.OVERLAP, attempt=3, **gone)
    assert sums(NEW_TASK_STATUS, Change(new_runs=(stretch, alone), updated_runs=(unexplained,))) == {
        (HOUR_NUMBER, OUTCOME_PREFIX + "skipped:paused"): 10,
        (HOUR_NUMBER, OUTCOME_PREFIX + "skipped:overlap"): 1,
        (HOUR_NUMBER, OUTCOME_PREFIX + "cancelled"): 1,
    }


def test_runs_in_the_lane_of_an_agent_count_for_it_too() -> None:
    task = a_task(owner="ada", lane="ada/agent:robot")
    ended = a_run(task, state=RunState.FAILED, ended=NOON, lanes=("ada/agent:robot", "owner:ada"))
    skipped = a_run(task, state=RunState.SKIPPED, attempt=2, started=None, ended=NOON, lanes=("ada/agent:robot",))
    others = a_run(task, state=RunState.FAILED, attempt=3, ended=NOON, lanes=("bob/agent:robot", "ada/press"))
    found = sums(NEW_TASK_STATUS, Change(updated_runs=(ended, others), new_runs=(skipped,)))
    assert {name: number for (_, name), number in found.items() if name.startswith(AGENT_PREFIX)} == {
        f"{AGENT_PREFIX}robot": 1
    }


def test_a_row_without_an_end_counts_in_the_hour_in_which_it_was_due() -> None:
    row = a_run(a_task(), state=RunState.SKIPPED, reason=Reason.QUOTA, started=None, ended=None)
    assert sums(NEW_TASK_STATUS, Change(new_runs=(row,))) == {(HOUR_NUMBER, OUTCOME_PREFIX + "skipped:quota"): 1}


# --- lateness, read from counts --------------------------------------------------------------------------------------


def counts_of(*lateness: timedelta) -> dict[tuple[int, str], int]:
    found: Counter[tuple[int, str]] = Counter()
    for number, each in enumerate(lateness):
        found[HOUR_NUMBER + number % 3, f"{LATENESS_PREFIX}{bucket_of(each)}"] += 1
    return dict(found)


def test_lateness_of_no_runs() -> None:
    assert summarize_lateness({(NO_HOUR, STATE_PREFIX + "active"): 3}, SECOND) == Lateness(0, 0, None, None)


@pytest.mark.parametrize(("late", "on_time"), [(0, 100), (1, 99), (50, 50), (100, 0)])
def test_runs_within_the_bound_are_on_time(late: int, on_time: int) -> None:
    counts = counts_of(*[timedelta(milliseconds=2)] * on_time, *[10 * SECOND] * late)
    found = summarize_lateness({**counts, (HOUR_NUMBER, OUTCOME_PREFIX + "succeeded"): 100}, SECOND)
    assert (found.total, found.on_time) == (100, on_time)


@given(st.lists(microseconds, min_size=1, max_size=60))
def test_lateness_percentiles_are_upper_bounds(lateness: list[timedelta]) -> None:
    found = summarize_lateness(counts_of(*lateness), SECOND)
    ordered = sorted(lateness)
    median = ordered[(len(ordered) + 1) // 2 - 1]
    assert found.p50 is not None
    assert found.p99 is not None
    assert median <= found.p50 <= median * 1.25 + MICROSECOND
    assert found.p50 <= found.p99 <= ordered[-1] * 1.25 + MICROSECOND
    assert sum(each <= found.p99 for each in lateness) >= 0.99 * len(lateness)


def test_hours_are_summarized_each_by_itself_also_without_runs() -> None:
    hour = hour_of(NOON)
    late, outcome = f"{LATENESS_PREFIX}{bucket_of(2 * SECOND)}", f"{OUTCOME_PREFIX}failed"
    counts = {(hour, late): 2, (hour, outcome): 2, (hour - 2, outcome): 1, (hour - 9, outcome): 5, (NO_HOUR, "x"): 1}
    before, between, now = summarize_hours(counts, range(hour - 2, hour + 1), SECOND)
    assert [each.at for each in (before, between, now)] == [NOON - 2 * HOUR, NOON - HOUR, NOON]
    assert [each.outcomes for each in (before, between, now)] == [{"failed": 1}, {}, {"failed": 2}]
    assert [(each.lateness.total, each.lateness.on_time) for each in (before, between, now)] == [(0, 0), (0, 0), (2, 0)]
