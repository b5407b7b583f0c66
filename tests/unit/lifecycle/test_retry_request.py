"""Retry on request: a failed run gets another attempt in any state of its task; other runs are refused."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Conflict
from horae.lifecycle.control.control import request_retry
from horae.model.entry import EntryKind, EntryState
from horae.model.ids import occurrence_key
from horae.model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut
from horae.model.policy import RetryPolicy
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, SECOND, World, hour


def ended(outcome: Outcome, **chosen: Any) -> tuple[World, Run]:
    """One occurrence that came to its end at one o'clock, with no attempt left."""
    world = World(**{"retry": RetryPolicy(1), **chosen}).claim_at(hour(13))
    world.settle(outcome)
    (run,) = world.runs.values()
    return world, run


def refused(world: World, run: Run) -> str:
    with pytest.raises(Conflict) as caught:
        world.try_again(run)
    return caught.value.code


@pytest.mark.parametrize("outcome", [Failed("no"), Failed("never", permanent=True), TimedOut(), Cancelled()])
def test_failed_run_is_retried_at_once_with_the_same_key(outcome: Outcome) -> None:
    world, run = ended(outcome)
    world.advance(MINUTE).try_again(run)
    world.claim_all()
    again = world.live_run
    assert (again.attempt, again.planned, again.due) == (2, run.planned, hour(13) + MINUTE)
    assert occurrence_key(again.task_id, again.origin, again.planned) == occurrence_key("tsk_1", "scheduled", hour(13))
    world.settle()
    assert world.ledger[-1] == "13:00 #2 succeeded"


@pytest.mark.parametrize("outcome", [Succeeded(), Skipped()])
def test_succeeded_or_skipped_run_cannot_be_retried(outcome: Outcome) -> None:
    assert refused(*ended(outcome)) == "nothing_to_retry"


def test_finally_lost_run_can_be_retried() -> None:
    world = World(guarantee="at_most_once").claim_at(hour(13))
    world.start(world.live_run)
    world.lose()
    (run,) = world.runs.values()
    assert run.state is RunState.LOST
    world.try_again(run)
    world.claim_all()
    assert (world.live_run.attempt, world.live_run.state) == (2, RunState.CLAIMED)


def test_requested_retry_has_all_attempts_again() -> None:
    world = World(retry=RetryPolicy(2, backoff=SECOND), give_up_after=None).claim_at(hour(13))
    world.fail()
    world.claim_at(hour(13) + MINUTE)
    world.fail()
    world.try_again(world.runs[max(world.runs, key=lambda each: world.runs[each].attempt)])
    world.claim_all()
    assert (world.live_run.attempt, world.live_run.tries) == (3, 1)
    world.fail()
    assert len(world.queued(EntryKind.RETRY)) == 1
    world.claim_at(world.queued(EntryKind.RETRY)[0].due)
    world.fail()
    assert (world.queued(EntryKind.RETRY), len(world.runs)) == ([], 4)


def test_requested_retry_resets_the_deaths() -> None:
    world = World(retry=RetryPolicy(1), give_up_after=None).claim_at(hour(13))
    for _ in range(3):
        world.lose()
        world.claim_all()
    world.fail()
    last = max(world.runs.values(), key=lambda run: run.attempt)
    assert (last.deaths, last.alone) == (3, True)
    world.try_again(last)
    world.claim_all()
    assert (world.live_run.deaths, world.live_run.alone) == (0, False)


def test_pending_retry_is_moved_to_now() -> None:
    world = World(retry=RetryPolicy(3, backoff=30 * MINUTE)).claim_at(hour(13))
    world.fail()
    (waiting,) = world.queued(EntryKind.RETRY)
    (run,) = world.runs.values()
    assert waiting.due > world.now
    world.try_again(run)
    assert world.queued(EntryKind.RETRY) == [waiting._replace(due=world.now)]
    world.try_again(run)
    assert world.queued(EntryKind.RETRY) == [waiting._replace(due=world.now)], (
        "it is due, and asking again adds nothing"
    )


def test_requested_retry_unparks_a_stranded_retry() -> None:
    world = World(retry=RetryPolicy(3, backoff=MINUTE)).claim_at(hour(13))
    world.fail()
    (waiting,) = world.queued(EntryKind.RETRY)
    world.at(waiting.due).strand(waiting)
    world.try_again(world.runs[next(iter(world.runs))])
    (entry,) = world.queued(EntryKind.RETRY)
    assert (entry.state, entry.attempt, entry.lane) == (EntryState.TIMED, 2, None)


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.COMPLETED])
def test_run_of_an_ended_task_can_be_retried(state: TaskState) -> None:
    if state is TaskState.FAILED:
        world, run = ended(Failed("no"), schedule=Once(at=hour(13)))
    else:
        world, run = ended(Failed("no"), schedule=Once(at=hour(13)), give_up_after=None)
    assert world.state is state
    world.advance(HOUR).try_again(run)
    world.claim_all()
    assert world.live_run.attempt == 2
    world.settle()
    # That one occurrence was all there was to do, and it is done.
    after = (TaskState.COMPLETED, ["13:00 failed target_failed", "13:00 #2 succeeded"])
    assert (world.state, world.ledger) == after


def test_failed_recurring_task_stays_failed_after_a_retry() -> None:
    world, run = ended(Failed("no"), schedule=Every(interval=HOUR), give_up_after=1)
    assert world.state is TaskState.FAILED
    world.try_again(run)
    world.claim_all()
    world.settle()
    assert (world.state, world.ledger[-1]) == (TaskState.FAILED, "13:00 #2 succeeded")


def test_retry_of_an_ended_task_starts_nothing_else() -> None:
    """Only the requested attempt: an occurrence that was queued when the task failed does not run."""
    world = World(Every(interval=HOUR), overlap="queue", give_up_after=1, retry=RetryPolicy(1)).claim_at(hour(13))
    world.claim_at(hour(14))
    world.fail()
    assert (world.state, world.due) == (TaskState.FAILED, [])


def test_manual_run_can_be_retried() -> None:
    world = World(retry=RetryPolicy(1))
    world.run_now()
    world.claim_all()
    world.fail()
    (run,) = world.runs.values()
    world.try_again(run)
    world.claim_all()
    assert (world.live_run.origin, world.live_run.attempt) == (Origin.MANUAL, 2)


def test_retry_of_a_live_run_or_a_paused_or_cancelled_task_is_refused() -> None:
    going = World().claim_at(hour(13))
    assert refused(going, going.live_run) == "run_going"
    paused, run = ended(Failed("no"))
    paused.pause()
    assert refused(paused, run) == "task_paused"
    gone, run = ended(Failed("no"))
    gone.cancel()
    assert refused(gone, run) == "task_cancelled"


def test_retry_decided_on_stale_rows_is_refused_while_an_attempt_is_live() -> None:
    """Never two live runs of one occurrence, also for a request based on stale rows."""
    world = World(retry=RetryPolicy(3, backoff=SECOND), overlap="parallel").claim_at(hour(13))
    seen = world.live_run
    world.fail()
    failed = world.runs[seen.id]
    world.claim_at(hour(13) + 2 * SECOND)
    with pytest.raises(Conflict) as caught:
        request_retry(world.facts, failed, world.now)
    assert (caught.value.code, caught.value.facts["id"]) == ("run_going", world.live_run.id)
    with pytest.raises(Conflict):
        request_retry(world.facts._replace(live=()), seen, world.now)
