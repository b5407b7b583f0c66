"""Policies: defaults, limits, JSON form."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import InvalidTask
from horae.model.policy import (
    DEFAULT_POLICIES,
    GUARANTEES,
    MAX_ATTEMPTS,
    MAX_BACKOFF,
    MAX_CATCH_UP,
    MAX_DURATION,
    MAX_NOTIFIED,
    MAX_TASK_LANES,
    MAX_TIMEOUT,
    MISSED_MODES,
    NOTICE_TEXT_CHARACTERS,
    OCCASIONS,
    ONE_SHOT_POLICIES,
    OVERLAPS,
    Missed,
    Notify,
    Policies,
    RetryPolicy,
    from_json,
    policies_for,
    to_json,
)
from horae.schedule import Cron, Every, Now, Once, Schedule

HOUR = timedelta(hours=1)
durations = st.timedeltas(timedelta(milliseconds=1), timedelta(days=30)).map(
    lambda span: timedelta(milliseconds=span // timedelta(milliseconds=1))
)
policies = st.builds(
    Policies,
    missed=st.builds(Missed, st.sampled_from(MISSED_MODES), st.none() | durations, st.integers(1, MAX_CATCH_UP)),
    overlap=st.sampled_from(OVERLAPS),
    retry=st.builds(RetryPolicy, st.none() | st.integers(1, MAX_ATTEMPTS), durations, st.floats(1, 100), durations),
    give_up_after=st.none() | st.integers(1, 1_000_000),
    timeout=durations,
    max_duration=st.none() | durations,
    guarantee=st.sampled_from(GUARANTEES),
    priority=st.integers(-100, 100),
    notify=st.none()
    | st.builds(
        Notify,
        st.lists(st.sampled_from(("ops", "me", "a.b-c")), min_size=1, unique=True).map(tuple),
        st.lists(st.sampled_from(OCCASIONS), min_size=1, unique=True).map(tuple),
    ),
)


def test_the_defaults() -> None:
    assert (
        Policies(
            missed=Missed("latest", 24 * HOUR, 100),
            overlap="skip",
            retry=RetryPolicy(4, timedelta(seconds=60), 2.0, HOUR),
            give_up_after=10,
            timeout=timedelta(seconds=300),
            max_duration=None,
            guarantee="at_least_once",
            priority=0,
        )
        == DEFAULT_POLICIES
    )


@pytest.mark.parametrize(
    ("schedule", "defaults"),
    [
        (Now(), ONE_SHOT_POLICIES),
        (Once(at=datetime(2026, 3, 1, tzinfo=UTC)), ONE_SHOT_POLICIES),
        (Every(interval=HOUR), DEFAULT_POLICIES),
        (Cron(expression="0 9 * * *", zone="UTC"), DEFAULT_POLICIES),
    ],
)
def test_the_defaults_fit_the_schedule(schedule: Schedule, defaults: Policies) -> None:
    assert policies_for(schedule) == defaults
    chosen = policies_for(schedule, {"overlap": "queue"})
    assert chosen.overlap == "queue"
    assert (chosen.missed, chosen.give_up_after) == (defaults.missed, defaults.give_up_after)


def test_defaults_of_once_tasks() -> None:
    assert (ONE_SHOT_POLICIES.missed, ONE_SHOT_POLICIES.give_up_after) == (Missed("latest", None, 100), 1)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: policies_for(Now(), {"colour": "red"}), "unknown_policy"),
        (lambda: Missed("sometimes"), "bad_choice"),  # type: ignore[arg-type]
        (lambda: Missed(within=timedelta(0)), "bad_duration"),
        (lambda: Missed(within=MAX_DURATION + HOUR), "bad_duration"),
        (lambda: Missed(within="1h"), "bad_duration"),  # type: ignore[arg-type]
        (lambda: Missed(limit=0), "bad_number"),
        (lambda: Missed(limit=MAX_CATCH_UP + 1), "bad_number"),
        (lambda: Missed(limit=True), "bad_number"),
        (lambda: RetryPolicy(attempts=0), "bad_number"),
        (lambda: RetryPolicy(attempts=MAX_ATTEMPTS + 1), "bad_number"),
        (lambda: RetryPolicy(attempts=1.5), "bad_number"),  # type: ignore[arg-type]
        (lambda: RetryPolicy(backoff=-HOUR), "bad_duration"),
        (lambda: RetryPolicy(backoff=MAX_BACKOFF + HOUR), "bad_duration"),
        (lambda: RetryPolicy(max=MAX_BACKOFF + HOUR), "bad_duration"),
        (lambda: RetryPolicy(factor=0.5), "bad_number"),
        (lambda: RetryPolicy(factor=101), "bad_number"),
        (lambda: RetryPolicy(factor=float("nan")), "bad_number"),
        (lambda: RetryPolicy(factor=float("inf")), "bad_number"),
        (lambda: RetryPolicy(factor="2"), "bad_number"),  # type: ignore[arg-type]
        (lambda: Policies(overlap="overwrite"), "bad_choice"),  # type: ignore[arg-type]
        (lambda: Policies(guarantee="exactly_once"), "bad_choice"),  # type: ignore[arg-type]
        (lambda: Policies(give_up_after=0), "bad_number"),
        (lambda: Policies(timeout=timedelta(0)), "bad_duration"),
        (lambda: Policies(timeout=MAX_TIMEOUT + HOUR), "bad_duration"),
        (lambda: Policies(max_duration=timedelta(0)), "bad_duration"),
        (lambda: Policies(priority=101), "bad_number"),
        (lambda: Policies(priority=-101), "bad_number"),
        (lambda: Policies(missed="latest"), "bad_policy"),  # type: ignore[arg-type]
        (lambda: Policies(retry=3), "bad_policy"),  # type: ignore[arg-type]
        (lambda: Policies(lanes=tuple(f"l{number}" for number in range(MAX_TASK_LANES + 1))), "too_many_task_lanes"),
        (lambda: Policies(lanes=["a"]), "bad_list"),  # type: ignore[arg-type]
        (lambda: Policies(notify="ops"), "bad_policy"),  # type: ignore[arg-type]
        (lambda: Policies(notify=Notify(("ops",)), notify_after=0), "notify_without_incident"),
        (lambda: Notify(()), "bad_list"),
        (lambda: Notify(["ops"]), "bad_list"),  # type: ignore[arg-type]
        (lambda: Notify(("ops", "ops")), "bad_list"),
        (lambda: Notify(tuple(f"n{number}" for number in range(MAX_NOTIFIED + 1))), "bad_list"),
        (lambda: Notify(("",)), "bad_text"),
        (lambda: Notify((7,)), "bad_text"),  # type: ignore[arg-type]
        (lambda: Notify(("ops",), ()), "bad_list"),
        (lambda: Notify(("ops",), text="x" * (NOTICE_TEXT_CHARACTERS + 1)), "bad_text"),
        (lambda: Notify(("ops",), text="\x1b[0m"), "bad_text"),
        (lambda: Notify(("ops",), text=7), "bad_text"),  # type: ignore[arg-type]
        (lambda: Notify(("ops",), text="{horae.secret}"), "unknown_placeholder"),
        (lambda: Notify(("ops",), ("started",)), "bad_choice"),  # type: ignore[arg-type]
    ],
)
def test_invalid_policies_are_refused(make: Any, code: str) -> None:
    with pytest.raises(InvalidTask) as refusal:
        make()
    assert refusal.value.code == code


@given(policies)
def test_policies_json_round_trip(chosen: Policies) -> None:
    assert from_json(json.loads(json.dumps(to_json(chosen)))) == chosen


@given(policies, st.integers(1, 10_000))
def test_backoff_is_bounded(chosen: Policies, tries: int) -> None:
    wait = chosen.retry.longest_wait(tries)
    assert timedelta(0) <= wait <= chosen.retry.max
    assert wait <= chosen.retry.longest_wait(tries + 1)


@pytest.mark.parametrize(("jitter", "share", "seconds"), [("full", 0.25, 30), ("none", 0.25, 120), ("none", 0.0, 120)])
def test_backoff_with_and_without_jitter(jitter: Any, share: float, seconds: int) -> None:
    retry = RetryPolicy(backoff=timedelta(seconds=60), factor=2, jitter=jitter)

    assert retry.wait(2, share) == timedelta(seconds=seconds)


def test_stored_policies_without_jitter_have_the_default() -> None:
    kept = to_json(Policies(retry=RetryPolicy(jitter="none")))
    assert from_json(kept).retry.jitter == "none"

    del kept["retry"]["jitter"]

    assert from_json(kept).retry.jitter == "full"


def test_stored_policies_without_superseded_by_next_have_the_default() -> None:
    kept = to_json(Policies(retry=RetryPolicy(superseded_by_next=False)))
    assert not from_json(kept).retry.superseded_by_next

    del kept["retry"]["superseded_by_next"]

    assert from_json(kept).retry.superseded_by_next


def test_superseded_by_next_that_is_no_boolean_is_refused() -> None:
    with pytest.raises(InvalidTask) as refusal:
        RetryPolicy(superseded_by_next="no")  # type: ignore[arg-type]
    assert refusal.value.code == "bad_choice"
    assert refusal.value.facts["allowed"] == "true, false"


def test_an_unknown_jitter_is_refused() -> None:
    with pytest.raises(InvalidTask):
        RetryPolicy(jitter="some")  # type: ignore[arg-type]


def test_messages_without_incidents_need_no_threshold() -> None:
    assert Policies(notify=Notify(("ops",), ("overdue", "succeeded")), notify_after=0).notify is not None


def test_policies_without_notify_are_stored_as_before() -> None:
    assert "notify" not in to_json(DEFAULT_POLICIES)


def test_text_of_messages_is_stored_only_where_there_is_one() -> None:
    plain, worded = Notify(("ops",)), Notify(("ops",), text="{horae.result} {braces} {horae.count}")
    assert "text" not in to_json(Policies(notify=plain))["notify"]
    for each in (plain, worded):
        assert from_json(to_json(Policies(notify=each))).notify == each
