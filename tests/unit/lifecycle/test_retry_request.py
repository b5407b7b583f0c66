"""Retry by hand: what ended badly is attempted once more, whatever became of its task; the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Conflict
from horae.lifecycle.retry_request import request_retry
from horae.model.entry import EntryKind, EntryState
from horae.model.ids import occurrence_key
from horae.model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut
from horae.model.policy import Retry
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, SECOND, World, hour


def ended(outcome: Outcome, **chosen: Any) -> tuple[World, Run]:
    """One occurrence that came to its end at one o'clock, with no attempt left."""
    world = World(**{"retry": Retry(1), **chosen}).claim_at(hour(13))
    world.settle(outcome)
    (run,) = world.runs.values()
    return world, run


def refused(world: World, run: Run) -> str:
    with pytest.raises(Conflict) as caught:
        world.try_again(run)
    return caught.value.code


@pytest.mark.parametrize("outcome", [Failed("no"), Failed("never", permanent=True), TimedOut(), Cancelled()])
def test_what_ended_badly_is_attempted_at_once_with_the_same_key(outcome: Outcome) -> None:
    world, run = ended(outcome)
    world.later(MINUTE).try_again(run)
    world.claim_all()
    again = world.going
    assert (again.attempt, again.planned, again.due) == (2, run.planned, hour(13) + MINUTE)
    assert occurrence_key(again.task_id, again.origin, again.planned) == occurrence_key("tsk_1", "scheduled", hour(13))
    world.settle()
    assert world.ledger[-1] == "13:00 #2 succeeded"


@pytest.mark.parametrize("outcome", [Succeeded(), Skipped()])
def test_what_succeeded_or_had_nothing_to_do_has_nothing_to_be_tried_again(outcome: Outcome) -> None:
    assert refused(*ended(outcome)) == "nothing_to_retry"


def test_what_was_lost_for_good_may_be_tried_again() -> None:
    world = World(guarantee="at_most_once").claim_at(hour(13))
    world.start(world.going)
    world.die()
    (run,) = world.runs.values()
    assert run.state is RunState.LOST
    world.try_again(run)
    world.claim_all()
    assert (world.going.attempt, world.going.state) == (2, RunState.CLAIMED)


def test_it_is_tried_as_often_as_at_first() -> None:
    world = World(retry=Retry(2, backoff=SECOND), give_up_after=None).claim_at(hour(13))
    world.fail()
    world.claim_at(hour(13) + MINUTE)
    world.fail()
    world.try_again(world.runs[max(world.runs, key=lambda each: world.runs[each].attempt)])
    world.claim_all()
    assert (world.going.attempt, world.going.tries) == (3, 1)
    world.fail()
    assert len(world.queued(EntryKind.RETRY)) == 1
    world.claim_at(world.queued(EntryKind.RETRY)[0].due)
    world.fail()
    assert (world.queued(EntryKind.RETRY), len(world.runs)) == ([], 4)


def test_the_deaths_of_before_are_forgiven() -> None:
    world = World(retry=Retry(1), give_up_after=None).claim_at(hour(13))
    for _ in range(3):
        world.die()
        world.claim_all()
    world.fail()
    last = max(world.runs.values(), key=lambda run: run.attempt)
    assert (last.deaths, last.alone) == (3, True)
    world.try_again(last)
    world.claim_all()
    assert (world.going.deaths, world.going.alone) == (0, False)


def test_an_attempt_that_waits_for_its_time_comes_now_and_none_is_added() -> None:
    world = World(retry=Retry(3, backoff=30 * MINUTE)).claim_at(hour(13))
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


def test_an_attempt_that_waits_at_a_door_is_tried_from_there() -> None:
    world = World(retry=Retry(3, backoff=MINUTE)).claim_at(hour(13))
    world.fail()
    (waiting,) = world.queued(EntryKind.RETRY)
    world.at(waiting.due).strand(waiting)
    world.try_again(world.runs[next(iter(world.runs))])
    (entry,) = world.queued(EntryKind.RETRY)
    assert (entry.state, entry.attempt, entry.lane) == (EntryState.TIMED, 2, None)


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.COMPLETED])
def test_of_a_task_that_is_over_one_more_attempt_is_made(state: TaskState) -> None:
    if state is TaskState.FAILED:
        world, run = ended(Failed("no"), schedule=Once(at=hour(13)))
    else:
        world, run = ended(Failed("no"), schedule=Once(at=hour(13)), give_up_after=None)
    assert world.state is state
    world.later(HOUR).try_again(run)
    world.claim_all()
    assert world.going.attempt == 2
    world.settle()
    # That one occurrence was all there was to do, and it is done.
    after = (TaskState.COMPLETED, ["13:00 failed target_failed", "13:00 #2 succeeded"])
    assert (world.state, world.ledger) == after


def test_a_task_that_has_more_to_do_stays_failed_until_somebody_resumes_it() -> None:
    world, run = ended(Failed("no"), schedule=Every(interval=HOUR), give_up_after=1)
    assert world.state is TaskState.FAILED
    world.try_again(run)
    world.claim_all()
    world.settle()
    assert (world.state, world.ledger[-1]) == (TaskState.FAILED, "13:00 #2 succeeded")


def test_of_a_task_that_is_over_nothing_else_starts() -> None:
    """Only what somebody has asked for: an occurrence that was queued when the task gave up does not run."""
    world = World(Every(interval=HOUR), overlap="queue", give_up_after=1, retry=Retry(1)).claim_at(hour(13))
    world.claim_at(hour(14))
    world.fail()
    assert (world.state, world.due) == (TaskState.FAILED, [])


def test_a_run_by_hand_is_tried_again_too() -> None:
    world = World(retry=Retry(1))
    world.run_now()
    world.claim_all()
    world.fail()
    (run,) = world.runs.values()
    world.try_again(run)
    world.claim_all()
    assert (world.going.origin, world.going.attempt) == (Origin.MANUAL, 2)


def test_what_goes_on_or_belongs_to_a_paused_or_cancelled_task_is_refused() -> None:
    going = World().claim_at(hour(13))
    assert refused(going, going.going) == "run_going"
    paused, run = ended(Failed("no"))
    paused.pause()
    assert refused(paused, run) == "task_paused"
    gone, run = ended(Failed("no"))
    gone.cancel()
    assert refused(gone, run) == "task_cancelled"


def test_whoever_read_the_ledger_before_the_next_attempt_started_is_told_that_it_goes_on() -> None:
    """Two live runs of one occurrence must never be: also not when whoever asks had looked a moment too early."""
    world = World(retry=Retry(3, backoff=SECOND), overlap="parallel").claim_at(hour(13))
    seen = world.going
    world.fail()
    failed = world.runs[seen.id]
    world.claim_at(hour(13) + 2 * SECOND)
    with pytest.raises(Conflict) as caught:
        request_retry(world.facts, failed, world.now)
    assert (caught.value.code, caught.value.facts["id"]) == ("run_going", world.going.id)
    with pytest.raises(Conflict):
        request_retry(world.facts._replace(live=()), seen, world.now)
