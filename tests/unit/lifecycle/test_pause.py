"""Pause, until and resume: nothing starts in a pause, and resume decides about missed occurrences."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae.errors import Conflict, InvalidTask
from horae.lifecycle.control import control
from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.entry import EntryKind, EntryState
from horae.model.events.event import EventKind
from horae.model.outcome import Succeeded, Waiting
from horae.model.policy import Missed, MissedMode, RetryPolicy
from horae.model.task import Pause, PauseCause, TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import CEILING, HOUR, MICROSECOND, MINUTE, NODE, World, hour


def paused(schedule: Every | Once | None = None, **policies: Any) -> World:
    """Paused at 12:30."""
    world = World(schedule or Every(interval=HOUR), **policies).at(hour(12.5))
    world.pause()
    return world


def test_a_pause_puts_the_agenda_to_sleep() -> None:
    world = paused()
    assert world.agenda == ["next 13:00 asleep"]
    assert not world.at(hour(20)).due


def test_pause_has_since_note_and_until() -> None:
    world = World().at(hour(12.5))
    world.pause(cause=PauseCause.AWAITING_APPROVAL, note="n" * 600, until=hour(20))
    pause = world.status.pause
    assert pause is not None
    assert (pause.since, pause.cause, pause.until) == (hour(12.5), PauseCause.AWAITING_APPROVAL, hour(20))
    assert pause.note == "n" * 499 + "…"
    assert world.events[-1].kind is EventKind.TASK_PAUSED
    assert world.events[-1].detail == "awaiting_approval"


def test_repeated_pause_keeps_since() -> None:
    world = World().at(hour(12.5))
    world.pause(until=hour(20))
    world.at(hour(12.75)).pause(cause=PauseCause.ORPHANED)
    assert world.agenda == ["next 13:00 asleep"]
    pause = world.status.pause
    assert pause is not None
    assert (pause.since, pause.cause, pause.until) == (hour(12.5), PauseCause.ORPHANED, None)


@pytest.mark.parametrize("until", [hour(12.5), hour(12)])
def test_pause_until_a_past_instant_is_refused(until: datetime) -> None:
    with pytest.raises(InvalidTask) as refusal:
        World().at(hour(12.5)).pause(until=until)
    assert refusal.value.code == "until_past"


def test_a_claim_that_lost_the_race_against_a_pause_starts_nothing() -> None:
    """The store's commit order decides: the entry was seen as due, but by the time of the claim the task is paused."""
    world = World().at(hour(13))
    seen = world.due[0]
    world.pause()
    world.claim(seen._replace(state=EntryState.TIMED))
    assert world.agenda == ["next 13:00 asleep"]
    assert not world.runs


def test_live_run_may_end_and_its_retry_sleeps() -> None:
    world = World().claim_at(hour(13))
    world.pause()
    world.fail()
    assert world.agenda == ["retry 13:00 #2 asleep", "next 14:00 asleep"]


def test_callback_and_deadline_apply_in_a_pause() -> None:
    world = World().claim_at(hour(13))
    world.settle(Waiting(hour(13.5)))
    world.pause()
    assert world.agenda == ["deadline 13:30 timed", "next 14:00 asleep"]
    assert world.claim_at(hour(13.5)).ledger == ["13:00 timed_out deadline"]


@pytest.mark.parametrize(
    ("mode", "ledger", "agenda"),
    [
        ("skip", ["13:00..15:00 x3 skipped paused"], ["next 16:00 timed"]),
        ("latest", ["13:00..14:00 x2 skipped merged"], ["waiting 15:00 timed", "next 16:00 timed"]),
        ("merge", [], ["waiting 13:00..15:00 x3 timed", "next 16:00 timed"]),
        ("all", [], ["waiting 13:00..15:00 timed", "next 16:00 timed"]),
    ],
)
def test_resume(mode: MissedMode, ledger: list[str], agenda: list[str]) -> None:
    world = paused().at(hour(15.5))
    world.resume(missed=mode)
    assert world.ledger == ledger
    assert world.agenda == agenda
    assert world.state is TaskState.ACTIVE
    assert world.status.pause is None
    assert world.events[-1].kind is EventKind.TASK_RESUMED


def test_skip_is_the_default() -> None:
    world = paused().at(hour(15.5))
    world.resume()
    assert world.ledger == ["13:00..15:00 x3 skipped paused"]


@pytest.mark.parametrize("mode", ["skip", "latest", "merge", "all"])
def test_nothing_was_missed(mode: MissedMode) -> None:
    world = paused().at(hour(12.75))
    world.resume(missed=mode)
    assert world.ledger == []
    assert world.agenda == ["next 13:00 timed"]


def test_occurrence_due_at_the_end_of_a_pause_is_not_paused() -> None:
    world = paused().at(hour(13))
    world.resume()
    assert world.claim_all().ledger == ["13:00 running"]


def test_resume_applies_the_limit_but_no_age_bound() -> None:
    world = paused(missed=Missed("skip", MINUTE, 2)).at(hour(15.5))
    world.resume(missed="all")
    assert world.ledger == ["13:00 skipped missed_skipped"]
    assert world.agenda == ["waiting 14:00..15:00 timed", "next 16:00 timed"]


@pytest.mark.parametrize(
    ("schedule", "mode", "ledger", "agenda", "counted"),
    [
        (Every(interval=HOUR, repeat=2), "skip", ["13:00..15:00 x3 skipped paused"], ["next 16:00 timed"], 0),
        (
            Every(interval=HOUR, repeat=2),
            "latest",
            ["13:00..14:00 x2 skipped merged"],
            ["waiting 15:00 timed", "next 16:00 timed"],
            1,
        ),
        (Every(interval=HOUR, repeat=2), "all", [], ["waiting 13:00..14:00 timed"], 2),
        (Every(interval=HOUR, repeat=2, counting="planned"), "skip", ["13:00..14:00 x2 skipped paused"], [], 2),
        (
            Every(interval=HOUR, repeat=5, counting="planned"),
            "skip",
            ["13:00..15:00 x3 skipped paused"],
            ["next 16:00 timed"],
            3,
        ),
    ],
)
def test_paused_occurrences_count_as_configured(
    schedule: Every, mode: MissedMode, ledger: list[str], agenda: list[str], counted: int
) -> None:
    world = paused(schedule).at(hour(15.5))
    world.resume(missed=mode)
    assert (world.ledger, world.agenda, world.status.counted) == (ledger, agenda, counted)
    assert world.state is (TaskState.ACTIVE if agenda else TaskState.COMPLETED)


def test_requested_skips_take_the_oldest_of_the_pause() -> None:
    """A requested skip applies to 13:00, not to the first occurrence after the pause."""
    world = World().at(hour(12.25))
    world.skip_next(1)
    world.at(hour(12.5)).pause()
    world.at(hour(14.5)).resume()
    assert world.ledger == ["13:00 skipped skip_requested", "14:00 skipped paused"]
    assert world.claim_at(hour(15)).ledger[-1] == "15:00 running"


def test_more_skips_than_passed() -> None:
    world = paused()
    world.skip_next(3)
    world.at(hour(14.5)).resume(missed="all")
    assert world.ledger == ["13:00..14:00 x2 skipped skip_requested"]
    assert world.status.skips_left == 1


class TestWaitersAndRetries:
    """What was queued when the pause came sleeps too."""

    def world(self) -> World:
        world = World(overlap="queue_all", retry=RetryPolicy(3, timedelta(0))).claim_at(hour(13)).claim_at(hour(14))
        world.fail()
        world.pause()
        assert world.agenda == ["retry 13:00 #2 asleep", "waiting 14:00 asleep", "next 15:00 asleep"]
        return world.at(hour(14.5))

    def test_skipped_with_the_rest(self) -> None:
        world = self.world()
        world.resume()
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped paused", "14:00 skipped paused"]
        assert world.agenda == ["next 15:00 timed"]

    @pytest.mark.parametrize("mode", ["latest", "merge", "all"])
    def test_or_they_wake(self, mode: MissedMode) -> None:
        world = self.world()
        world.resume(missed=mode)
        assert world.ledger == ["13:00 failed target_failed"]
        assert world.agenda == ["retry 13:00 #2 timed", "waiting 14:00 timed", "next 15:00 timed"]

    def test_a_retry_that_is_still_to_come_wakes_in_any_case(self) -> None:
        world = World().claim_at(hour(13))
        world.fail(retry_after=HOUR / 2)
        world.pause()
        world.advance(MINUTE).resume()
        assert world.agenda == ["retry 13:00 #2 timed", "next 14:00 timed"]

    def test_waiter_behind_a_live_run_keeps_waiting(self) -> None:
        world = World(overlap="queue").claim_at(hour(13)).claim_at(hour(14))
        world.pause()
        world.resume(missed="latest")
        assert world.claim_all().agenda == ["waiting 14:00 held", "next 15:00 timed"]


class TestUntil:
    """The end of a pause is an agenda entry."""

    def world(self) -> World:
        world = World().at(hour(12.5))
        world.pause(until=hour(15.5))
        assert world.agenda == ["next 13:00 asleep", "resume 15:30 timed"]
        return world

    def test_it_ends_by_itself(self) -> None:
        world = self.world().claim_at(hour(15.5))
        assert world.ledger == ["13:00..15:00 x3 skipped paused"]
        assert world.agenda == ["next 16:00 timed"]
        assert world.state is TaskState.ACTIVE

    def test_pause_ends_at_its_until_even_if_noticed_later(self) -> None:
        """What passed after the end of the pause was not paused but missed."""
        world = self.world()
        world.at(hour(17.5)).claim()
        assert world.ledger == ["13:00..15:00 x3 skipped paused"]
        assert world.claim_all().ledger[1:] == ["16:00 skipped merged", "17:00 running"]

    def test_occurrence_due_at_the_end_of_the_pause_runs(self) -> None:
        world = World().at(hour(12.5))
        world.pause(until=hour(14))
        assert world.claim_at(hour(14)).ledger == ["13:00 skipped paused", "14:00 running"]

    def test_pause_already_ended_by_a_client(self) -> None:
        world = self.world()
        resume = world.entries["resume"]
        world.at(hour(13.5)).resume()
        assert world.agenda == ["next 14:00 timed"]
        world.entries["resume"] = resume
        world.at(hour(15.5)).claim(resume)
        assert world.agenda == ["next 14:00 timed"]


class TestByHand:
    """Manual runs requested in a pause run; those requested before it do not."""

    def test_run_now_in_a_pause(self) -> None:
        world = paused()
        world.run_now()
        assert world.claim_all().ledger == ["12:30 running"]
        world.fail(retry_after=MINUTE)
        assert world.agenda == ["retry 12:30 #2 timed", "next 13:00 asleep"]
        world.claim_at(hour(12.5) + MINUTE)
        world.settle()
        assert world.ledger == ["12:30 failed target_failed", "12:30 #2 succeeded"]
        assert world.state is TaskState.PAUSED

    def test_a_pause_after_run_now(self) -> None:
        world = World().at(hour(12.5))
        world.run_now()
        world.pause()
        assert world.agenda == ["manual 12:30 asleep", "next 13:00 asleep"]
        world.at(hour(12.75)).resume()
        assert world.claim_all().ledger == ["12:30 running"]

    def test_a_backfill_waits_for_the_end_of_the_pause(self) -> None:
        world = paused().at(hour(15.5))
        world.backfill(hour(13), hour(14))
        assert world.agenda == ["next 13:00 asleep", "waiting 13:00..14:00 asleep"]
        world.resume()
        assert world.agenda == ["waiting 13:00..14:00 timed", "next 16:00 timed"]

    def test_a_backfill_that_was_going(self) -> None:
        world = World().at(hour(15.5))
        world.claim_all().settle()
        world.backfill(hour(13), hour(14))
        world.claim_all()
        world.pause()
        world.fail(retry_after=MINUTE)
        assert world.agenda == ["retry 13:00 #2 asleep", "waiting 14:00..14:00 asleep", "next 16:00 asleep"]

    def test_a_claim_of_it_that_lost_the_race(self) -> None:
        world = paused().at(hour(15.5))
        world.backfill(hour(13), hour(14))
        claimant = ClaimContext(NODE, world.now, CEILING)
        (seen,) = world.queued(EntryKind.WAITING)
        change = fire(world.facts, seen._replace(state=EntryState.TIMED), 1, claimant)
        assert [entry.state for entry in change.put] == [EntryState.ASLEEP]


class TestTheEnd:
    def test_the_last_run_ended_in_the_pause(self) -> None:
        world = World(Once(at=hour(13))).claim_at(hour(13))
        world.pause()
        world.settle()
        assert world.status.ended is None
        world.advance(MINUTE).resume()
        assert world.state is TaskState.COMPLETED
        assert [event.kind for event in world.events[-2:]] == [EventKind.TASK_RESUMED, EventKind.TASK_COMPLETED]

    def test_give_up_ends_the_pause_and_wakes_manual_runs(self) -> None:
        world = World(give_up_after=1, overlap="queue_all").claim_at(hour(13)).at(hour(13.25))
        world.run_now()
        world.claim_all()
        world.pause(until=hour(20))
        world.at(hour(15.5)).fail(permanent=True)
        assert (world.state, world.status.pause) == (TaskState.FAILED, None)
        assert world.ledger == ["13:00 failed target_failed", "14:00..15:00 x2 skipped paused"]
        assert world.agenda == ["manual 13:15 timed"]


class TestStartingAgain:
    """A failed task is resumed by a client."""

    def failed(self) -> World:
        world = World(give_up_after=1).claim_at(hour(13)).at(hour(13.25))
        world.fail(permanent=True)
        assert world.state is TaskState.FAILED
        return world.at(hour(16.5))

    def test_the_schedule_goes_on_and_the_failures_are_forgotten(self) -> None:
        world = self.failed()
        world.resume()
        assert world.ledger == ["13:00 failed target_failed", "14:00..16:00 x3 skipped missed_skipped"]
        assert world.agenda == ["next 17:00 timed"]
        standing = world.status
        assert (standing.state, standing.failures, standing.reason, standing.ended) == (TaskState.ACTIVE, 0, None, None)

    def test_missed_occurrences_can_be_caught_up_at_resume(self) -> None:
        world = self.failed()
        world.resume(missed="merge")
        assert world.agenda == ["waiting 14:00..16:00 x3 timed", "next 17:00 timed"]

    @pytest.mark.parametrize(
        ("at", "ledger", "agenda"),
        [
            (hour(14), [], ["next 14:00 timed"]),
            (hour(15), ["14:00 skipped missed_skipped"], ["next 15:00 timed"]),
        ],
    )
    def test_occurrence_due_at_the_end_of_the_pause_runs(
        self, at: datetime, ledger: list[str], agenda: list[str]
    ) -> None:
        world = World(give_up_after=1).claim_at(hour(13))
        world.fail(permanent=True)
        world.at(at).resume()
        assert (world.ledger[1:], world.agenda) == (ledger, agenda)

    def test_nothing_was_missed(self) -> None:
        world = World(give_up_after=1).claim_at(hour(13))
        world.fail(permanent=True)
        world.advance(MINUTE).resume()
        assert world.agenda == ["next 14:00 timed"]

    def test_nothing_is_left(self) -> None:
        world = World(Once(at=hour(13))).claim_at(hour(13))
        world.fail(permanent=True)
        with pytest.raises(Conflict) as refusal:
            world.resume()
        assert refusal.value.code == "task_over"
        assert world.state is TaskState.FAILED

    def test_only_a_manual_run_is_left(self) -> None:
        world = World(Once(at=hour(13))).claim_at(hour(13))
        world.fail(permanent=True)
        world.advance(MICROSECOND).run_now()
        world.claim_all().resume()
        assert world.status.ended is None
        world.settle(Succeeded())
        assert world.state is TaskState.COMPLETED


@pytest.mark.parametrize("mode", ["skip", "all"])
def test_resume_of_an_active_task_changes_nothing_and_of_an_ended_one_is_refused(mode: MissedMode) -> None:
    world = World().at(hour(12.5))
    world.resume(missed=mode)
    assert world.agenda == ["next 13:00 timed"]
    over = World(Once(at=hour(13))).claim_at(hour(13))
    over.settle()
    with pytest.raises(Conflict) as refusal:
        over.resume(missed=mode)
    assert (refusal.value.code, over.state) == ("task_over", TaskState.COMPLETED)


@pytest.mark.parametrize("wish", ["pause", "resume"])
def test_cancelled_task_cannot_be_resumed(wish: str) -> None:
    world = World()
    world.cancel()
    with pytest.raises(Conflict) as refusal:
        getattr(world, wish)()
    assert refusal.value.code == "task_cancelled"


def test_ended_task_cannot_be_paused() -> None:
    world = World(Once(at=hour(13))).claim_at(hour(13))
    world.settle()
    with pytest.raises(Conflict) as refusal:
        world.pause()
    assert refusal.value.code == "task_over"
    assert refusal.value.facts["state"] == "completed"


# --- restore ---------------------------------------------------------------------------------------------------------


def restore(world: World, before: Pause | None) -> World:
    world.apply(control.restore_pause(world.facts, before, world.now))
    return world


def test_restored_pause_has_its_former_since_cause_note_and_end() -> None:
    world = World().at(hour(12.25))
    world.pause(cause=PauseCause.ORPHANED, note="gone", until=hour(20))
    before, agenda = world.status.pause, world.agenda
    world.at(hour(12.5)).pause(note="stop")
    assert restore(world.at(hour(12.6)), before).status.pause == before
    assert world.agenda == agenda
    world.at(hour(12.7)).resume()
    assert restore(world.at(hour(12.8)), before).status.pause == before
    assert world.agenda == agenda
    assert world.events[-1].kind is EventKind.TASK_PAUSED


def test_restoring_no_pause_resumes_the_task() -> None:
    world = paused()
    assert restore(world.at(hour(12.75)), None).agenda == ["next 13:00 timed"]
    assert (world.state, world.status.pause) == (TaskState.ACTIVE, None)
    before = list(world.events)
    assert restore(world, None).events == before, "it is active already"


def test_restored_pause_that_is_over_ends_at_its_own_end() -> None:
    world = World().at(hour(12.5))
    world.pause(until=hour(13.5))
    before = world.status.pause
    world.pause(note="stop")
    restore(world.at(hour(14.25)), before)
    assert (world.state, world.agenda) == (TaskState.ACTIVE, ["next 14:00 timed"])
    assert world.ledger == ["13:00 skipped paused"]
