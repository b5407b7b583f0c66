"""`start_within`: what has not started that long after it was due is skipped, whatever it waited for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from horae.errors import InvalidTask
from horae.lifecycle.explain.explanation import explain
from horae.model.entry import START_DEADLINE_SLOT, EntryKind, EntryState
from horae.model.policy import Missed, MissedMode, Overlap, Policies, RetryPolicy, from_json, to_json
from horae.model.reason import Reason
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MICROSECOND, MINUTE, SECOND, World, hour

WITHIN = 10 * MINUTE


def deadline_of(world: World) -> datetime | None:
    entry = world.entries.get(START_DEADLINE_SLOT)
    return None if entry is None else entry.due


def in_full_lane(**policies: Any) -> World:
    """The lane is full when the occurrence of 13:00 comes due."""
    world = World(lane="lane", **{"start_within": WITHIN, **policies})
    world.others = 1
    return world.claim_at(hour(13))


def running(overlap: Overlap, **policies: Any) -> World:
    """The run of 13:00 is still going when the occurrence of 14:00 comes due."""
    return World(overlap=overlap, **{"start_within": WITHIN, **policies}).claim_at(hour(13)).claim_at(hour(14))


class TestFullLane:
    def test_skipped_at_the_deadline(self) -> None:
        world = in_full_lane()
        assert world.agenda == ["next 13:00 parked", "start_deadline 13:10 timed"]
        world.claim_at(hour(13) + WITHIN)
        assert world.ledger == ["13:00 skipped start_deadline"]
        assert world.agenda == ["next 14:00 timed"]

    def test_not_before(self) -> None:
        world = in_full_lane().claim_at(hour(13) + WITHIN - MICROSECOND)
        assert world.ledger == []
        assert deadline_of(world) == hour(13) + WITHIN

    def test_a_slot_in_time(self) -> None:
        world = in_full_lane().at(hour(13) + WITHIN - MICROSECOND)
        world.others = 0
        world.fill_lane_slots()
        world.claim_all()
        assert world.ledger == ["13:00 running"]
        assert world.agenda == ["next 14:00 timed"]

    def test_a_slot_too_late(self) -> None:
        """The entry was given the slot, but no node claimed it in time."""
        world = in_full_lane()
        world.others = 0
        world.fill_lane_slots()
        world.claim(world.at(hour(13) + WITHIN).next)
        assert world.ledger == ["13:00 skipped start_deadline"]
        assert world.agenda == ["next 14:00 timed"]

    def test_the_rest_of_a_backlog_keeps_waiting(self) -> None:
        world = in_full_lane(start_within=90 * MINUTE, missed=Missed("all")).claim_at(hour(14.5))
        assert world.ledger == ["13:00 skipped start_deadline"]
        assert world.agenda == ["next 14:00 parked", "start_deadline 15:30 timed"]

    def test_many_late_occurrences_are_one_row(self) -> None:
        world = World(Every(interval=MINUTE), lane="lane", start_within=WITHIN)
        world.others = 1
        world.at(hour(12) + MINUTE).claim(world.next)
        world.at(hour(13)).claim(world.entries[START_DEADLINE_SLOT])
        assert world.ledger == ["12:01..12:50 x50 skipped start_deadline"]
        assert world.agenda == ["next 12:51 parked", "start_deadline 13:01 timed"]

    def test_requested_skips_come_first(self) -> None:
        world = in_full_lane()
        world.skip_next(1)
        world.claim_at(hour(13) + WITHIN)
        assert world.ledger == ["13:00 skipped skip_requested"]

    def test_a_manual_run(self) -> None:
        world = World(lane="lane", start_within=WITHIN)
        world.others = 1
        world.at(hour(12.5)).run_now()
        world.claim_all().claim_at(hour(12.5) + WITHIN)
        assert world.ledger == ["12:30 skipped start_deadline"]

    def test_a_retry(self) -> None:
        world = World(lane="lane", start_within=WITHIN, retry=RetryPolicy(3)).claim_at(hour(13))
        world.fail(retry_after=MINUTE)
        world.others = 1
        world.claim_at(hour(13) + MINUTE).claim_at(hour(13) + MINUTE + WITHIN)
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped start_deadline"]

    def test_a_backfill_has_no_deadline(self) -> None:
        world = World(lane="lane", start_within=WITHIN).claim_at(hour(13))
        world.settle()
        world.others = 1
        world.at(hour(13.5)).backfill(hour(13), hour(13), 0)
        world.claim_all()
        assert deadline_of(world) is None
        assert "waiting 13:00 parked" in world.agenda

    def test_a_task_that_fires_once_is_over(self) -> None:
        world = World(Once(at=hour(13)), lane="lane", start_within=WITHIN)
        world.others = 1
        world.claim_at(hour(13)).claim_at(hour(13) + WITHIN)
        assert (world.state, world.agenda) == ("completed", [])

    def test_an_interval_from_the_end_goes_on(self) -> None:
        world = World(Every(interval=HOUR, since="end"), lane="lane", start_within=WITHIN)
        world.others = 1
        world.claim_at(hour(13)).claim_at(hour(13) + WITHIN)
        assert world.ledger == ["13:00 skipped start_deadline"]
        assert world.agenda == ["next 14:10 timed"]


class TestOverlap:
    def test_a_waiter(self) -> None:
        world = running("queue")
        assert world.agenda == ["waiting 14:00 held", "start_deadline 14:10 timed", "next 15:00 timed"]
        world.claim_at(hour(14) + WITHIN)
        assert world.ledger == ["13:00 running", "14:00 skipped start_deadline"]
        assert world.agenda == ["next 15:00 timed"]

    def test_a_range_loses_its_late_part(self) -> None:
        world = running("queue_all", start_within=90 * MINUTE).claim_at(hour(15))
        assert "waiting 14:00..15:00 held" in world.agenda
        world.claim_at(hour(15.5))
        assert world.ledger == ["13:00 running", "14:00 skipped start_deadline"]
        assert world.agenda == ["waiting 15:00 held", "next 16:00 timed", "start_deadline 16:30 timed"]

    def test_a_longer_range_stays_one(self) -> None:
        world = running("queue_all", start_within=150 * MINUTE).claim_at(hour(15)).claim_at(hour(16))
        world.claim_at(hour(16.5))
        assert "waiting 15:00..16:00 held" in world.agenda

    def test_a_range_that_is_late_as_a_whole(self) -> None:
        world = running("queue_all", start_within=90 * MINUTE).claim_at(hour(15))
        world.at(hour(16.75)).claim(world.entries[START_DEADLINE_SLOT])
        assert "14:00..15:00 x2 skipped start_deadline" in world.ledger

    def test_freed_too_late(self) -> None:
        """A sleeping node claims a freed range only when its first occurrence may no longer start."""
        world = running("queue_all", start_within=90 * MINUTE).claim_at(hour(15))
        world.settle()
        waiting = world.queued(EntryKind.WAITING)[0]
        assert waiting.state is EntryState.TIMED
        world.claim(world.at(hour(15.5)).entries[waiting.slot])
        assert "14:00 skipped start_deadline" in world.ledger
        world.claim(world.entries[waiting.slot])
        assert "15:00 running" in world.ledger

    def test_several_waiters_are_skipped_together(self) -> None:
        world = running("queue")
        world.at(hour(14) + SECOND).edit(policies=running("queue_all").task.policies)
        world.run_now()
        world.claim_all()
        world.at(hour(14.5)).claim(world.entries[START_DEADLINE_SLOT])
        assert [row for row in world.ledger if "start_deadline" in row] == [
            "14:00 skipped start_deadline",
            "14:00:01 skipped start_deadline",
        ]
        assert deadline_of(world) is None


class TestNodes:
    def test_late_for_want_of_a_node(self) -> None:
        """No node ran: the claim that finds the occurrence skips it, before the missed policy."""
        assert World(start_within=WITHIN).claim_at(hour(13.5)).ledger == ["13:00 skipped start_deadline"]

    def test_late_by_seconds(self) -> None:
        """A claim that is in time for the missed policy may be too late to start."""
        assert World(start_within=SECOND).claim_at(hour(13) + 5 * SECOND).ledger == ["13:00 skipped start_deadline"]
        assert World(start_within=6 * SECOND).claim_at(hour(13) + 5 * SECOND).ledger == ["13:00 running"]

    @pytest.mark.parametrize(
        ("mode", "ledger", "agenda"),
        [
            ("skip", ["15:00 skipped missed_skipped"], []),
            ("latest", ["15:00 running"], []),
            ("all", ["15:00 running"], []),
            ("merge", ["15:00 running"], []),
        ],
    )
    def test_the_missed_policy_decides_about_the_rest(
        self, mode: MissedMode, ledger: list[str], agenda: list[str]
    ) -> None:
        world = World(start_within=WITHIN, missed=Missed(mode)).claim_at(hour(15) + MINUTE)
        assert world.ledger == ["13:00..14:00 x2 skipped start_deadline", *ledger]
        assert world.agenda == [*agenda, "next 16:00 timed"]

    def test_stranded_until_the_deadline(self) -> None:
        world = World(start_within=WITHIN).at(hour(13))
        world.strand()
        assert world.agenda == ["next 13:00 parked", "start_deadline 13:10 timed"]
        world.at(hour(13) + WITHIN).strand()
        assert world.ledger == ["13:00 skipped start_deadline"]

    def test_found_too_late_by_a_node_without_its_target(self) -> None:
        world = World(Every(interval=HOUR), start_within=WITHIN).at(hour(14) + MINUTE)
        world.strand()
        assert world.ledger == ["13:00 skipped start_deadline"]
        assert world.agenda == ["next 14:00 parked", "start_deadline 14:10 timed"]

    def test_manual_run_found_too_late_by_a_node_without_its_target(self) -> None:
        world = World(start_within=WITHIN)
        world.run_now()
        world.at(hour(12.5)).strand()
        assert world.ledger == ["12:00 skipped start_deadline"]


class TestControl:
    def test_pause_and_resume(self) -> None:
        world = in_full_lane()
        world.advance(MINUTE).pause()
        assert world.agenda == ["next 13:00 asleep"]
        world.claim_at(hour(13) + WITHIN).resume()
        assert world.ledger == ["13:00 skipped paused"]

    def test_caught_up_after_a_pause_that_was_too_long(self) -> None:
        world = World(start_within=WITHIN)
        world.pause()
        world.at(hour(13.5)).resume(missed="latest")
        world.claim_all()
        assert world.ledger == ["13:00 skipped start_deadline"]

    def test_an_edit_moves_or_removes_the_deadline(self) -> None:
        world = in_full_lane()
        world.edit(policies=World(start_within=20 * MINUTE).task.policies)
        assert deadline_of(world) == hour(13) + 20 * MINUTE
        world.edit(policies=World().task.policies)
        assert deadline_of(world) is None
        world.edit(policies=World(start_within=5 * MINUTE).task.policies)
        assert deadline_of(world) == hour(13) + 5 * MINUTE

    def test_a_deadline_without_late_entries_is_dropped(self) -> None:
        """The store has unparked the entry, and a manual run of the same task has not started yet."""
        world = in_full_lane(overlap="parallel")
        world.others = 0
        world.fill_lane_slots()
        deadline = world.entries[START_DEADLINE_SLOT]
        world.edit(policies=World(start_within=HOUR).task.policies)
        assert deadline_of(world) is None
        world.entries[START_DEADLINE_SLOT] = deadline
        world.at(deadline.due).claim(deadline)
        assert deadline_of(world) is None


class TestWhy:
    def test_waiting_entry_names_its_deadline(self) -> None:
        world = in_full_lane()
        answer = explain(world.facts, (), hour(13), world.now)
        assert answer.english == (
            "It is due and waits: its lane 'lane' is full. "
            "It is skipped if it has not started by 2026-03-01 13:10 +00:00 (start_within)."
        )
        assert answer.chinese.endswith("若到 2026-03-01 13:10 +00:00 仍未开始，就会被跳过（start_within）。")

    def test_unclaimed_entry_names_its_deadline(self) -> None:
        world = World(start_within=WITHIN).at(hour(13))
        assert explain(world.facts, (), hour(13), world.now).english.endswith("13:10 +00:00 (start_within).")

    def test_skipped_row_names_the_latest_start(self) -> None:
        world = in_full_lane().claim_at(hour(13) + WITHIN)
        answer = explain(world.facts, tuple(world.runs.values()), hour(13), world.now)
        assert answer.reason is Reason.START_DEADLINE
        assert answer.english.endswith("It had to start before 2026-03-01 13:10 +00:00.")

    def test_row_of_many_occurrences_has_no_single_latest_start(self) -> None:
        world = World(start_within=WITHIN).claim_at(hour(15) + MINUTE)
        answer = explain(world.facts, tuple(world.runs.values()), hour(14), world.now)
        assert "It had to start before" not in answer.english


def test_stored_policies_without_start_within_have_none() -> None:
    kept = to_json(Policies(start_within=WITHIN))
    assert from_json(kept).start_within == WITHIN
    del kept["start_within"]
    assert from_json(kept).start_within is None


@pytest.mark.parametrize("bad", [0 * SECOND, -SECOND, "10m"])
def test_bad_start_within_is_refused(bad: object) -> None:
    with pytest.raises(InvalidTask) as refusal:
        Policies(start_within=bad)  # type: ignore[arg-type]
    assert refusal.value.code == "bad_duration"
