"""`why` for an instant with several rows: manual runs, attempts that never started, retries."""

from __future__ import annotations

from datetime import datetime

import pytest

from horae.lifecycle.explain.explanation import Explanation, Verdict, explain
from horae.model.accounts.principal import AGENT_LABEL
from horae.model.outcome import Cancelled, Skipped
from horae.model.policy import Missed, RetryPolicy
from horae.model.reason import Reason, describe_reason
from horae.model.run import RunState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, SECOND, World, hour


def why(world: World, at: datetime) -> Explanation:
    return explain(world.facts, tuple(world.runs.values()), at, world.now)


def skipped_on_request() -> World:
    world = World()
    world.skip_next(1)
    return world.claim_at(hour(13))


def superseded_retry() -> World:
    """A once task failed; before its retry was due it got a new time, which came first."""
    world = World(Once(at=hour(13)), retry=RetryPolicy(4), give_up_after=3).claim_at(hour(13))
    world.fail(retry_after=HOUR)
    world.advance(MINUTE).edit(schedule=Once(at=hour(13.25)))
    return world.claim_at(hour(13.25))


def test_skipped_instant_that_was_run_on_request_has_run() -> None:
    world = skipped_on_request()
    assert why(world, hour(13)).verdict is Verdict.SKIPPED
    world.advance(MINUTE).backfill(hour(13), hour(13))
    world.claim_all()
    assert why(world, hour(13)).verdict is Verdict.RUNNING
    world.settle()
    answer = why(world, hour(13))
    assert answer.verdict is Verdict.RAN
    assert answer.run is not None
    assert answer.run.state is RunState.SUCCEEDED
    assert answer.english == (
        "It ran: succeeded. It started 0.000 s after it was due. It was run on request; the schedule had not run it. "
        + describe_reason(Reason.SKIP_REQUESTED)
    )
    assert "它是按请求运行的" in answer.chinese


def test_manual_run_of_an_executed_instant_is_explained_by_the_request() -> None:
    world = World().claim_at(hour(13))
    world.settle()
    world.advance(MINUTE).backfill(hour(13), hour(13))
    world.claim_all()
    world.fail()
    answer = why(world, hour(13))
    assert (answer.verdict, answer.runs[-1].state) == (Verdict.RAN, RunState.FAILED)
    assert "on request" not in answer.english


def test_later_request_that_was_not_run_does_not_hide_the_run() -> None:
    world = World().claim_at(hour(13))
    world.settle()
    world.advance(MINUTE).backfill(hour(13), hour(13))
    world.cancel()
    answer = why(world, hour(13))
    assert answer.verdict is Verdict.RAN
    assert answer.english.endswith("A later request for it was not run. It was cancelled.")
    assert answer.chinese.endswith("之后对它的请求没有运行。它被取消了。")


def test_failed_run_whose_retry_was_superseded_has_failed() -> None:
    world = superseded_retry()
    answer = why(world, hour(13))
    assert (answer.verdict, answer.reason) == (Verdict.RAN, Reason.TARGET_FAILED)
    assert answer.run is not None
    assert (answer.run.state, answer.run.attempt) == (RunState.FAILED, 1)
    assert "Its next attempt was not run. " + describe_reason(Reason.SUPERSEDED) in answer.english


def test_failed_run_whose_retry_was_superseded_can_be_tried_again() -> None:
    world = superseded_retry()
    world.settle()
    (unused,) = [run for run in world.runs.values() if run.state is RunState.SKIPPED]
    world.try_again(unused)
    world.claim_all()
    assert (world.live_run.planned, world.live_run.attempt) == (hour(13), 3)


def test_answer_without_rows_is_about_no_run() -> None:
    assert why(World(), hour(13)).run is None


# --- attempts ----------------------------------------------------------------------------------------------------------


def test_requested_attempt_of_a_lost_at_most_once_run_took_nothing_over() -> None:
    world = World(guarantee="at_most_once").claim_at(hour(13))
    world.start(world.live_run)
    lost = world.live_run
    world.release()
    world.advance(MINUTE).try_again(world.runs[lost.id])
    world.claim_all()
    world.start(world.live_run)
    world.settle()
    answer = why(world, hour(13))
    assert answer.english.endswith("Attempt 2 was requested after attempt 1 ended as lost.")
    assert "按请求" in answer.chinese


def test_requested_attempt_after_a_failure_is_no_retry_of_the_policy() -> None:
    world = World(retry=RetryPolicy(1)).claim_at(hour(13))
    failed = world.live_run
    world.fail()
    world.advance(MINUTE).try_again(world.runs[failed.id])
    world.claim_all()
    world.settle()
    assert why(world, hour(13)).english.endswith("Attempt 2 was requested after attempt 1 ended as failed.")


def test_lateness_of_each_attempt_counts_from_the_jittered_due_instant() -> None:
    world = World(Every(interval=HOUR, jitter=40 * MINUTE), retry=RetryPolicy(2))
    assert world.next is not None
    due = world.next.due
    assert due > hour(13)
    world.claim_at(due)
    world.fail(retry_after=MINUTE)
    world.at(due + MINUTE).claim_all()
    world.settle()
    answer = why(world, hour(13))
    assert "It started 60.000 s after it was due." in answer.english
    assert [answer.lateness_of(run) for run in answer.runs] == [0 * SECOND, MINUTE]
    (skipped,) = why(skipped_on_request(), hour(13)).runs
    assert answer.lateness_of(skipped) is None


def test_cancelled_run_says_when_it_started_not_when_it_was_cancelled() -> None:
    world = World().claim_at(hour(13) + SECOND)
    world.advance(10 * SECOND).settle(Cancelled())
    assert why(world, hour(13)).english.startswith("It ran: cancelled. It started 1.000 s after it was due.")


# --- the next attempt, as the agenda has it ----------------------------------------------------------------------------


def waiting_for_retry() -> World:
    world = World(retry=RetryPolicy(2), lane="narrow").claim_at(hour(13))
    world.fail(retry_after=MINUTE)
    return world


def test_retry_of_a_paused_task_is_not_announced_for_its_time() -> None:
    world = waiting_for_retry()
    world.pause()
    answer = why(world, hour(13))
    assert answer.english.endswith("It is not tried again while the task is paused.")
    assert "tried again at" not in answer.english


def test_retry_that_is_due_is_not_announced_for_a_time_that_has_passed() -> None:
    world = waiting_for_retry().advance(2 * MINUTE)
    answer = why(world, hour(13))
    assert answer.english.endswith("Its next attempt is due since 2026-03-01 13:01 +00:00 and waits for a node.")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_retry_that_waits_for_its_lane_names_the_lane(language: str) -> None:
    world = waiting_for_retry().advance(2 * MINUTE)
    world.others = world.limit
    world.claim_all()
    answer = why(world, hour(13))
    text = answer.english if language == "en" else answer.chinese
    assert "narrow" in text
    assert ("and waits" if language == "en" else "正在等待") in text


# --- stretches and quotas ----------------------------------------------------------------------------------------------


def test_time_between_the_instants_of_a_stretch_was_not_planned() -> None:
    world = World(missed=Missed("skip")).claim_at(hour(15.5))
    assert why(world, hour(14)).verdict is Verdict.SKIPPED
    between = why(world, hour(14.5))
    assert between.verdict is Verdict.NOT_PLANNED
    assert "the nearest later one is 2026-03-01 15:00" in between.english


def test_stretch_of_an_edited_task_is_not_compared_with_its_new_schedule() -> None:
    world = World(missed=Missed("skip")).claim_at(hour(15.5))
    world.edit(schedule=Every(interval=2 * HOUR))
    assert why(world, hour(14)).verdict is Verdict.SKIPPED


def test_run_that_the_quota_of_an_agent_skipped_names_it() -> None:
    world = World()
    world.edit(labels=((AGENT_LABEL, "robot"),))
    world.block_reason = Reason.AGENT_QUOTA
    world.claim_at(hour(13))
    answer = why(world, hour(13))
    assert answer.reason is Reason.AGENT_QUOTA
    assert "The quota runs_per_day of 'robot' was used up" in answer.english
    assert "“robot”的配额 runs_per_day" in answer.chinese


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("no new mail", (" Its words: no new mail.", "原话：no new mail。")),
        ("No new mail.", (" Its words: No new mail.", "原话：No new mail.")),
        ("", ("", "")),
    ],
)
def test_target_that_skipped_its_run_is_quoted(note: str, words: tuple[str, str]) -> None:
    world = World().claim_at(hour(13))
    world.settle(Skipped(note))
    answer = why(world, hour(13))
    assert answer.reason is Reason.SKIPPED_BY_TARGET
    assert answer.english.endswith(describe_reason(Reason.SKIPPED_BY_TARGET) + words[0])
    assert answer.chinese.endswith(describe_reason(Reason.SKIPPED_BY_TARGET, "zh") + words[1])


def test_run_beyond_a_budget_has_its_numbers_in_both_languages() -> None:
    note = (
        "Budget of 'family', runs per day: 5 used, 0 reserved, 5 allowed, about 1 needed. "
        "The next day begins at 2026-01-02 00:00 (UTC)."
    )
    world = World().claim_at(hour(13))
    world.settle(Skipped(note, Reason.OVER_BUDGET))
    answer = why(world, hour(13))
    assert answer.reason is Reason.OVER_BUDGET
    assert answer.english.endswith(note)
    assert answer.chinese.endswith("新的一天从 2026-01-02 00:00 (UTC) 开始。")
