"""Waterfall: steps of an occurrence and their geometry."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from horae.console.waterfall import MAX_ATTEMPTS, MIN_BAR, WIDTH, StepKind, build_waterfall, format_milliseconds
from horae.model.run import Run, RunState
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND, a_run, a_task

TASK = a_task()


def attempt(number: int, begin: float, end: float | None, state: RunState = RunState.FAILED, **fields: Any) -> Run:
    ended = None if end is None else NOON + end * SECOND
    return a_run(TASK, attempt=number, started=NOON + begin * SECOND, ended=ended, state=state, **fields)


def kinds(
    attempts: list[Run], next_due: datetime | None = None, now: datetime = NOON + HOUR
) -> list[tuple[str, int, int]]:
    return [(step.kind, step.offset, step.length) for step in build_waterfall(attempts, next_due, now).steps]


def test_attempts_are_separated_by_back_off_and_takeovers() -> None:
    attempts = [attempt(1, 0.018, 30, RunState.LOST), attempt(2, 40, 41), attempt(3, 60, 61, RunState.SUCCEEDED)]
    assert kinds(attempts) == [
        (StepKind.WAIT, 0, 18),
        (StepKind.ATTEMPT, 18, 29_982),
        (StepKind.TAKEOVER, 30_000, 10_000),
        (StepKind.ATTEMPT, 40_000, 1_000),
        (StepKind.PAUSE, 41_000, 19_000),
        (StepKind.ATTEMPT, 60_000, 1_000),
    ]


def test_live_run_lasts_until_now_and_a_waiting_attempt_ends_the_chart() -> None:
    going = build_waterfall([attempt(1, 1, None, RunState.RUNNING)], None, NOON + MINUTE)
    assert [(step.offset, step.length, step.is_open) for step in going.steps] == [
        (0, 1_000, False),
        (1_000, 59_000, True),
    ]
    assert kinds([attempt(1, 0, 1)], NOON + 11 * SECOND)[-1] == (StepKind.NEXT, 1_000, 10_000)


def test_run_that_never_started_has_no_length() -> None:
    skipped = a_run(TASK, state=RunState.SKIPPED, started=None, claimed=None, ended=NOON + SECOND)
    assert kinds([skipped]) == [(StepKind.WAIT, 0, 1_000), (StepKind.ATTEMPT, 1_000, 0)]
    assert build_waterfall([], None, NOON).steps == ()


def test_every_bar_is_visible_and_within_the_chart() -> None:
    attempts = [attempt(number, number * 600, number * 600 + 0.001) for number in range(1, 20)]
    for step in build_waterfall(attempts, NOON + 10 * HOUR, NOON + HOUR).steps:
        assert step.width >= MIN_BAR
        assert step.x >= 0
        assert step.x + step.width <= WIDTH + 0.1


def test_start_before_the_due_instant_begins_at_zero() -> None:
    early = attempt(1, -0.005, 1)
    assert kinds([early]) == [(StepKind.WAIT, 0, 0), (StepKind.ATTEMPT, 0, 1_005)]


def test_middle_of_many_attempts_is_left_out() -> None:
    attempts = [attempt(number, number, number + 0.5) for number in range(1, MAX_ATTEMPTS + 11)]
    drawn = build_waterfall(attempts, None, NOON + HOUR)
    numbers = [step.run.attempt for step in drawn.steps if step.run is not None]
    assert (numbers[0], numbers[-1], len(numbers), drawn.omitted) == (1, MAX_ATTEMPTS + 10, MAX_ATTEMPTS, 10)


def test_retry_counts_from_the_planned_instant() -> None:
    """The first attempt may be gone; a later one has a due instant of its own."""
    later = attempt(2, 100, 101, due=NOON + timedelta(seconds=100))
    assert kinds([later])[0] == (StepKind.WAIT, 0, 100_000)


def test_milliseconds_are_grouped_by_thousands() -> None:
    assert format_milliseconds(1_234_567) == "1\u202f234\u202f567"
