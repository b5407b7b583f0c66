"""Edits, backfill, and new rules of a zone."""

from __future__ import annotations

from datetime import datetime

import pytest

from horae.errors import Conflict, InvalidTask
from horae.lifecycle.control import edit
from horae.model.change import NOTHING
from horae.model.events.event import EventKind
from horae.model.limits import BACKFILL_OCCURRENCES
from horae.model.outcome import Waiting
from horae.model.policy import Missed, Policies, RetryPolicy
from horae.model.run import Origin
from horae.model.task import TaskState
from horae.schedule import AnyOf, Cron, Every, Now, Once
from tests.unit.lifecycle.task_world import HOUR, MICROSECOND, MINUTE, SECOND, World, hour

HALF_HOURLY = Every(interval=HOUR / 2)


# --- the schedule ----------------------------------------------------------------------------------------------------


def test_a_new_schedule_starts_from_now() -> None:
    world = World().at(hour(12.25))
    world.edit(schedule=HALF_HOURLY)
    assert (world.ledger, world.agenda) == ([], ["next 12:30 timed"])
    assert world.task.version == 2
    assert world.events[-1].kind is EventKind.TASK_EDITED


def test_edit_to_now_fires_at_the_edit() -> None:
    world = World().at(hour(12.25))
    world.edit(schedule=Now())
    assert world.next is not None
    assert world.next.due == hour(12.25) + MICROSECOND
    world.claim_at(hour(12.25) + SECOND).settle()
    assert world.ledger == ["12:15.000001 succeeded"]
    assert (world.agenda, world.status.state) == ([], TaskState.COMPLETED)


def test_edit_to_a_list_with_now_fires_at_the_edit_and_goes_on() -> None:
    world = World().at(hour(12.25))
    world.edit(schedule=AnyOf((Now(), Cron("0 * * * *")), zone="UTC"))
    assert world.agenda == ["next 12:15.000001 timed"]
    world.claim_at(hour(12.25) + SECOND).settle()
    assert (world.ledger, world.agenda) == (["12:15.000001 succeeded"], ["next 13:00 timed"])
    plain = World().at(hour(12.25))
    plain.edit(schedule=AnyOf((HALF_HOURLY, Cron("10 * * * *")), zone="UTC"))
    assert plain.agenda == ["next 12:30 timed"]


def test_edit_accounts_for_due_occurrences_and_fires_nothing_retroactively() -> None:
    world = World(missed=Missed("all")).at(hour(15.25))
    world.edit(schedule=HALF_HOURLY)
    assert world.ledger == ["13:00..15:00 x3 skipped missed_skipped"]
    assert world.agenda == ["next 15:30 timed"]


def test_edit_accounts_for_an_occurrence_within_its_jitter() -> None:
    world = World(Every(interval=HOUR, jitter=40 * MINUTE)).at(hour(13) + SECOND)
    world.edit(schedule=HALF_HOURLY)
    assert world.ledger == ["13:00 skipped missed_skipped"]


def test_in_a_pause() -> None:
    world = World()
    world.pause()
    world.at(hour(15.25)).edit(schedule=HALF_HOURLY)
    assert world.ledger == ["13:00..15:00 x3 skipped paused"]
    assert world.agenda == ["next 15:30 asleep"]
    world.at(hour(16.25)).resume()
    assert world.ledger[1:] == ["15:30..16:00 x2 skipped paused"]


def test_edit_keeps_live_runs_and_ends_waiting_ones() -> None:
    world = World(overlap="queue_all", retry=RetryPolicy(2, HOUR)).claim_at(hour(13))
    for number in (14, 15):
        world.claim_at(hour(number))
    world.edit(schedule=Every(interval=5 * HOUR))
    assert world.ledger == ["13:00 running", "14:00..15:00 x2 skipped cancelled"]
    assert world.agenda == ["next 17:00 timed"]
    world.fail(retry_after=HOUR)
    world.edit(schedule=HALF_HOURLY)
    assert world.agenda == ["retry 13:00 #2 timed", "next 15:30 timed"]


def test_a_next_that_was_held_behind_a_backlog() -> None:
    world = World(missed=Missed("all"), retry=RetryPolicy(2, HOUR)).claim_at(hour(14.5))
    world.fail(retry_after=2 * HOUR)
    world.claim_at(hour(15))
    assert world.agenda == ["retry 13:00 #2 timed", "waiting 14:00 held", "next 15:00 held"]
    world.edit(schedule=HALF_HOURLY)
    assert world.ledger[1:] == ["14:00 skipped cancelled", "15:00 skipped missed_skipped"]
    assert world.agenda == ["retry 13:00 #2 timed", "next 15:30 timed"]


def test_edited_overlap_policy_releases_held_entries() -> None:
    world = World(overlap="queue").claim_at(hour(13)).at(hour(13.25))
    world.run_now()
    assert world.claim_all().agenda == ["manual 13:15 held", "next 14:00 timed"]
    world.edit(schedule=HALF_HOURLY, policies=Policies(overlap="parallel"))
    assert world.agenda == ["manual 13:15 timed", "next 13:30 timed"]


def test_edit_resets_repeats_and_requested_skips() -> None:
    world = World(Every(interval=HOUR, repeat=2)).claim_at(hour(13))
    world.skip_next(2)
    world.edit(schedule=Every(interval=HOUR / 2, repeat=2))
    assert (world.status.counted, world.status.skips_left) == (0, 0)


def test_edit_restarts_a_completed_task() -> None:
    world = World(Once(at=hour(13))).claim_at(hour(13))
    world.settle()
    assert world.state is TaskState.COMPLETED
    world.advance(MINUTE).edit(schedule=Once(at=hour(20)))
    assert (world.state, world.status.ended) == (TaskState.ACTIVE, None)
    assert world.agenda == ["next 20:00 timed"]


def test_new_schedule_resumes_a_failed_task() -> None:
    world = World(give_up_after=1, notify_after=1).claim_at(hour(13))
    world.fail(permanent=True)
    assert world.state is TaskState.FAILED
    change = world.at(hour(15.75)).edit(schedule=HALF_HOURLY)
    standing = world.status
    assert (standing.state, standing.failures, standing.reason, standing.ended) == (TaskState.ACTIVE, 0, None, None)
    assert world.agenda == ["next 16:00 timed"]
    assert [event.kind for event in change.events] == [EventKind.TASK_EDITED, EventKind.TASK_RESUMED]


def test_new_schedule_resumes_a_failed_once_task() -> None:
    world = World(Once(at=hour(13))).claim_at(hour(13))
    world.fail(permanent=True)
    assert world.state is TaskState.FAILED
    world.advance(MINUTE).edit(schedule=Once(at=hour(20)))
    assert (world.state, world.agenda) == (TaskState.ACTIVE, ["next 20:00 timed"])


def test_other_edits_leave_a_failed_task_failed() -> None:
    world = World(give_up_after=1).claim_at(hour(13))
    world.fail(permanent=True)
    change = world.advance(MINUTE).edit(name="another name")
    assert (world.state, world.agenda) == (TaskState.FAILED, [])
    assert [event.kind for event in change.events] == [EventKind.TASK_EDITED]


def test_a_schedule_that_has_no_more_is_refused() -> None:
    world = World().at(hour(15))
    with pytest.raises(InvalidTask) as refusal:
        world.edit(schedule=Once(at=hour(14)))
    assert refusal.value.code == "never_fires"
    assert world.task.version == 1


# --- anything else ---------------------------------------------------------------------------------------------------


def test_other_edits_leave_the_agenda_alone() -> None:
    world = World().at(hour(15.25))
    change = world.edit(
        name="another name", payload='{"more":1}', policies=Policies(overlap="queue"), labels=(("a", "b"),)
    )
    assert (change.put, change.dropped, change.new_runs, change.status) == ((), (), (), None)
    assert (world.task.name, world.task.version) == ("another name", 2)


def test_owner_and_creation_cannot_be_edited() -> None:
    world = World().at(hour(12.5))
    world.edit(id="tsk_2", owner="eve", created=hour(12.5), version=7)
    assert (world.task.id, world.task.owner, world.task.created, world.task.version) == ("tsk_1", "ada", hour(12), 2)


def test_new_priority_applies_to_queued_entries() -> None:
    world = World(overlap="queue").claim_at(hour(13)).claim_at(hour(14))
    world.settle(Waiting(hour(20)))
    world.edit(policies=Policies(overlap="queue", priority=7))
    assert {entry.priority for entry in world.entries.values()} == {7}
    assert world.edit(name="same priority").put == ()


def test_a_new_priority_comes_with_a_new_schedule() -> None:
    world = World().claim_at(hour(13))
    world.fail()
    world.edit(schedule=HALF_HOURLY, policies=Policies(priority=7))
    assert {entry.priority for entry in world.entries.values()} == {7}


# --- backfill --------------------------------------------------------------------------------------------------------


def test_occurrences_for_a_past_range() -> None:
    world = World().at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(13.5), hour(16.5))
    assert world.agenda == ["waiting 14:00..16:00 timed", "next 21:00 timed"]
    for number in (14, 15, 16):
        run = world.claim_all().live_run
        assert (run.origin, run.planned, run.attempt) == (Origin.BACKFILL, hour(number), 1)
        world.settle()
    assert world.agenda == ["next 21:00 timed"]
    assert world.status.counted == 1
    assert world.status.last_end == hour(20.5)


def test_backfill_is_due_at_the_request() -> None:
    world = World().at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(13), hour(14))
    assert world.advance(SECOND).claim_all().live_run.lateness == SECOND
    world.advance(MINUTE).settle()
    assert world.claim_all().live_run.lateness == MINUTE


def test_both_ends_are_included() -> None:
    world = World().at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(14))
    assert world.agenda == ["waiting 14:00 timed", "next 21:00 timed"]


def test_backfill_up_to_now() -> None:
    world = World().at(hour(20))
    world.claim_all().settle()
    (entry,) = edit.backfill(world.facts, hour(19), hour(20), world.now).put
    assert (entry.planned, entry.through, entry.attempt, entry.forgiven) == (hour(19), hour(20), 1, 0)


def test_a_cron_task_can_be_backfilled_before_its_creation() -> None:
    world = World(Cron(expression="0 * * * *", zone="UTC"))
    world.backfill(hour(2.5), hour(4))
    assert world.agenda == ["waiting 03:00..04:00 timed", "next 13:00 timed"]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (hour(13.25), hour(13.75)),  # nothing is planned
        (hour(11), hour(12.5)),  # nothing is planned before the first
        (hour(14), hour(13)),  # backwards
        (hour(20), hour(20.5) + MICROSECOND),  # not past
    ],
)
def test_nothing_to_backfill(first: datetime, last: datetime) -> None:
    with pytest.raises(InvalidTask) as refusal:
        World().at(hour(20.5)).backfill(first, last)
    assert refusal.value.code == "backfill_range"


def test_a_range_that_is_too_long() -> None:
    world = World(Every(interval=SECOND)).at(hour(12) + (BACKFILL_OCCURRENCES + 1) * SECOND)
    world.backfill(hour(12), hour(12) + BACKFILL_OCCURRENCES * SECOND)
    world = World(Every(interval=SECOND)).at(hour(12) + (BACKFILL_OCCURRENCES + 1) * SECOND)
    with pytest.raises(InvalidTask):
        world.backfill(hour(12), world.now)


def test_nothing_is_planned_any_more() -> None:
    world = World(Once(at=hour(13))).at(hour(20))
    with pytest.raises(InvalidTask):
        world.backfill(hour(14), hour(19))


@pytest.mark.parametrize("where", ["queued", "running", "tried again"])
def test_an_occurrence_cannot_be_backfilled_twice_at_once(where: str) -> None:
    world = World(retry=RetryPolicy(2, HOUR)).at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(14) if where != "queued" else hour(16))
    if where != "queued":
        world.claim_all()
    if where == "tried again":
        world.fail()
    with pytest.raises(Conflict) as refusal:
        world.backfill(hour(13), hour(14))
    assert refusal.value.code == "backfill_going"
    world.backfill(hour(17), hour(18))


def test_second_backfill_range_does_not_replace_the_first() -> None:
    """The rest of a range keeps the slot that it began with."""
    world = World().at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(16))
    world.claim_all().settle()
    world.claim_all()
    with pytest.raises(Conflict):
        world.backfill(hour(14), hour(14))


def test_repeated_backfill_is_another_attempt() -> None:
    world = World(retry=RetryPolicy(2, 0 * HOUR)).at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(15))
    for _ in range(2):
        world.claim_all().settle()
    world.backfill(hour(14), hour(15), attempts_before=1)
    assert (world.claim_all().live_run.attempt, world.live_run.tries) == (2, 1)
    world.fail()
    assert (world.claim_all().live_run.attempt, world.live_run.tries) == (3, 2)


def test_backfill_yields_to_scheduled_occurrences() -> None:
    world = World(overlap="queue").at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(16))
    world.claim_all().claim_at(hour(21))
    assert world.agenda == ["waiting 15:00..16:00 held", "waiting 21:00 held", "next 22:00 timed"]
    world.settle()
    backfilled, present = world.due
    assert (backfilled.origin, present.origin) == (Origin.BACKFILL, Origin.SCHEDULED)
    world.claim(backfilled)
    assert world.due == [present]
    assert world.claim_all().live_run.planned == hour(21)
    world.settle()
    assert world.advance(MICROSECOND).claim_all().live_run.planned == hour(15)


def test_backfill_of_an_ended_task() -> None:
    world = World(Every(interval=HOUR, repeat=1)).claim_at(hour(13))
    world.settle()
    assert world.state is TaskState.COMPLETED
    world.at(hour(20)).backfill(hour(14), hour(15))
    world.claim_all()
    assert world.live_run.planned == hour(14)


def test_a_new_schedule_ends_a_backfill_of_the_old_one() -> None:
    world = World().at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(16))
    world.claim_all()
    world.edit(schedule=HALF_HOURLY)
    assert [row for row in world.ledger if "skipped cancelled" in row] == ["15:00..16:00 x2 skipped cancelled"]
    assert world.agenda == ["next 21:00 timed"]


def test_cancelled_tasks_are_not_backfilled() -> None:
    world = World()
    world.cancel()
    with pytest.raises(Conflict) as refusal:
        world.at(hour(20)).backfill(hour(14), hour(15))
    assert refusal.value.code == "task_cancelled"


# --- the rules of a zone ---------------------------------------------------------------------------------------------


def test_replan_moves_future_occurrences_with_an_event() -> None:
    world = World(Cron(expression="0 13 * * *", zone="UTC"))
    assert world.next is not None
    stored = world.next._replace(planned=hour(12.5), due=hour(12.5))  # as other rules had it
    world.entries["next"] = stored
    world.replan()
    assert world.agenda == ["next 13:00 timed"]
    assert world.events[-1].kind is EventKind.TASK_REPLANNED
    assert world.events[-1].detail == "2026-03-01T12:30:00+00:00 -> 2026-03-01T13:00:00+00:00"


def test_replan_of_a_paused_task_keeps_it_asleep() -> None:
    world = World(Cron(expression="0 13 * * *", zone="UTC"))
    world.pause()
    world.entries["next"] = world.entries["next"]._replace(planned=hour(12.5), due=hour(12.5))
    world.replan()
    assert world.agenda == ["next 13:00 asleep"]


def test_replan_keeps_unchanged_occurrences() -> None:
    assert World(Cron(expression="0 13 * * *", zone="UTC")).replan() == NOTHING


def test_replan_keeps_an_occurrence_within_its_jitter() -> None:
    """Its jitter is still running: planned again from now, it would be lost."""
    world = World(Cron(expression="0 13 * * *", zone="UTC", jitter=HOUR)).at(hour(13) + SECOND)
    assert world.next is not None
    assert world.next.due > world.now
    assert world.replan() == NOTHING


def test_replan_keeps_a_task_without_further_occurrences() -> None:
    world = World(Once(at=hour(13)))
    world.entries["next"] = world.entries["next"]._replace(planned=hour(15), due=hour(15))
    assert world.at(hour(14)).replan() == NOTHING


def test_replan_without_a_next_occurrence_changes_nothing() -> None:
    world = World(Once(at=hour(13))).claim_at(hour(13))
    assert world.replan() == NOTHING
