"""Chains: which ends fire a link, once for each root, and what a task that cannot run records instead."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.lifecycle.chain import OccurrenceEnd, ended_occurrences, follow_link, lose_predecessor, skip_root
from horae.lifecycle.control.control import delete, run_now
from horae.lifecycle.control.edit import backfill
from horae.model.chain_row import Arrival, ChainRow, ChainState
from horae.model.change import NOTHING, Change
from horae.model.entry import EntryKind, EntryState
from horae.model.ids import trace_id, traceparent
from horae.model.origin import NO_SUCCESSORS, ChainPlace, Origin, RootOccurrence
from horae.model.outcome import Cancelled, Failed, Skipped, Succeeded, TimedOut
from horae.model.pauses import pause_note
from horae.model.policy import Missed, Policies, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import PauseCause, TaskState
from horae.schedule import After, Every, Link
from horae.schedule.after import On
from tests.unit.lifecycle.chain_world import ChainWorld
from tests.unit.lifecycle.task_world import DAY, HOUR, MICROSECOND, MINUTE, NOON, SECOND, World, hour

SUCCEEDED, FAILED, SKIPPED, CANCELLED = RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED, RunState.CANCELLED
SUCCESSORS = ("tsk_2",)


def linked(**chosen: object) -> World:
    """An hourly task with a successor, whose run of 13:00 is going."""
    world = World(**chosen)  # type: ignore[arg-type]
    world.task = world.task._replace(successors=SUCCESSORS)
    return world.claim_at(hour(13))


# --- ends of occurrences -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Succeeded(), SUCCEEDED),
        (Failed("", permanent=True), FAILED),
        (Cancelled(), CANCELLED),
        (Skipped(), SKIPPED),
    ],
)
def test_a_settlement_ends_the_occurrence(outcome: Succeeded | Failed | Cancelled | Skipped, state: RunState) -> None:
    world = linked()
    before, run = world.facts, world.live_run
    (end,) = ended_occurrences(before, world.settle(outcome))
    root = RootOccurrence("tsk_1", Origin.SCHEDULED, hour(13))
    assert end == OccurrenceEnd("tsk_1", SUCCESSORS, root, state, run.id, hour(13))


def test_an_occurrence_that_is_tried_again_has_not_ended() -> None:
    world = linked(retry=RetryPolicy(2, MINUTE, jitter="none"))
    before = world.facts
    assert ended_occurrences(before, world.settle(TimedOut())) == ()
    world.claim_at(hour(13) + MINUTE)
    before = world.facts
    (end,) = ended_occurrences(before, world.settle(TimedOut()))
    assert (end.state, end.run_id) == (RunState.TIMED_OUT, world.runs[end.run_id or ""].id)


def test_a_start_ends_nothing() -> None:
    world = World()
    world.task = world.task._replace(successors=SUCCESSORS)
    before = world.at(hour(13)).facts
    assert ended_occurrences(before, world.claim()) == ()


def test_missed_occurrences_end_as_skipped_and_the_run_for_them_fires_once() -> None:
    world = World()
    world.task = world.task._replace(successors=SUCCESSORS)
    before = world.at(hour(15.5)).facts
    (skipped,) = ended_occurrences(before, world.claim())
    assert (skipped.state, skipped.root.planned) == (SKIPPED, hour(14))
    before = world.facts
    (end,) = ended_occurrences(before, world.settle())
    assert (end.state, end.root.planned) == (SUCCEEDED, hour(15))


def test_a_run_that_killed_its_processes_ends_as_failed() -> None:
    world = linked()
    before = world.facts
    (end,) = ended_occurrences(before, world.settle(Failed("dead", died_isolated=True)))
    assert end.state is FAILED
    assert world.state is TaskState.FAILED


def test_a_superseded_retry_ends_its_occurrence_as_skipped() -> None:
    world = linked(retry=RetryPolicy(3, 3 * HOUR, max=3 * HOUR, jitter="none"))
    world.fail()
    before = world.at(hour(14)).facts
    (end,) = ended_occurrences(before, world.claim())
    assert (end.state, end.root.planned) == (SKIPPED, hour(13))


def test_a_run_that_fires_nothing_has_no_end_for_successors() -> None:
    world = linked()
    world.settle()
    world.apply(run_now(world.facts, world.now, fires=False))
    world.claim_all()
    assert world.live_run.chain == NO_SUCCESSORS
    before = world.facts
    assert ended_occurrences(before, world.settle()) == ()


@pytest.mark.parametrize("fires", [True, False])
def test_a_backfill_fires_unless_told_not_to(*, fires: bool) -> None:
    world = linked()
    world.settle()
    world.apply(backfill(world.facts, hour(13), hour(13), world.now, fires=fires))
    world.claim_all()
    before = world.facts
    assert len(ended_occurrences(before, world.settle())) == fires


# --- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "states"),
    [
        ("succeeded", [SUCCEEDED]),
        ("failed", [FAILED, RunState.TIMED_OUT, RunState.LOST]),
        ("ended", [SUCCEEDED, FAILED, RunState.TIMED_OUT, RunState.LOST]),
    ],
)
def test_which_ends_fire_a_link(on: On, states: list[RunState]) -> None:
    fired = []
    for state in (SUCCEEDED, FAILED, RunState.TIMED_OUT, RunState.LOST, SKIPPED, CANCELLED):
        world = ChainWorld(Link("tsk_a", on))
        row = world.predecessor_ends(state=state)
        assert row is not None
        assert (row.state is ChainState.FIRED) == bool(world.entries)
        fired += [state] if world.entries else []
    assert fired == states


def test_a_chained_occurrence_is_due_with_the_settlement_and_knows_root_and_parents() -> None:
    world = ChainWorld()
    world.at(hour(13))
    world.predecessor_ends()
    (entry,) = world.entries.values()
    assert (entry.kind, entry.due, entry.planned) == (EntryKind.CHAIN, hour(13), hour(13))
    assert entry.chain == ChainPlace(world.root(0), ("run_a",))
    world.claim()
    run = world.live_run
    assert (run.chain, run.root, run.origin) == (entry.chain, world.root(0), Origin.CHAIN)
    world.settle()
    assert world.state is TaskState.ACTIVE
    assert not world.entries


def test_the_trace_goes_on() -> None:
    root = World().claim_at(hour(13)).live_run
    world = ChainWorld()
    world.predecessor_ends()
    world.claim()
    chained = world.live_run._replace(chain=ChainPlace(root.root, (root.id,)))
    assert trace_id(chained) == trace_id(root)
    assert traceparent(chained) != traceparent(root)


def test_a_retry_of_a_chained_run_keeps_its_place() -> None:
    world = ChainWorld(retry=RetryPolicy(2, MINUTE, jitter="none"))
    world.predecessor_ends()
    world.claim()
    place = world.live_run.chain
    world.fail()
    world.at(world.now + MINUTE).claim_all()
    assert (world.live_run.attempt, world.live_run.chain) == (2, place)


def test_any_fires_once_for_each_root() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"))
    world.predecessor_ends("tsk_a")
    world.predecessor_ends("tsk_b")
    assert len(world.entries) == 1
    world.predecessor_ends("tsk_b", root=1)
    assert len(world.entries) == 2


def test_roots_that_end_at_one_instant_have_instants_of_their_own() -> None:
    world = ChainWorld()
    for root in range(3):
        world.predecessor_ends(root=root)
    assert [entry.planned - NOON for entry in world.queued(EntryKind.CHAIN)] == [
        timedelta(0),
        MICROSECOND,
        2 * MICROSECOND,
    ]
    assert {entry.due for entry in world.entries.values()} == {NOON}


def test_any_that_did_not_fire_has_no_row_in_the_ledger() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"))
    row = world.predecessor_ends("tsk_a", FAILED)
    assert row is not None
    assert (row.state, world.skipped) == (ChainState.OPEN, [])
    row = world.predecessor_ends("tsk_b", FAILED)
    assert row is not None
    assert row.state is ChainState.SKIPPED
    assert world.ledger == []
    assert [end.state for end in world.skipped] == [SKIPPED]
    world.predecessor_ends("tsk_b", RunState.TIMED_OUT)
    assert len(world.skipped) == 1


def test_a_join_fires_with_its_last_predecessor_and_gets_all_parents() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b", "failed"), mode="all")
    world.predecessor_ends("tsk_b", FAILED)
    assert not world.entries
    world.predecessor_ends("tsk_a")
    (entry,) = world.entries.values()
    assert entry.chain is not None
    assert entry.chain.parents == ("run_a", "run_a")


def test_a_join_is_skipped_when_its_last_predecessor_has_arrived_and_one_did_not_match() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"), mode="all")
    world.predecessor_ends("tsk_a", FAILED)
    assert world.ledger == []
    world.predecessor_ends("tsk_b")
    assert world.ledger == ["12:00 skipped predecessor_skipped"]
    assert world.skipped == []


def test_a_retry_of_a_predecessor_fires_a_join_that_was_skipped() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"), mode="all")
    world.predecessor_ends("tsk_a", FAILED)
    world.predecessor_ends("tsk_b")
    world.at(hour(13))
    world.predecessor_ends("tsk_a", RunState.TIMED_OUT)
    assert world.ledger == ["12:00 skipped predecessor_skipped"]
    world.predecessor_ends("tsk_a")
    (entry,) = world.entries.values()
    assert (entry.planned, entry.due, entry.attempt, entry.forgiven) == (NOON, hour(13), 2, 1)
    world.claim_all()
    assert world.ledger == ["12:00 skipped predecessor_skipped", "12:00 #2 running"]


def test_a_retry_that_was_not_started_does_not_undo_an_end() -> None:
    world = ChainWorld(Link("tsk_a", "failed"), Link("tsk_b"), mode="all")
    world.predecessor_ends("tsk_a", FAILED)
    world.predecessor_ends("tsk_a", SKIPPED)
    world.predecessor_ends("tsk_b")
    assert len(world.entries) == 1


def test_a_predecessor_that_does_not_descend_from_the_root_is_not_awaited() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"), mode="all")
    world.predecessor_ends("tsk_a", awaited=("tsk_a",))
    assert world.ledger == ["12:00 skipped predecessor_skipped"]


def test_an_end_of_a_task_that_is_no_longer_named_does_nothing() -> None:
    world = ChainWorld()
    assert follow_link(world.facts, None, world.end_of("tsk_z"), (), None).change == NOTHING
    scheduled = World()
    assert follow_link(scheduled.facts, None, world.end_of(), (), None).change == NOTHING


# --- tasks that cannot run -----------------------------------------------------------------------------------------


def test_a_paused_task_records_the_pause() -> None:
    world = ChainWorld()
    world.pause()
    row = world.predecessor_ends()
    assert world.ledger == ["12:00 skipped paused"]
    assert row is not None
    assert row.state is ChainState.SKIPPED


def test_a_requested_skip_takes_a_chained_occurrence() -> None:
    world = ChainWorld()
    world.skip_next(1)
    world.predecessor_ends()
    world.predecessor_ends(root=1)
    assert world.ledger == ["12:00 skipped skip_requested"]
    assert len(world.entries) == 1


def test_a_task_that_is_over_has_no_row_and_counts_as_skipped() -> None:
    world = ChainWorld()
    world.cancel()
    world.predecessor_ends()
    assert world.ledger == []
    assert [end.state for end in world.skipped] == [SKIPPED]
    join = ChainWorld(mode="all")
    join.cancel()
    join.predecessor_ends(state=FAILED)
    assert join.ledger == []
    assert len(join.skipped) == 1


def test_open_roots_of_an_edited_join_are_skipped() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"), mode="all")
    row = world.predecessor_ends("tsk_a")
    assert row is not None
    world.apply(skip_root(world.facts, row, None).change)
    assert world.ledger == ["12:00 skipped predecessor_skipped"]


def test_a_deleted_predecessor_pauses_an_active_task() -> None:
    world = ChainWorld()
    deleted = World().task
    world.apply(lose_predecessor(world.facts, deleted, world.now))
    assert world.status.pause is not None
    assert world.status.pause.cause is PauseCause.PREDECESSOR_DELETED
    assert pause_note(world.status.pause, "en") == "predecessor deleted: a task"
    assert pause_note(world.status.pause, "zh") == "前置任务已删除：a task"
    assert lose_predecessor(world.facts, deleted, world.now) == NOTHING


def test_a_task_with_successors_is_deleted_only_by_force() -> None:
    world = World()
    facts = world.facts._replace(task=world.task._replace(successors=SUCCESSORS))
    with pytest.raises(Exception, match="run after"):
        delete(facts, NOON)
    assert delete(facts, NOON, force=True).deleted


# --- claims --------------------------------------------------------------------------------------------------------


def going(**chosen: object) -> ChainWorld:
    """The chained occurrence of the first root is going, and the one of the second is due."""
    world = ChainWorld(**chosen)  # type: ignore[arg-type]
    world.predecessor_ends()
    world.claim()
    world.at(hour(13))
    world.predecessor_ends(root=1)
    return world


@pytest.mark.parametrize(
    ("overlap", "ledger", "agenda"),
    [
        ("skip", ["12:00 running", "13:00 skipped overlap"], []),
        ("queue", ["12:00 running"], ["chain 13:00 held"]),
        ("queue_all", ["12:00 running"], ["chain 13:00 held"]),
        ("replace", ["12:00 running"], ["chain 13:00 held"]),
        ("parallel", ["12:00 running", "13:00 running"], []),
    ],
)
def test_overlap_of_chained_occurrences(overlap: str, ledger: list[str], agenda: list[str]) -> None:
    world = going(overlap=overlap)
    world.claim()
    assert (world.ledger, world.agenda) == (ledger, agenda)
    assert (world.runs[next(iter(world.runs))].cancel is Reason.REPLACED) == (overlap == "replace")


@pytest.mark.parametrize(("overlap", "reason"), [("queue", "overlap"), ("queue_all", None), ("replace", "superseded")])
def test_a_third_occurrence_while_the_second_waits(overlap: str, reason: str | None) -> None:
    world = going(overlap=overlap)
    world.claim()
    world.at(hour(14))
    world.predecessor_ends(root=2)
    world.claim()
    skipped = [row for row in world.ledger if "skipped" in row]
    assert [row.split()[-1] for row in skipped] == ([] if reason is None else [reason])
    held = world.queued(EntryKind.CHAIN)
    assert [entry.state for entry in held] == [EntryState.HELD] * (2 if overlap == "queue_all" else 1)
    world.settle()
    world.claim_all()
    assert "running" in " ".join(world.ledger)


def test_a_waiting_occurrence_is_held_again_when_another_run_is_going() -> None:
    world = going(overlap="queue")
    world.claim()
    (waiting,) = world.queued(EntryKind.CHAIN)
    # Another run was started in the meantime.
    world.entries[waiting.slot] = waiting._replace(state=EntryState.TIMED)
    world.claim()
    assert world.agenda == ["chain 13:00 held"]


def test_a_newer_occurrence_ends_the_retry_of_an_older_one() -> None:
    world = going(retry=RetryPolicy(3, 3 * HOUR, max=3 * HOUR, jitter="none"))
    world.fail()
    world.claim()
    assert world.ledger == ["12:00 failed target_failed", "12:00 #2 skipped superseded", "13:00 running"]


@pytest.mark.parametrize(("late", "row"), [(DAY, "12:00 running"), (DAY + SECOND, "12:00 skipped stale")])
def test_a_chained_occurrence_that_is_found_too_late_is_stale(late: timedelta, row: str) -> None:
    world = ChainWorld()
    world.predecessor_ends()
    world.claim_at(NOON + late)
    assert world.ledger == [row]


def test_missed_within_none_runs_however_late() -> None:
    world = ChainWorld(missed=Missed("latest", None))
    world.predecessor_ends()
    world.claim_at(NOON + 30 * DAY)
    assert world.ledger == ["12:00 running"]


def test_a_chained_occurrence_waits_for_its_lane_and_for_a_node() -> None:
    world = ChainWorld(lane="lane")
    world.others = 1
    world.predecessor_ends()
    world.claim()
    assert world.agenda == ["chain 12:00 parked"]
    stranded = ChainWorld()
    stranded.predecessor_ends()
    stranded.strand()
    stranded.admit().claim_at(NOON + 2 * DAY)
    assert stranded.ledger == ["12:00 running"]


def test_a_chained_occurrence_that_waits_for_its_lane_is_skipped_at_its_start_deadline() -> None:
    world = ChainWorld(lane="lane", start_within=10 * MINUTE)
    world.others = 1
    world.predecessor_ends()
    world.claim()
    assert [entry.kind for entry in world.entries.values()] == [EntryKind.CHAIN, EntryKind.START_DEADLINE]
    world.claim_at(NOON + 10 * MINUTE)
    assert world.ledger == ["12:00 skipped start_deadline"]
    assert world.agenda == []


def test_failures_of_chained_occurrences_count() -> None:
    world = ChainWorld(retry=RetryPolicy(1), give_up_after=2)
    for root in range(2):
        world.at(world.now + MINUTE)
        world.predecessor_ends(root=root)
        world.claim()
        world.fail()
    assert world.state is TaskState.FAILED
    world.resume()
    assert (world.state, world.status.failures) == (TaskState.ACTIVE, 0)


@pytest.mark.parametrize(("missed", "ledger"), [("skip", ["12:00 skipped paused"]), ("latest", ["12:00 running"])])
def test_a_resume_decides_about_chained_occurrences_that_slept(missed: str, ledger: list[str]) -> None:
    world = ChainWorld()
    world.predecessor_ends()
    world.pause()
    world.at(hour(13)).resume(missed=missed)
    world.claim_all()
    assert world.ledger == ledger


# --- edits ----------------------------------------------------------------------------------------------------------


def test_an_edit_of_the_schedule_records_what_was_due() -> None:
    world = ChainWorld()
    world.predecessor_ends()
    world.edit(schedule=Every(interval=HOUR))
    assert world.ledger == ["12:00 skipped cancelled"]
    assert world.agenda == ["next 13:00 timed"]
    world.edit(schedule=After((Link("tsk_a"),)))
    assert world.agenda == []
    assert world.state is TaskState.ACTIVE


def test_an_edit_keeps_the_successors() -> None:
    world = World()
    world.task = world.task._replace(successors=SUCCESSORS)
    world.edit(name="another", successors=())
    assert world.task.successors == SUCCESSORS


def test_a_row_keeps_its_first_arrival_of_each_predecessor() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"))
    row = world.predecessor_ends("tsk_b", FAILED)
    assert row == ChainRow(
        "tsk_1",
        world.root(0),
        NOON,
        awaited=("tsk_a", "tsk_b"),
        arrivals=(Arrival("tsk_b", FAILED, "run_a"),),
    )


def test_a_plain_success_of_a_linked_task_takes_the_general_rules() -> None:
    world = linked(policies=Policies())
    assert world.settle().__class__ is Change
