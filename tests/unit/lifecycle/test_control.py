"""Client actions on a task or a run: skip, run now, cancel, delete."""

from __future__ import annotations

import pytest

from horae.errors import Conflict, InvalidTask
from horae.lifecycle.control import control
from horae.lifecycle.control.edit import backfill
from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.change import NOTHING
from horae.model.events.event import EventKind
from horae.model.ids import run_id
from horae.model.outcome import Cancelled, Succeeded, Waiting
from horae.model.policy import Missed, Overlap
from horae.model.reason import Reason
from horae.model.run import Origin
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import CEILING, HOUR, MINUTE, NODE, World, hour

COUNTED = Every(interval=HOUR, repeat=3)
PLANNED = Every(interval=HOUR, repeat=3, counting="planned")


# --- skip next -------------------------------------------------------------------------------------------------------


def test_the_next_two_are_recorded_as_skipped() -> None:
    world = World()
    world.skip_next(2)
    world.claim_at(hour(13)).claim_at(hour(14)).claim_at(hour(15))
    assert world.ledger == ["13:00 skipped skip_requested", "14:00 skipped skip_requested", "15:00 running"]
    assert world.status.skips_left == 0


@pytest.mark.parametrize(
    ("skips", "missed", "ledger", "agenda", "left"),
    [
        (
            1,
            "latest",
            ["13:00 skipped skip_requested", "14:00..15:00 x2 skipped merged", "16:00 running"],
            ["next 17:00 timed"],
            0,
        ),
        (
            3,
            "skip",
            ["13:00..15:00 x3 skipped skip_requested", "16:00 skipped missed_skipped"],
            ["next 17:00 timed"],
            0,
        ),
        (4, "latest", ["13:00..16:00 x4 skipped skip_requested"], ["next 17:00 timed"], 0),
        (9, "latest", ["13:00..16:00 x4 skipped skip_requested"], ["next 17:00 timed"], 5),
        (
            2,
            "all",
            ["13:00..14:00 x2 skipped skip_requested", "15:00 running"],
            ["waiting 16:00 held", "next 17:00 timed"],
            0,
        ),
    ],
)
def test_skip_next_skips_the_oldest_of_a_backlog(
    skips: int, missed: str, ledger: list[str], agenda: list[str], left: int
) -> None:
    world = World(missed=Missed(missed))  # type: ignore[arg-type]
    world.skip_next(skips)
    world.claim_at(hour(16.5))
    assert (world.ledger, world.agenda, world.status.skips_left) == (ledger, agenda, left)


def test_occurrence_after_the_skips_may_be_in_time() -> None:
    world = World(missed=Missed("skip"))
    world.skip_next(1)
    assert world.claim_at(hour(14)).ledger == ["13:00 skipped skip_requested", "14:00 running"]


@pytest.mark.parametrize(("schedule", "counted"), [(COUNTED, 1), (PLANNED, 3)])
def test_skipped_occurrences_count_as_configured(schedule: Every, counted: int) -> None:
    world = World(schedule)
    world.skip_next(2)
    world.claim_at(hour(13)).claim_at(hour(14)).claim_at(hour(15))
    assert world.status.counted == counted
    assert (world.next is None) == (schedule is PLANNED)


def test_skip_next_zero_revokes_the_request() -> None:
    world = World()
    world.skip_next(2)
    world.skip_next(0)
    assert world.claim_at(hour(13)).ledger == ["13:00 running"]


@pytest.mark.parametrize("wanted", [-1, 10_001, 1.5, True, "one"])
def test_skip_next_refuses_invalid_numbers(wanted: int) -> None:
    with pytest.raises(InvalidTask) as refusal:
        World().skip_next(wanted)
    assert refusal.value.code == "bad_number"


def test_skipping_all_that_is_left_completes_the_task() -> None:
    world = World(Once(at=hour(13)))
    world.skip_next(1)
    world.claim_at(hour(13))
    assert world.ledger == ["13:00 skipped skip_requested"]
    assert world.state is TaskState.COMPLETED
    assert world.events[-1].kind is EventKind.TASK_COMPLETED
    with pytest.raises(Conflict) as refusal:
        world.skip_next(1)
    assert refusal.value.code == "task_over"


# --- run now ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["active", "paused", "completed", "failed"])
def test_run_now_in_every_state_but_cancelled(state: str) -> None:
    world = World(Once(at=hour(13))).claim_at(hour(13))
    if state in ("active", "paused"):
        world = World()
    elif state == "completed":
        world.settle()
    else:
        world.fail(permanent=True)
    if state == "paused":
        world.pause()
    assert world.state == state
    world.advance(MINUTE).run_now()
    world.claim_all()
    assert world.live_run.origin is Origin.MANUAL
    assert world.state == state
    world.settle(Succeeded())
    # A failed task that fires once has nothing left to do after a success.
    assert world.state == ("completed" if state == "failed" else state)


def test_success_on_request_leaves_a_failed_recurring_task_failed() -> None:
    world = World(give_up_after=1).claim_at(hour(13))
    world.fail(permanent=True)
    world.advance(MINUTE).run_now()
    world.claim_all().settle(Succeeded())
    assert world.state is TaskState.FAILED


def test_run_now_is_refused_on_cancelled_tasks() -> None:
    world = World()
    world.cancel()
    with pytest.raises(Conflict) as refusal:
        world.run_now()
    assert refusal.value.code == "task_cancelled"


def test_manual_run_may_be_the_last_of_a_task() -> None:
    world = World(Once(at=hour(13)), overlap="queue").claim_at(hour(13)).advance(MINUTE)
    world.run_now()
    world.claim_all().settle()
    assert world.status.ended is None
    world.claim_all().settle()
    assert world.ledger == ["13:00 succeeded", "13:01 succeeded"]
    assert world.state is TaskState.COMPLETED


@pytest.mark.parametrize(("overlap", "accepted"), [("skip", 1), ("queue", 2), ("queue_all", 5), ("parallel", 5)])
def test_run_now_under_overlap_skip_is_refused_while_others_wait(overlap: Overlap, accepted: int) -> None:
    world = World(overlap=overlap)
    for _ in range(accepted):
        world.advance(MINUTE).run_now()
    if overlap in ("skip", "queue"):
        with pytest.raises(Conflict) as refusal:
            world.advance(MINUTE).run_now()
        waiting = [entry for entry in world.facts.entries if entry.origin is Origin.MANUAL][-1]
        assert refusal.value.code == "run_requested"
        assert refusal.value.facts["id"] == run_id(world.task.id, waiting.origin, waiting.planned, 1)
    world.claim_all()
    while world.live:
        world.settle(run=world.live[0])
        world.claim_all()
    assert [each.partition(" ")[2] for each in world.ledger] == ["succeeded"] * accepted


def test_manual_run_that_has_not_started_can_be_cancelled() -> None:
    world = World()
    world.run_now()
    entry = next(each for each in world.facts.entries if each.origin is Origin.MANUAL)
    name = run_id(world.task.id, entry.origin, entry.planned, entry.attempt)
    world.advance(MINUTE).decide(lambda facts: control.cancel_run(facts, name, world.now))
    assert world.runs[name].reason is Reason.CANCELLED
    assert world.ledger == ["12:00 skipped cancelled"]
    assert world.agenda == ["next 13:00 timed"]
    world.run_now()
    assert len(world.agenda) == 2


def test_a_backfill_of_one_occurrence_is_found_by_its_id_and_one_of_many_is_not() -> None:
    world = World().at(hour(15))
    world.decide(lambda facts: backfill(facts, hour(13), hour(13), world.now))
    name = run_id(world.task.id, Origin.BACKFILL, hour(13), 1)
    assert control.requested_entry(world.facts, name) is not None
    assert control.requested_entry(world.facts, run_id(world.task.id, Origin.BACKFILL, hour(14), 1)) is None
    world.decide(lambda facts: backfill(facts, hour(14), hour(15), world.now))
    assert control.requested_entry(world.facts, run_id(world.task.id, Origin.BACKFILL, hour(14), 1)) is None


# --- cancel ----------------------------------------------------------------------------------------------------------


def test_cancel_before_anything_was_due() -> None:
    world = World()
    world.cancel()
    assert (world.ledger, world.agenda) == ([], [])
    assert (world.state, world.status.reason, world.status.ended) == (
        TaskState.CANCELLED,
        Reason.CANCELLED,
        hour(12),
    )
    assert world.events[-1].kind is EventKind.TASK_CANCELLED


def test_cancel_records_due_occurrences_and_requests_the_end_of_live_runs() -> None:
    world = World(overlap="queue_all").claim_at(hour(13)).claim_at(hour(14)).claim_at(hour(15)).at(hour(15.5))
    world.run_now()
    world.at(hour(17.5)).cancel()
    assert world.ledger == [
        "13:00 running",
        "14:00..15:00 x2 skipped cancelled",
        "15:30 skipped cancelled",
        "16:00..17:00 x2 skipped cancelled",
    ]
    assert world.agenda == []
    assert world.live_run.cancel is Reason.CANCELLED
    world.settle(Cancelled())
    assert world.ledger[0] == "13:00 cancelled cancelled"
    assert world.state is TaskState.CANCELLED


def test_cancel_ends_a_waiting_run() -> None:
    world = World().claim_at(hour(13))
    world.settle(Waiting(hour(20)))
    world.cancel()
    assert (world.ledger, world.agenda) == (["13:00 cancelled cancelled"], [])


def test_cancel_in_a_pause() -> None:
    world = World().claim_at(hour(13))
    world.fail()
    world.pause(until=hour(20))
    world.at(hour(15.5)).cancel()
    assert world.ledger == [
        "13:00 failed target_failed",
        "13:00 #2 skipped cancelled",
        "14:00..15:00 x2 skipped paused",
    ]
    assert (world.agenda, world.status.pause) == ([], None)


def test_cancel_records_an_occurrence_within_its_jitter() -> None:
    world = World(Every(interval=HOUR, jitter=40 * MINUTE)).at(hour(13))
    world.cancel()
    assert world.ledger == ["13:00 skipped cancelled"]


def test_cancelled_is_final() -> None:
    world = World()
    world.cancel()
    assert world.cancel() == NOTHING
    for wish in (world.pause, world.resume, world.run_now, lambda: world.skip_next(1), lambda: world.edit(name="x")):
        with pytest.raises(Conflict) as refusal:
            wish()
        assert refusal.value.code == "task_cancelled"


@pytest.mark.parametrize("kind", ["next", "manual"])
def test_a_claim_that_lost_the_race_against_a_cancel_starts_nothing(kind: str) -> None:
    world = World().at(hour(13))
    world.run_now()
    (seen,) = (entry for entry in world.due if entry.kind == kind)
    facts = world.facts._replace(status=world.status._replace(state=TaskState.CANCELLED, ended=hour(13)))
    change = fire(facts, seen, 1, ClaimContext(NODE, hour(13), CEILING))
    assert [(run.state, run.reason) for run in change.new_runs] == [("skipped", "cancelled")]
    assert change.dropped == (seen.slot,)


# --- one run ---------------------------------------------------------------------------------------------------------


def test_cancel_a_run() -> None:
    world = World().claim_at(hour(13))
    run = world.live_run
    assert world.cancel_run().cancelled == ((run.id, Reason.CANCELLED),)
    world.fail()
    assert world.ledger == ["13:00 cancelled cancelled"]
    assert world.agenda == ["next 14:00 timed"]
    assert world.state is TaskState.ACTIVE
    with pytest.raises(Conflict) as refusal:
        world.cancel_run(run)
    assert refusal.value.code == "run_over"


def test_cancel_one_of_two() -> None:
    world = World(overlap="parallel").claim_at(hour(13)).claim_at(hour(14))
    first, second = world.live
    world.cancel_run(second)
    assert (world.runs[first.id].cancel, world.runs[second.id].cancel) == (None, Reason.CANCELLED)


# --- delete ----------------------------------------------------------------------------------------------------------


def test_delete() -> None:
    world = World()
    world.delete()
    assert world.deleted
    assert world.events[-1].kind is EventKind.TASK_DELETED


def test_delete_ends_a_waiting_run() -> None:
    world = World().claim_at(hour(13))
    world.settle(Waiting(hour(20)))
    world.delete()
    assert world.deleted


def test_delete_waits_for_live_runs() -> None:
    world = World().claim_at(hour(13))
    with pytest.raises(Conflict) as refusal:
        world.delete()
    assert refusal.value.code == "still_running"
