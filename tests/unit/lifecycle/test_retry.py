"""Retry, give up, lost, poison, at_most_once and deadlines: the effect of a run that does not succeed."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from horae.lifecycle.control import control
from horae.lifecycle.recover import MAX_DEATHS
from horae.lifecycle.settle import settle
from horae.lifecycle.start import DEATHS_BEFORE_ISOLATION
from horae.model.entry import EntryKind
from horae.model.events.event import EventKind
from horae.model.ids import hash_fraction
from horae.model.outcome import Cancelled, Failed, Outcome, Settlement, Skipped, Succeeded, TimedOut, Waiting
from horae.model.policy import MAX_BACKOFF, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, NODE, SECOND, World, hour

ONCE = Once(at=hour(13))
ENDS: dict[str, Outcome] = {
    "F": Failed("no"),
    "T": TimedOut(),
    "S": Succeeded(),
    "C": Cancelled(),
    "K": Skipped(),
}


def going(**policies: Any) -> World:
    return World(**policies).claim_at(hour(13))


# --- attempts and waits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state", "reason", "tried_again"),
    [
        (Succeeded('"done"'), RunState.SUCCEEDED, None, False),
        (Failed("no"), RunState.FAILED, Reason.TARGET_FAILED, True),
        (Failed("no", reason=Reason.NO_ANSWER), RunState.FAILED, Reason.NO_ANSWER, True),
        (Failed("no", reason=Reason.TARGET_UNKNOWN), RunState.FAILED, Reason.TARGET_UNKNOWN, True),
        (Failed("never", permanent=True), RunState.FAILED, Reason.TARGET_FAILED, False),
        (Failed("wait", retry_after=MINUTE), RunState.FAILED, Reason.TARGET_FAILED, True),
        (Failed("never", permanent=True, retry_after=MINUTE), RunState.FAILED, Reason.TARGET_FAILED, False),
        (Failed("dead", died_isolated=True), RunState.FAILED, Reason.QUARANTINED, False),
        (TimedOut("silent"), RunState.TIMED_OUT, Reason.DEADLINE, True),
        (TimedOut(), RunState.TIMED_OUT, Reason.DEADLINE, True),
        (Cancelled(), RunState.CANCELLED, Reason.CANCELLED, False),
        (Cancelled("stopped"), RunState.CANCELLED, Reason.CANCELLED, False),
        (Skipped(), RunState.SKIPPED, Reason.SKIPPED_BY_TARGET, False),
        (Skipped("nothing new", Reason.QUOTA), RunState.SKIPPED, Reason.QUOTA, False),
        (Skipped("later", again_after=MINUTE), RunState.SKIPPED, Reason.SKIPPED_BY_TARGET, True),
    ],
)
def test_state_and_reason_by_outcome(
    outcome: Outcome,
    state: RunState,
    reason: Reason | None,
    tried_again: bool,  # noqa: FBT001 - one column of a table
) -> None:
    world = going()
    run = world.live_run
    world.advance(MINUTE).settle(outcome)
    ended = world.runs[run.id]
    assert (ended.state, ended.reason, ended.ended) == (state, reason, hour(13) + MINUTE)
    assert ("retry 13:00 #2 timed" in world.agenda) == tried_again
    assert (EventKind.RUN_RETRYING in [event.kind for event in world.events]) == tried_again


def test_a_target_that_gives_way_uses_up_no_attempt() -> None:
    world = World(ONCE, retry=RetryPolicy(attempts=1)).claim_at(hour(13))
    for wait in (timedelta(0), MINUTE, -MINUTE):
        world.settle(Skipped("another one goes first", again_after=wait))
        (retry,) = world.queued(EntryKind.RETRY)
        assert retry.due == world.now + max(wait, timedelta(0))
        world.claim_at(retry.due)
    assert (world.live_run.attempt, world.live_run.tries) == (4, 1)
    world.fail()
    assert world.queued(EntryKind.RETRY) == []


def test_a_target_that_gives_way_is_not_tried_again_after_a_cancellation() -> None:
    world = going()
    world.decide(lambda facts: control.cancel(facts, world.now))
    world.settle(Skipped("another one goes first", again_after=MINUTE))
    assert world.queued(EntryKind.RETRY) == []


def test_result_is_stored_with_the_run_and_shortened_with_the_task() -> None:
    world = going()
    world.settle(Succeeded("x" * 300))
    (run,) = world.runs.values()
    assert (run.result_json, run.error) == ("x" * 300, None)
    assert world.status.last_result == "x" * 199 + "…"
    world.claim_at(hour(14))
    world.fail()
    assert world.status.last_result == "no"
    world.claim_all()
    world.claim_at(hour(15))
    world.settle(Succeeded())
    assert world.status.last_result is None


@pytest.mark.parametrize("outcome", [Succeeded(), Waiting(hour(14))])
@pytest.mark.parametrize(("said", "started"), [(hour(13) + SECOND, hour(13) + SECOND), (None, hour(13))])
def test_start_is_the_one_reported_by_the_node(outcome: Outcome, said: datetime | None, started: datetime) -> None:
    """The call may start after the claim; without a reported start, the claim counts."""
    world = going()
    run = world.live_run
    report = Settlement(run.id, run.token, outcome, said, hour(13) + MINUTE)
    world.decide(lambda facts: settle(facts, run, report))
    assert world.runs[run.id].started == started


def test_backoff_is_a_share_of_a_doubling_maximum() -> None:
    """60 s, 120 s, 240 s, at most `max`. Which share belongs to the run, so that a replay repeats it."""
    world = World(ONCE, retry=RetryPolicy(attempts=None, max=5 * MINUTE)).claim_at(hour(13))
    for longest in (60, 120, 240, 300, 300):
        run = world.live_run
        world.fail()
        (retry,) = world.queued(EntryKind.RETRY)
        assert retry.due == world.now + timedelta(seconds=longest) * hash_fraction(run.id)
        world.claim_at(retry.due)


@pytest.mark.parametrize(
    ("tries", "longest"),
    [(1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (8, 3600), (1000, 3600), (10**9, 3600)],
)
def test_backoff_maximum(tries: int, longest: int) -> None:
    assert RetryPolicy().longest_wait(tries) == timedelta(seconds=longest)


def test_backoff_jitter_covers_the_whole_range() -> None:
    shares = sorted(hash_fraction(f"run_{number}") for number in range(1000))
    assert 0 <= shares[0] < 0.01
    assert 0.99 < shares[-1] < 1
    assert all(later - earlier < 0.02 for earlier, later in pairwise(shares))


@pytest.mark.parametrize(
    ("wanted", "waits"),
    [(90 * SECOND, 90 * SECOND), (timedelta(0), timedelta(0)), (-HOUR, timedelta(0)), (timedelta.max, MAX_BACKOFF)],
)
def test_retry_after_of_the_target(wanted: timedelta, waits: timedelta) -> None:
    world = World(ONCE).claim_at(hour(13))
    world.fail(retry_after=wanted)
    (retry,) = world.queued(EntryKind.RETRY)
    assert retry.due == hour(13) + waits


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_attempts_count_the_first_one_too(attempts: int) -> None:
    world = World(ONCE, retry=RetryPolicy(attempts, timedelta(0))).claim_at(hour(13))
    for _ in range(attempts):
        world.fail()
        world.claim_all()
    assert len(world.ledger) == attempts
    assert world.state is TaskState.FAILED
    assert not world.entries


def test_the_default_is_four() -> None:
    assert World().task.policies.retry == RetryPolicy(4, MINUTE, 2, HOUR)


# --- giving up -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "failures"),
    [
        ("F", 1),
        ("FT", 2),
        ("FTL", 3),
        ("FS", 0),
        ("FSF", 1),
        ("FC", 1),  # a cancelled one does neither
        ("FK", 1),  # nor does one that had nothing to do
        ("CK", 0),
    ],
)
def test_failed_occurrences_in_a_row(outcomes: str, failures: int) -> None:
    world = World(retry=RetryPolicy(1), guarantee="at_most_once")
    for number, letter in enumerate(outcomes):
        world.claim_at(hour(13 + number))
        world.start(world.live_run)
        if letter == "L":
            world.lose()
        else:
            world.settle(ENDS[letter])
    assert world.status.failures == failures
    assert world.state is TaskState.ACTIVE


def test_task_fails_after_ten_failures_in_a_row() -> None:
    world = World(retry=RetryPolicy(1))
    for number in range(10):
        assert world.state is TaskState.ACTIVE
        world.claim_at(hour(13 + number))
        world.fail(reason=Reason.NO_ANSWER)
    assert (world.state, world.status.reason, world.status.ended) == (TaskState.FAILED, Reason.NO_ANSWER, hour(22))
    assert world.agenda == []
    assert world.events[-1].kind is EventKind.TASK_FAILED
    assert world.events[-1].detail == "no_answer"


def test_only_the_last_attempt_of_an_occurrence_counts() -> None:
    world = World(retry=RetryPolicy(3, timedelta(0)), give_up_after=2).claim_at(hour(13))
    for _ in range(3):
        assert world.status.failures == 0
        world.fail()
        world.claim_all()
    assert world.status.failures == 1


def test_never_giving_up() -> None:
    world = World(retry=RetryPolicy(1), give_up_after=None)
    for number in range(12):
        world.claim_at(hour(13 + number))
        world.fail()
    assert (world.state, world.status.failures) == (TaskState.ACTIVE, 12)


def test_failed_manual_run_does_not_count() -> None:
    world = World(retry=RetryPolicy(1), give_up_after=1).at(hour(12.5))
    world.run_now()
    world.claim_all()
    world.fail()
    assert (world.state, world.status.failures, world.status.last_end) == (TaskState.ACTIVE, 0, None)


def test_give_up_records_due_occurrences_and_keeps_manual_ones() -> None:
    world = going(overlap="queue_all", give_up_after=1).claim_at(hour(14)).at(hour(14.5))
    world.run_now()
    world.claim_all()
    world.fail(permanent=True)
    assert world.ledger == ["13:00 failed target_failed", "14:00 skipped cancelled"]
    assert world.agenda == ["manual 14:30 timed"]
    assert world.claim_all().ledger[-1] == "14:30 running"
    world.settle()
    assert world.state is TaskState.FAILED


def test_give_up_records_count_where_planned_counts() -> None:
    world = World(Every(interval=HOUR, repeat=4, counting="planned"), give_up_after=1).claim_at(hour(13)).at(hour(15.5))
    world.fail(permanent=True)
    assert world.ledger == ["13:00 failed target_failed", "14:00..15:00 x2 skipped cancelled"]
    assert world.status.counted == 3
    world.resume()
    world.claim_at(hour(16)).settle()
    assert world.state is TaskState.COMPLETED


@pytest.mark.parametrize(("at", "counted"), [(hour(14) - SECOND, 1), (hour(14), 2)])
def test_give_up_counts_no_future_occurrence(at: datetime, counted: int) -> None:
    world = World(Every(interval=HOUR, repeat=4, counting="planned"), give_up_after=1).claim_at(hour(13)).at(at)
    world.fail(permanent=True)
    assert world.status.counted == counted
    assert len(world.ledger) == counted


def test_other_live_runs_may_end_after_give_up() -> None:
    world = going(overlap="parallel", give_up_after=1).claim_at(hour(14))
    first, second = world.live
    world.fail(first, permanent=True)
    assert world.state is TaskState.FAILED
    world.settle(TimedOut(), second)
    assert world.ledger == ["13:00 failed target_failed", "14:00 timed_out deadline"]
    assert world.state is TaskState.FAILED
    assert world.agenda == []


# --- lost ------------------------------------------------------------------------------------------------------------


def test_lost_run_is_retried_at_once_without_using_an_attempt() -> None:
    world = World(ONCE, retry=RetryPolicy(1)).claim_at(hour(13)).advance(MINUTE)
    world.lose()
    assert world.agenda == ["retry 13:00 #2 timed"]
    assert world.claim_all().ledger == ["13:00 lost lease_lost", "13:00 #2 running"]
    assert (world.live_run.tries, world.live_run.forgiven, world.live_run.deaths) == (1, 1, 1)
    world.fail()
    assert world.state is TaskState.FAILED


def test_release_equals_early_recovery() -> None:
    world = World(ONCE, retry=RetryPolicy(1)).claim_at(hour(13))
    for _ in range(7):
        world.release()
        world.claim_all()
    assert world.ledger == [
        "13:00 lost released",
        *(f"13:00 #{n} lost released" for n in range(2, 8)),
        "13:00 #8 running",
    ]
    assert (world.live_run.tries, world.live_run.deaths, world.live_run.alone) == (1, 0, False)


def test_lost_run_with_a_cancel_request_is_cancelled() -> None:
    world = going()
    world.cancel_run()
    world.lose()
    assert world.ledger == ["13:00 cancelled cancelled"]
    assert world.agenda == ["next 14:00 timed"]


@pytest.mark.parametrize("how", ["lose", "release"])
def test_lost_by_a_task_that_is_cancelled(how: str) -> None:
    world = going()
    run = world.live_run
    world.cancel()
    world.runs[run.id] = world.runs[run.id]._replace(cancel=None)
    getattr(world, how)()
    assert world.ledger[0].startswith("13:00 lost")
    assert world.agenda == []
    assert world.state is TaskState.CANCELLED


# --- poison ----------------------------------------------------------------------------------------------------------


def test_run_is_isolated_after_two_deaths() -> None:
    world = going()
    assert DEATHS_BEFORE_ISOLATION == 2
    for alone in (False, False, True):
        assert world.live_run.alone is alone
        world.lose()
        world.claim_all()


def test_a_failure_is_no_death() -> None:
    world = going(retry=RetryPolicy(4, timedelta(0)))
    for _ in range(3):
        world.fail()
        world.claim_all()
    assert (world.live_run.attempt, world.live_run.deaths, world.live_run.alone) == (4, 0, False)


def test_death_in_isolation_quarantines_the_task() -> None:
    world = going()
    world.fail(died_isolated=True)
    assert world.ledger == ["13:00 failed quarantined"]
    assert (world.state, world.status.reason) == (TaskState.FAILED, Reason.QUARANTINED)
    assert world.agenda == []


def test_five_deaths_quarantine_the_task() -> None:
    world = going(give_up_after=None)
    for _ in range(MAX_DEATHS - 1):
        world.lose()
        world.claim_all()
    assert world.state is TaskState.ACTIVE
    world.lose()
    assert (world.state, world.status.reason) == (TaskState.FAILED, Reason.QUARANTINED)
    assert world.ledger[-1] == "13:00 #5 lost lease_lost"


def test_waiters_of_a_quarantined_task_are_recorded() -> None:
    world = going(overlap="queue").claim_at(hour(14))
    world.fail(died_isolated=True)
    assert world.ledger == ["13:00 failed quarantined", "14:00 skipped quarantined"]


def test_ended_task_is_not_quarantined() -> None:
    world = World(ONCE).claim_at(hour(13))
    world.settle()
    world.advance(MINUTE).run_now()
    world.claim_all()
    world.fail(died_isolated=True)
    assert world.state is TaskState.COMPLETED


# --- at most once ----------------------------------------------------------------------------------------------------


def careful() -> World:
    world = World(ONCE, guarantee="at_most_once").claim_at(hour(13))
    assert (world.live_run.state, world.live_run.started, world.live_run.claimed) == (RunState.CLAIMED, None, hour(13))
    return world


def test_at_least_once_is_running_from_its_claim() -> None:
    run = World(ONCE).claim_at(hour(13)).live_run
    assert (run.state, run.started, run.node) == (RunState.RUNNING, hour(13), NODE)


@pytest.mark.parametrize("how", ["lose", "release"])
def test_at_most_once_run_that_never_started_is_queued_again(how: str) -> None:
    world = careful()
    getattr(world, how)()
    assert world.agenda == ["retry 13:00 #2 timed"]
    assert world.claim_all().live_run.deaths == 0


@pytest.mark.parametrize("how", ["lose", "release", "fail"])
def test_at_most_once_run_that_started_is_not_queued_again(how: str) -> None:
    world = careful()
    world.start(world.live_run)
    getattr(world, how)()
    assert world.agenda == []
    assert world.state is TaskState.FAILED


def test_cancelled_claimed_run_never_started() -> None:
    world = careful()
    world.cancel_run()
    world.settle(Cancelled())
    (run,) = world.runs.values()
    assert (run.state, run.started) == (RunState.CANCELLED, None)


# --- waiting for a callback -----------------------------------------------------------------------------------------


def handed_on(**policies: Any) -> World:
    world = going(**policies)
    world.settle(Waiting(hour(13.5)))
    assert world.ledger == ["13:00 waiting"]
    assert world.agenda == ["deadline 13:30 timed", "next 14:00 timed"]
    assert (world.live_run.node, world.live_run.deadline) == (None, hour(13.5))
    return world


def test_waiting_run_is_answered() -> None:
    world = handed_on().at(hour(13.25))
    world.settle(Succeeded("{}"))
    assert world.ledger == ["13:00 succeeded"]
    assert world.agenda == ["next 14:00 timed"]


def test_waiting_run_moves_its_deadline() -> None:
    world = handed_on().at(hour(13.25))
    world.settle(Waiting(hour(13.75)))
    assert world.agenda == ["deadline 13:45 timed", "next 14:00 timed"]


def test_waiting_run_times_out() -> None:
    world = handed_on().claim_at(hour(13.5))
    assert world.ledger == ["13:00 timed_out deadline"]
    assert world.agenda == ["retry 13:00 #2 timed", "next 14:00 timed"]


def test_a_deadline_concerns_one_run_only() -> None:
    world = handed_on(overlap="parallel").at(hour(13.25))
    world.run_now()
    world.claim_all().claim_at(hour(13.5))
    assert world.ledger == ["13:00 timed_out deadline", "13:15 running"]
    world.claim_at(hour(14)).settle(Waiting(hour(15)), world.live[0])
    world.settle(Waiting(hour(14.5)), world.live[-1])
    world.claim_at(hour(14.5))
    assert len(world.live) == 2


def test_waiting_run_times_out_without_attempts_left() -> None:
    world = handed_on(retry=RetryPolicy(1)).claim_at(hour(13.5))
    assert world.agenda == ["next 14:00 timed"]
    assert world.status.failures == 1


def test_waiting_run_times_out_and_the_task_fails() -> None:
    world = handed_on(retry=RetryPolicy(1), give_up_after=1).claim_at(hour(13.5))
    assert (world.state, world.agenda) == (TaskState.FAILED, [])


def test_waiting_run_is_cancelled() -> None:
    world = handed_on()
    world.cancel_run()
    assert world.ledger == ["13:00 cancelled cancelled"]
    assert world.agenda == ["next 14:00 timed"]


def test_max_duration_bounds_a_waiting_run() -> None:
    world = going(max_duration=20 * MINUTE).advance(15 * MINUTE)
    world.settle(Waiting(hour(13.5)))
    assert world.agenda[0] == "deadline 13:20 timed"


def test_run_with_a_cancel_request_does_not_start_waiting() -> None:
    world = going()
    world.cancel_run()
    world.settle(Waiting(hour(14)))
    assert world.ledger == ["13:00 cancelled cancelled"]


def test_a_deadline_of_a_run_that_has_ended_is_dropped() -> None:
    world = handed_on()
    deadline = world.queued(EntryKind.DEADLINE)[0]
    world.settle()
    world.entries[deadline.slot] = deadline
    world.at(hour(13.5)).claim()
    assert world.ledger == ["13:00 succeeded"]
    assert world.agenda == ["next 14:00 timed"]


def test_deaths_are_inherited_by_the_superseding_occurrence() -> None:
    """Each retry is superseded, and the superseding occurrence inherits its number of deaths."""
    world = World(Every(interval=HOUR)).claim_at(hour(13))
    world.at(hour(14)).lose()
    world.claim(world.next)
    assert (world.live_run.planned, world.live_run.attempt, world.live_run.deaths, world.live_run.alone) == (
        hour(14),
        1,
        1,
        False,
    )
    world.at(hour(15)).lose()
    world.claim(world.next)
    assert (world.live_run.planned, world.live_run.deaths, world.live_run.alone) == (hour(15), 2, True)
    world.settle()
    world.claim_at(hour(16))
    assert (world.live_run.deaths, world.live_run.alone) == (0, False)
