"""`every … from: end`: no next occurrence while one is live; its end stores end + interval."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from horae.errors import Conflict
from horae.model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut, Waiting
from horae.model.policy import Missed, Overlap, RetryPolicy
from horae.model.reason import Reason
from horae.model.task import TaskState
from horae.schedule import Every
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour

AFTER_END = Every(interval=HOUR, since="end")
TWICE = Every(interval=HOUR, since="end", repeat=2)


def going(schedule: Every = AFTER_END, **policies: Any) -> World:
    """A world whose first occurrence is live; there is no next entry meanwhile."""
    world = World(schedule, **policies).claim_at(hour(13))
    assert world.ledger == ["13:00 running"]
    assert world.agenda == []
    assert world.state is TaskState.ACTIVE
    return world.at(hour(13.5))


@pytest.mark.parametrize(
    "outcome",
    [Succeeded(), Failed("no", permanent=True), Cancelled(), Skipped(), TimedOut(), Failed("no")],
    ids=["succeeded", "failed", "cancelled", "nothing to do", "timed out", "failed for the last time"],
)
def test_every_end_stores_the_next_occurrence(outcome: Outcome) -> None:
    world = going(retry=RetryPolicy(1))
    world.settle(outcome)
    assert world.agenda == ["next 14:30 timed"]
    assert world.status.last_end == hour(13.5)


def test_recovery_stores_the_next_occurrence() -> None:
    world = World(AFTER_END, guarantee="at_most_once").claim_at(hour(13)).at(hour(13.5))
    world.start(world.live_run)
    world.lose()
    assert world.agenda == ["next 14:30 timed"]


def test_a_retry_is_not_the_end() -> None:
    world = going()
    world.fail(retry_after=MINUTE)
    assert world.agenda == ["retry 13:00 #2 timed"]
    world.claim_at(hour(13.5) + MINUTE)
    world.at(hour(14)).settle()
    assert world.agenda == ["next 15:00 timed"]


def test_a_lost_run_is_not_the_end_either() -> None:
    world = going()
    world.lose()
    assert world.agenda == ["retry 13:00 #2 timed"]


def test_waiting_run_delays_the_next_occurrence() -> None:
    world = going()
    world.settle(Waiting(hour(16)))
    assert world.agenda == ["deadline 16:00 timed"]
    world.at(hour(15)).settle()
    assert world.agenda == ["next 16:00 timed"]


def test_late_claim_is_one_occurrence() -> None:
    world = World(AFTER_END, missed=Missed("merge")).claim_at(hour(20))
    assert world.ledger == ["13:00 running"]
    assert world.live_run.span is None


@pytest.mark.parametrize("how", ["missed", "asked", "barred"])
def test_skipped_occurrence_stores_the_next(how: str) -> None:
    world = World(AFTER_END, missed=Missed("skip" if how == "missed" else "latest")).at(hour(15))
    if how == "asked":
        world.skip_next(1)
    world.block_reason = Reason.QUOTA if how == "barred" else None
    world.claim_all()
    assert len(world.ledger) == 1
    assert world.agenda == ["next 16:00 timed"]


@pytest.mark.parametrize(
    ("overlap", "ledger", "agenda"),
    [
        ("skip", ["12:45 running", "13:00 skipped overlap"], ["next 14:00 timed"]),
        ("queue", ["12:45 running"], ["waiting 13:00 held"]),
        ("queue_all", ["12:45 running"], ["waiting 13:00 held"]),
        ("replace", ["12:45 running"], ["waiting 13:00 held"]),
        ("parallel", ["12:45 running", "13:00 running"], []),
    ],
)
def test_due_while_another_run_is_live(overlap: Overlap, ledger: list[str], agenda: list[str]) -> None:
    world = World(AFTER_END, overlap=overlap).at(hour(12.75))
    world.run_now()
    world.claim_all().claim_at(hour(13))
    assert (world.ledger, world.agenda) == (ledger, agenda)


def test_run_now_does_not_move_it() -> None:
    world = World(AFTER_END).at(hour(12.5))
    world.run_now()
    world.claim_all()
    world.at(hour(12.75)).settle()
    assert world.agenda == ["next 13:00 timed"]


def test_run_now_does_not_end_the_occurrence() -> None:
    world = going(overlap="parallel")
    scheduled = world.live_run
    world.run_now()
    world.claim_all()
    (manual,) = (run for run in world.live if run is not scheduled)
    world.settle(run=manual)
    assert world.agenda == []
    world.settle(run=scheduled)
    assert world.agenda == ["next 14:30 timed"]


def test_held_entry_starts_and_the_next_is_stored() -> None:
    world = going(overlap="queue")
    world.run_now()
    world.claim_all().settle()
    assert world.agenda == ["manual 13:30 timed", "next 14:30 timed"]


def test_replacing_a_waiting_run_ends_it() -> None:
    world = going(overlap="replace")
    world.settle(Waiting(hour(16)))
    world.run_now()
    world.claim_all()
    assert world.ledger == ["13:00 cancelled replaced", "13:30 running"]
    assert world.agenda == ["next 14:30 timed"]


class TestPause:
    def test_while_it_waits(self) -> None:
        world = World(AFTER_END)
        world.pause()
        world.at(hour(15.5)).resume()
        assert world.ledger == ["13:00 skipped paused"]
        assert world.agenda == ["next 16:30 timed"]

    def test_missed_occurrence_is_caught_up(self) -> None:
        world = World(AFTER_END)
        world.pause()
        world.at(hour(15.5)).resume(missed="latest")
        assert world.agenda == ["waiting 13:00 timed"]
        world.claim_all().settle()
        assert world.agenda == ["next 16:30 timed"]

    def test_while_it_runs(self) -> None:
        world = going()
        world.pause()
        world.settle()
        assert world.agenda == ["next 14:30 asleep"]
        world.at(hour(14)).resume()
        assert world.agenda == ["next 14:30 timed"]

    def test_while_it_runs_and_the_pause_has_an_end(self) -> None:
        world = going()
        world.pause(until=hour(14))
        world.settle()
        assert world.agenda == ["resume 14:00 timed", "next 14:30 asleep"]
        assert world.claim_at(hour(14)).agenda == ["next 14:30 timed"]

    def test_it_is_still_running_when_resumed(self) -> None:
        world = going()
        world.pause()
        world.resume()
        assert world.agenda == []
        world.settle()
        assert world.agenda == ["next 14:30 timed"]

    def test_resume_while_a_manual_run_is_live(self) -> None:
        """A manual run stores no next occurrence at its end."""
        world = World(AFTER_END).at(hour(12.5))
        world.run_now()
        world.claim_all()
        world.pause()
        world.at(hour(15.5)).resume()
        assert world.agenda == ["next 16:30 timed"]
        world.settle()
        assert world.state is TaskState.ACTIVE

    def test_its_retry_was_skipped_with_the_pause(self) -> None:
        world = going()
        world.fail(retry_after=MINUTE)
        world.pause()
        world.at(hour(15)).resume()
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped paused"]
        assert world.agenda == ["next 16:00 timed"]


def test_skipped_retry_of_a_blocked_owner_stores_the_next() -> None:
    world = going()
    world.fail(retry_after=MINUTE)
    world.block_reason = Reason.OWNER_REVOKED
    world.claim_at(hour(14))
    assert world.agenda == ["next 15:00 timed"]


def test_failed_from_end_task_restarts() -> None:
    world = going(give_up_after=1)
    world.fail(permanent=True)
    assert (world.state, world.agenda) == (TaskState.FAILED, [])
    world.at(hour(20)).resume()
    assert world.agenda == ["next 21:00 timed"]
    assert world.ledger == ["13:00 failed target_failed"]


def test_the_last_repeat_completes_it() -> None:
    world = going(TWICE)
    world.settle()
    world.claim_at(hour(14.5)).settle()
    assert world.ledger == ["13:00 succeeded", "14:30 succeeded"]
    assert world.state is TaskState.COMPLETED


def test_backfill_is_refused() -> None:
    with pytest.raises(Conflict) as refusal:
        World(AFTER_END).at(hour(20)).backfill(hour(13), hour(14))
    assert refusal.value.code == "backfill_from_end"


class TestEdit:
    """A task becomes one that counts from the end, or stops being one."""

    def test_no_live_run(self) -> None:
        world = World().at(hour(12.5))
        world.edit(schedule=Every(interval=2 * HOUR, since="end"))
        assert world.agenda == ["next 14:00 timed"]

    def test_a_run_is_going(self) -> None:
        world = World().claim_at(hour(13))
        world.edit(schedule=AFTER_END)
        assert world.agenda == []
        world.at(hour(13.5)).settle()
        assert world.agenda == ["next 14:30 timed"]

    def test_a_retry_waits(self) -> None:
        world = World().claim_at(hour(13))
        world.fail(retry_after=HOUR / 4)
        world.edit(schedule=AFTER_END)
        assert world.agenda == ["retry 13:00 #2 timed"]

    def test_two_are_going(self) -> None:
        world = World(overlap="parallel").claim_at(hour(13)).claim_at(hour(14))
        world.edit(schedule=AFTER_END)
        first, second = world.live
        world.settle(run=first)
        assert world.agenda == []
        world.at(hour(14.5)).settle(run=second)
        assert world.agenda == ["next 15:30 timed"]

    def test_manual_run_alone_does_not_delay_the_next_occurrence(self) -> None:
        world = World().at(hour(12.5))
        world.run_now()
        world.claim_all()
        world.edit(schedule=AFTER_END)
        assert world.agenda == ["next 13:00 timed"]

    def test_back_to_the_grid(self) -> None:
        world = going()
        world.edit(schedule=Every(interval=HOUR))
        assert world.agenda == ["next 14:00 timed"]
        world.settle()
        assert world.agenda == ["next 14:00 timed"]


def test_jitter_is_added_to_end_and_interval() -> None:
    schedule = Every(interval=HOUR, since="end", jitter=timedelta(minutes=30))
    world = World(schedule)
    assert world.next is not None
    offset = world.next.due - world.next.planned
    assert offset > timedelta(0)
    world.claim_at(world.next.due).at(hour(14)).settle()
    assert world.next.planned == hour(15)
    assert world.next.due == hour(15) + offset


def test_a_new_zone_does_not_concern_it() -> None:
    assert World(AFTER_END).replan().put == ()
