"""Lanes and owners: a full lane parks, a freed slot unparks, and a blocked owner runs nothing."""

from __future__ import annotations

from typing import Any

import pytest

from horae.lifecycle.start import count_reparks, full_lane
from horae.model.change import Facts
from horae.model.entry import MAX_REPARKS
from horae.model.lanes.lane import LaneUse, owner_lane
from horae.model.policy import Missed, RetryPolicy
from horae.model.reason import Reason
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour


def full(**policies: Any) -> World:
    """Others sit in its lane."""
    world = World(lane="lane", **policies)
    world.others = 1
    return world


def freed(world: World) -> World:
    world.others = 0
    world.fill_lane_slots()
    return world.claim_all()


def test_run_takes_a_slot_in_each_of_its_lanes() -> None:
    world = World(lane="lane").claim_at(hour(13))
    assert world.live_run.lanes == ("lane",)


def test_entry_is_parked_at_the_first_full_lane() -> None:
    facts: Facts = World().facts._replace(
        lanes=(LaneUse("lane", 2, 1), LaneUse(owner_lane("ada"), 1, 1), LaneUse("other", 1, 1))
    )
    (entry,) = facts.entries
    assert full_lane(facts, entry) == "owner:ada"
    assert full_lane(facts._replace(lanes=facts.lanes[:1]), entry) is None


@pytest.mark.parametrize("use", [LaneUse("b", 2, 1, offered=1), LaneUse("b", 2, 0, has_waiting=True)])
def test_newcomer_does_not_overtake_those_that_wait(use: LaneUse) -> None:
    facts = World().facts._replace(lanes=(LaneUse("a", 1, 0), use))
    (entry,) = facts.entries
    assert full_lane(facts, entry) == "b"
    assert full_lane(facts, entry._replace(lane="a")) == "b", "it has waited in another lane"
    assert full_lane(facts, entry._replace(lane="b")) is None, "the free slot is its own"
    assert full_lane(facts, entry._replace(reparks=MAX_REPARKS)) is None
    assert full_lane(facts._replace(lanes=(LaneUse("a", 1, 1), use)), entry._replace(reparks=MAX_REPARKS)) == "a"


def test_parks_are_counted_up_to_their_limit() -> None:
    entry = World().facts.entries[0]
    assert count_reparks(entry) == 0, "its first park"
    assert count_reparks(entry._replace(lane="a")) == 1
    assert count_reparks(entry._replace(lane="where:gpu=a100;target:http")) == 0, "it came from the queue of its route"
    assert count_reparks(entry._replace(lane="a", reparks=MAX_REPARKS)) == MAX_REPARKS


@pytest.mark.parametrize("missed", ["skip", "latest", "all", "merge"])
def test_a_parked_instant_is_not_missed(missed: str) -> None:
    world = full(missed=Missed(missed)).claim_at(hour(13))  # type: ignore[arg-type]
    assert world.agenda == ["next 13:00 parked"]
    assert not world.at(hour(13.75)).due
    assert freed(world).ledger == ["13:00 running"]
    assert world.live_run.lateness == 45 * MINUTE


def test_it_can_be_parked_again() -> None:
    world = full().claim_at(hour(13))
    world.others = 0
    world.fill_lane_slots()
    assert world.agenda == ["next 13:00 timed"]
    world.others = 1
    world.claim_all()
    assert world.agenda == ["next 13:00 parked"]
    assert freed(world.at(hour(13.5))).ledger == ["13:00 running"]


def test_requested_skip_is_applied_before_the_lane_check() -> None:
    world = full(missed=Missed("skip"))
    world.skip_next(1)
    world.claim_at(hour(14))
    assert world.ledger == ["13:00 skipped skip_requested"]
    assert world.agenda == ["next 14:00 parked"]
    assert world.next is not None
    assert world.next.due == hour(14)
    assert world.status.skips_left == 0
    assert freed(world.at(hour(14.5))).ledger[-1] == "14:00 running"


def test_requested_skip_counts_where_planned_counts() -> None:
    world = World(Every(interval=HOUR, repeat=3, counting="planned"), lane="lane")
    world.others = 1
    world.skip_next(1)
    world.claim_at(hour(14))
    assert world.status.counted == 1
    freed(world)
    assert world.status.counted == 2


def test_requested_skip_applies_to_a_parked_entry() -> None:
    world = full().claim_at(hour(13))
    world.skip_next(1)
    assert freed(world.at(hour(13.5))).ledger == ["13:00 skipped skip_requested"]


def test_parked_backlog_is_decided_when_unparked() -> None:
    world = full().claim_at(hour(14.5))
    assert world.agenda == ["next 13:00 parked"]
    assert freed(world.at(hour(16.5))).ledger == ["13:00..15:00 x3 skipped merged", "16:00 running"]


@pytest.mark.parametrize("what", ["retry", "manual", "waiting"])
def test_every_start_needs_a_lane_slot(what: str) -> None:
    world = World(lane="lane", overlap="queue").claim_at(hour(13))
    if what == "retry":
        world.fail(retry_after=10 * MINUTE)
    elif what == "manual":
        world.settle()
        world.at(hour(13.25)).run_now()
    else:
        world.claim_at(hour(14)).settle()
    world.others = 1
    world.at(max(world.now, hour(13.25)))
    world.claim_all()
    assert any(entry.startswith(what) and entry.endswith("parked") for entry in world.agenda)
    assert len(freed(world).live) == 1


def test_parked_manual_run_is_not_skipped_for_overlap() -> None:
    world = full(overlap="skip").at(hour(12.75))
    world.run_now()
    world.claim_at(hour(13))
    assert world.agenda == ["manual 12:45 parked", "next 13:00 parked"]
    world.limit = 3
    freed(world)
    assert world.ledger == ["12:45 running"]
    assert world.agenda == ["next 13:00 held"]
    world.settle()
    assert world.claim_all().ledger == ["12:45 succeeded", "13:00 running"]


def test_parked_manual_run_does_not_start_beside_a_live_run() -> None:
    world = full(overlap="skip").claim_at(hour(13)).at(hour(13.25))
    world.run_now()
    world.claim_all()
    world.limit = 3
    freed(world)
    assert world.ledger == ["13:00 running"]
    assert world.agenda == ["manual 13:15 held", "next 14:00 timed"]


def test_another_lane_by_edit_lets_it_try_again() -> None:
    world = full().claim_at(hour(13))
    world.edit(lane=None)
    assert world.agenda == ["next 13:00 timed"]
    assert [entry.lane for entry in world.entries.values()] == [None]
    assert world.claim_all().ledger == ["13:00 running"]


# --- barred ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [Reason.QUOTA, Reason.OWNER_REVOKED])
def test_every_occurrence_of_a_blocked_owner_is_recorded(reason: Reason) -> None:
    world = World()
    world.block_reason = reason
    world.claim_at(hour(15.5))
    assert world.ledger == [f"13:00..15:00 x3 skipped {reason}"]
    assert world.agenda == ["next 16:00 timed"]
    world.block_reason = None
    assert world.claim_at(hour(16)).ledger[-1] == "16:00 running"


def test_queued_occurrences_of_a_blocked_owner_are_recorded() -> None:
    world = World(overlap="queue_all", retry=RetryPolicy(2, HOUR)).claim_at(hour(13))
    for number in (14, 15, 16):
        world.claim_at(hour(number))
    world.fail(retry_after=MINUTE)
    world.block_reason = Reason.QUOTA
    world.advance(MINUTE).run_now()
    world.claim_all()
    assert world.ledger == [
        "13:00 failed target_failed",
        "13:00 #2 skipped quota",
        "14:00..16:00 x3 skipped quota",
        "16:01 skipped quota",
    ]
    assert world.agenda == ["next 17:00 timed"]


def test_requested_skips_of_a_blocked_owner_are_kept() -> None:
    world = World()
    world.skip_next(1)
    world.block_reason = Reason.QUOTA
    assert world.claim_at(hour(13)).ledger == ["13:00 skipped quota"]
    assert world.status.skips_left == 1


def test_last_occurrence_of_a_blocked_owner_completes_the_task() -> None:
    world = World(Once(at=hour(13)), retry=RetryPolicy(2, HOUR)).claim_at(hour(13))
    world.fail(retry_after=MINUTE)
    world.block_reason = Reason.OWNER_REVOKED
    world.claim_at(hour(13) + MINUTE)
    assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped owner_revoked"]
    assert world.state is TaskState.COMPLETED


def test_held_entry_behind_a_blocked_backlog_is_released() -> None:
    world = World(missed=Missed("all"), retry=RetryPolicy(2, HOUR)).claim_at(hour(14.5))
    world.fail(retry_after=HOUR)
    world.claim_at(hour(15))
    assert world.agenda == ["retry 13:00 #2 timed", "waiting 14:00 held", "next 15:00 held"]
    world.block_reason = Reason.QUOTA
    world.claim_at(hour(15.5))
    assert world.ledger == [
        "13:00 failed target_failed",
        "13:00 #2 skipped quota",
        "14:00 skipped quota",
        "15:00 skipped quota",
    ]
    assert world.agenda == ["next 16:00 timed"]


def test_paused_task_of_a_blocked_owner_stays_asleep() -> None:
    world = World().at(hour(13))
    seen = world.due[0]
    world.pause()
    world.block_reason = Reason.QUOTA
    world.claim(seen)
    assert world.agenda == ["next 13:00 asleep"]
    assert world.ledger == []
