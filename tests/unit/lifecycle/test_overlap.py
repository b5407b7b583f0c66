"""The overlap policy, for an hourly task that comes due while an earlier run is live."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Conflict
from horae.model.entry import EntryKind
from horae.model.events.event import EventKind
from horae.model.outcome import Cancelled, Failed, Succeeded, Waiting
from horae.model.policy import Missed, Overlap, RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Origin
from horae.schedule import Every
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour

PATIENT = RetryPolicy(3, 3 * HOUR, max=3 * HOUR)
ALL_OVERLAPS: list[Overlap] = ["skip", "queue", "queue_all", "replace", "parallel"]


def going(overlap: Overlap, **policies: Any) -> World:
    """A run is going since 13:00."""
    return World(overlap=overlap, **policies).claim_at(hour(13))


@pytest.mark.parametrize("overlap", ALL_OVERLAPS)
def test_no_live_run(overlap: Overlap) -> None:
    world = going(overlap)
    world.settle()
    assert world.claim_at(hour(14)).ledger == ["13:00 succeeded", "14:00 running"]


@pytest.mark.parametrize(
    ("overlap", "ledger", "agenda"),
    [
        (
            "skip",
            ["13:00 running", "14:00 skipped overlap", "15:00 skipped overlap"],
            ["next 16:00 timed"],
        ),
        (
            "queue",
            ["13:00 running", "15:00 skipped overlap"],
            ["waiting 14:00 held", "next 16:00 timed"],
        ),
        (
            "queue_all",
            ["13:00 running"],
            ["waiting 14:00..15:00 held", "next 16:00 timed"],
        ),
        (
            "replace",
            ["13:00 running", "14:00 skipped superseded"],
            ["waiting 15:00 held", "next 16:00 timed"],
        ),
        (
            "parallel",
            ["13:00 running", "14:00 running", "15:00 running"],
            ["next 16:00 timed"],
        ),
    ],
)
def test_two_more_come_due(overlap: Overlap, ledger: list[str], agenda: list[str]) -> None:
    world = going(overlap).claim_at(hour(14)).claim_at(hour(15))
    assert world.ledger == ledger
    assert world.agenda == agenda


@pytest.mark.parametrize("overlap", ["queue", "queue_all", "replace"])
def test_the_waiter_starts_when_the_run_has_ended(overlap: Overlap) -> None:
    world = going(overlap).claim_at(hour(14)).at(hour(14.5))
    world.settle(Succeeded() if overlap != "replace" else Cancelled())
    assert world.agenda == ["waiting 14:00 timed", "next 15:00 timed"]
    world.claim_all()
    assert world.ledger[1] == "14:00 running"
    assert world.agenda == ["next 15:00 timed"]


def test_waiting_run_counts_as_live() -> None:
    world = going("skip")
    world.settle(Waiting(hour(20)))
    assert world.claim_at(hour(14)).ledger == ["13:00 waiting", "14:00 skipped overlap"]


class TestQueueAll:
    def test_a_long_queue_is_one_entry_and_runs_one_by_one(self) -> None:
        world = going("queue_all")
        for number in (14, 15, 16, 17):
            world.claim_at(hour(number))
        assert world.agenda == ["waiting 14:00..17:00 held", "next 18:00 timed"]
        world.settle()
        world.claim()
        assert world.agenda == ["waiting 15:00..17:00 held", "next 18:00 timed"]
        for number in (15, 16, 17):
            world.settle()
            world.claim_all()
            assert world.ledger[-1] == f"{number}:00 running"
            assert world.live_run.due == hour(number)
        assert world.agenda == ["next 18:00 timed"]

    def test_queue_range_does_not_include_skipped_instants(self) -> None:
        """A range is all that lies between its ends: it must not grow over what has its row already."""
        world = going("queue_all").claim_at(hour(14))
        world.skip_next(1)
        world.claim_at(hour(15)).claim_at(hour(16))
        assert world.ledger == ["13:00 running", "15:00 skipped skip_requested"]
        assert world.agenda == ["waiting 14:00 held", "waiting 16:00 held", "next 17:00 timed"]
        world.claim_at(hour(17))
        assert world.agenda == ["waiting 14:00 held", "waiting 16:00..17:00 held", "next 18:00 timed"]

    def test_nor_what_was_merged(self) -> None:
        world = going("queue_all").claim_at(hour(14)).claim_at(hour(16.5))
        assert world.ledger == ["13:00 running", "15:00 skipped merged"]
        assert world.agenda == ["waiting 14:00 held", "waiting 16:00 held", "next 17:00 timed"]

    def test_a_merged_stretch_stands_alone(self) -> None:
        world = going("queue_all", missed=Missed("merge")).claim_at(hour(14)).claim_at(hour(16.5))
        assert world.agenda == ["waiting 14:00 held", "waiting 15:00..16:00 x2 held", "next 17:00 timed"]
        world.claim_at(hour(17))
        assert "waiting 17:00 held" in world.agenda

    def test_a_backlog_joins_a_backlog_only(self) -> None:
        world = going("queue_all", missed=Missed("all")).claim_at(hour(14)).claim_at(hour(16.5)).claim_at(hour(19.5))
        assert world.agenda == ["waiting 14:00 held", "waiting 15:00..19:00 held", "next 20:00 timed"]


class TestReplace:
    def test_the_run_is_asked_to_end_once(self) -> None:
        world = going("replace")
        change = world.at(hour(14)).claim()
        assert change.cancelled == ((world.live_run.id, Reason.REPLACED),)
        assert world.at(hour(15)).claim().cancelled == ()

    def test_replaced_run_ends_as_replaced_for_every_outcome(self) -> None:
        world = going("replace").claim_at(hour(14))
        world.settle(Failed("killed"))
        assert world.ledger == ["13:00 cancelled replaced"]
        assert world.agenda == ["waiting 14:00 timed", "next 15:00 timed"]

    def test_unless_it_had_succeeded(self) -> None:
        world = going("replace").claim_at(hour(14))
        world.settle(Succeeded())
        assert world.ledger == ["13:00 succeeded"]

    def test_or_its_lease_lapsed(self) -> None:
        world = going("replace").claim_at(hour(14))
        world.lose()
        assert world.ledger == ["13:00 cancelled replaced"]
        assert world.claim_all().ledger == ["13:00 cancelled replaced", "14:00 running"]

    def test_replace_ends_a_waiting_run_at_once(self) -> None:
        world = going("replace")
        world.settle(Waiting(hour(20)))
        world.claim_at(hour(14))
        assert world.ledger == ["13:00 cancelled replaced", "14:00 running"]
        assert world.agenda == ["next 15:00 timed"]
        assert world.status.last_end == hour(14)
        events = [(event.kind, event.detail) for event in world.events[-2:]]
        assert events == [(EventKind.RUN_CANCELLED, "replaced"), (EventKind.RUN_STARTED, None)]

    def test_skipped_occurrence_does_not_replace_the_earlier_run(self) -> None:
        world = going("replace", missed=Missed("skip"))
        world.settle(Waiting(hour(20)))
        world.claim_at(hour(14.5))
        assert world.ledger == ["13:00 waiting", "14:00 skipped missed_skipped"]

    def test_superseded_waiter_does_not_count_as_a_run(self) -> None:
        """Three times means three runs."""
        world = World(Every(interval=HOUR, repeat=3), overlap="replace").claim_at(hour(13)).claim_at(hour(14))
        assert world.status.counted == 2
        world.claim_at(hour(15))
        assert world.status.counted == 2
        assert world.agenda == ["waiting 15:00 held", "next 16:00 timed"]
        world.claim_at(hour(16))
        assert world.ledger == ["13:00 running", "14:00 skipped superseded", "15:00 skipped superseded"]
        world.settle(Cancelled())
        world.claim_all().settle()
        assert world.claim_at(hour(17)).ledger[-2:] == ["16:00 succeeded", "17:00 running"]
        assert world.agenda == []

    def test_replace_supersedes_the_whole_queue(self) -> None:
        """The policy was another one when they queued up."""
        world = going("queue_all").claim_at(hour(14)).claim_at(hour(15))
        world.edit(policies=World(overlap="replace").task.policies)
        world.claim_at(hour(16))
        assert world.ledger == ["13:00 running", "14:00..15:00 x2 skipped superseded"]
        assert world.agenda == ["waiting 16:00 held", "next 17:00 timed"]


class TestRetries:
    """A retry that still waits is not going: a newer due occurrence ends it."""

    @pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
    def test_superseded(self, overlap: Overlap) -> None:
        world = going(overlap, retry=PATIENT)
        world.fail()
        assert world.agenda == ["retry 13:00 #2 timed", "next 14:00 timed"]
        world.claim(world.at(hour(14)).next)
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped superseded", "14:00 running"]
        assert world.agenda == ["next 15:00 timed"]

    @pytest.mark.parametrize("overlap", ["queue_all", "parallel"])
    def test_not_superseded(self, overlap: Overlap) -> None:
        world = going(overlap, retry=PATIENT)
        world.fail()
        world.claim(world.at(hour(14)).next)
        assert world.ledger == ["13:00 failed target_failed", "14:00 running"]
        assert "retry 13:00 #2 timed" in world.agenda

    def test_superseded_by_a_waiter(self) -> None:
        world = going("queue", retry=PATIENT).claim_at(hour(14))
        world.fail()
        world.claim()
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped superseded", "14:00 running"]
        assert world.agenda == ["next 15:00 timed"]

    def test_manual_run_does_not_end_a_retry(self) -> None:
        world = going("skip", retry=PATIENT)
        world.fail()
        world.advance(MINUTE).run_now()
        world.claim()
        assert "13:00 #2 skipped superseded" not in world.ledger

    @pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "replace"])
    def test_a_retry_waits_for_what_is_going(self, overlap: Overlap) -> None:
        world = going(overlap, retry=RetryPolicy(3, HOUR))
        world.fail(retry_after=30 * MINUTE)
        world.at(hour(13.25)).run_now()
        world.claim_all().claim_at(hour(13.5))
        assert "retry 13:00 #2 held" in world.agenda
        world.settle()
        assert "retry 13:00 #2 timed" in world.agenda

    def test_in_parallel_it_does_not(self) -> None:
        world = going("parallel", retry=PATIENT)
        world.fail(retry_after=30 * MINUTE)
        world.at(hour(13.25)).run_now()
        world.claim_all().claim_at(hour(13.5))
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 running", "13:15 running"]


KEPT = RetryPolicy(3, 3 * HOUR, max=3 * HOUR, jitter="none", superseded_by_next=False)


def waiting_retry(overlap: Overlap, **policies: Any) -> World:
    """The run of 13:00 has failed; its second attempt is due at 16:00 and counts as running."""
    world = going(overlap, retry=KEPT, **policies)
    world.fail()
    return world


class TestRetriesThatCountAsRunning:
    """`retry.superseded_by_next: false`: the overlap policy decides about an occurrence that comes due meanwhile."""

    @pytest.mark.parametrize(
        ("overlap", "ledger", "agenda"),
        [
            (
                "skip",
                ["14:00 skipped overlap", "15:00 skipped overlap"],
                ["retry 13:00 #2 timed", "next 16:00 timed"],
            ),
            (
                "queue",
                ["15:00 skipped overlap"],
                ["retry 13:00 #2 timed", "waiting 14:00 held", "next 16:00 timed"],
            ),
            ("queue_all", [], ["retry 13:00 #2 timed", "waiting 14:00..15:00 held", "next 16:00 timed"]),
            ("parallel", ["14:00 running", "15:00 running"], ["retry 13:00 #2 timed", "next 16:00 timed"]),
        ],
    )
    def test_overlap_decides(self, overlap: Overlap, ledger: list[str], agenda: list[str]) -> None:
        world = waiting_retry(overlap).claim_at(hour(14)).claim_at(hour(15))
        assert world.ledger == ["13:00 failed target_failed", *ledger]
        assert world.agenda == agenda

    def test_replace_ends_the_retry(self) -> None:
        world = waiting_retry("replace").claim_at(hour(14))
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped replaced", "14:00 running"]
        assert world.agenda == ["next 15:00 timed"]

    def test_replaced_retry_hands_on_its_deaths(self) -> None:
        world = going("replace", retry=KEPT)
        world.at(hour(14)).lose()
        world.claim(world.next)
        assert world.live_run.deaths == 1

    def test_the_waiter_starts_after_the_retry(self) -> None:
        world = waiting_retry("queue").claim_at(hour(14)).claim_at(hour(15))
        world.claim(world.at(hour(16)).queued(EntryKind.RETRY)[0])
        assert world.live_run.attempt == 2
        assert "waiting 14:00 held" in world.agenda
        world.settle()
        world.claim(world.queued(EntryKind.WAITING)[0])
        assert f"{world.live_run.planned:%H:%M}" == "14:00"

    def test_the_waiter_starts_when_the_policy_no_longer_holds_it(self) -> None:
        world = waiting_retry("queue").claim_at(hour(14))
        world.edit(policies=World(overlap="queue", retry=PATIENT).task.policies)
        assert "waiting 14:00 timed" in world.agenda

    def test_a_lost_run_that_is_queued_again_counts(self) -> None:
        world = going("skip", retry=KEPT)
        world.at(hour(14)).lose()
        world.claim(world.next)
        assert world.ledger == ["13:00 lost lease_lost", "14:00 skipped overlap"]

    def test_retries_do_not_wait_for_each_other(self) -> None:
        world = World(overlap="skip", retry=RetryPolicy(1, superseded_by_next=False)).claim_at(hour(13))
        world.fail()
        world.claim_at(hour(14))
        world.fail()
        for run in list(world.runs.values()):
            world.try_again(run)
        world.claim()
        assert len(world.live) == 1

    def test_a_retry_behind_a_backlog_does_not_block_it(self) -> None:
        """A requested retry waits for the older part of a backfill, which must not wait for it in turn."""
        world = World(retry=RetryPolicy(1, superseded_by_next=False)).claim_at(hour(13))
        world.settle()
        world.at(hour(15.5)).claim_all()
        world.settle()
        world.backfill(hour(15), hour(15), 0)
        world.claim_all()
        world.fail()
        failed = next(run for run in world.runs.values() if run.origin is Origin.BACKFILL)
        world.backfill(hour(13), hour(14), 0)
        world.try_again(failed)
        world.claim_all()
        assert (world.live_run.origin, f"{world.live_run.planned:%H:%M}") == (Origin.BACKFILL, "13:00")

    def test_a_paused_retry_does_not_count(self) -> None:
        world = waiting_retry("skip")
        world.pause()
        world.advance(MINUTE).run_now()
        world.claim_all()
        assert "13:01 running" in world.ledger

    def test_run_now_is_refused_with_the_retry_that_counts(self) -> None:
        world = waiting_retry("skip")
        with pytest.raises(Conflict) as refusal:
            world.run_now()
        assert refusal.value.code == "retry_waiting"
        (run,) = world.runs.values()
        assert refusal.value.facts == {"id": run.id, "attempt": 2, "at": "2026-03-01 16:00:00Z"}

    def test_run_now_waits_under_queue(self) -> None:
        world = waiting_retry("queue")
        world.advance(MINUTE).run_now()
        world.claim_all()
        assert "manual 13:01 held" in world.agenda

    def test_run_now_replaces_the_retry(self) -> None:
        world = waiting_retry("replace")
        world.advance(MINUTE).run_now()
        world.claim_all()
        assert world.ledger == ["13:00 failed target_failed", "13:00 #2 skipped replaced", "13:01 running"]

    def test_a_backfill_does_not_replace_the_retry(self) -> None:
        world = waiting_retry("replace").at(hour(13.5))
        world.backfill(hour(13), hour(13), 0)
        world.claim_all()
        assert "retry 13:00 #2 timed" in world.agenda


class TestRunNow:
    """Run now obeys overlap; where that says skip, it is refused at once."""

    @pytest.mark.parametrize(
        ("overlap", "agenda"),
        [
            ("queue", ["manual 13:30 held", "next 14:00 timed"]),
            ("queue_all", ["manual 13:30 held", "next 14:00 timed"]),
            ("replace", ["manual 13:30 held", "next 14:00 timed"]),
            ("parallel", ["next 14:00 timed"]),
        ],
    )
    def test_while_a_run_is_going(self, overlap: Overlap, agenda: list[str]) -> None:
        world = going(overlap).at(hour(13.5))
        world.run_now()
        assert world.claim_all().agenda == agenda

    def test_skip_is_a_conflict(self) -> None:
        world = going("skip").at(hour(13.5))
        with pytest.raises(Conflict, match="overlap policy") as refusal:
            world.run_now()
        assert refusal.value.code == "already_running"

    def test_run_now_is_refused_when_the_queue_is_full(self) -> None:
        world = going("queue").at(hour(13.5))
        world.run_now()
        world.claim_all()
        with pytest.raises(Conflict):
            world.run_now()
        world.claim_at(hour(14))
        assert world.ledger == ["13:00 running", "14:00 skipped overlap"]

    def test_queued_entries_keep_waiting_after_a_policy_edit(self) -> None:
        world = going("queue").at(hour(13.5))
        world.run_now()
        world.claim_all()
        world.edit(policies=World(overlap="skip").task.policies)
        world.settle()
        world.claim(world.at(hour(14)).next)
        assert world.claim_all().agenda == ["manual 13:30 held", "next 15:00 timed"]

    def test_a_run_that_started_in_between_makes_it_a_row(self) -> None:
        world = World(overlap="skip").at(hour(13))
        world.run_now()
        world.claim(world.next)
        world.claim_all()
        assert world.ledger == ["13:00 skipped overlap", "13:00 running"]

    def test_run_now_under_replace_ends_a_waiting_run(self) -> None:
        world = going("replace")
        world.settle(Waiting(hour(20)))
        world.at(hour(13.5)).run_now()
        world.claim_all()
        assert world.ledger == ["13:00 cancelled replaced", "13:30 running"]

    @pytest.mark.parametrize("overlap", ALL_OVERLAPS)
    def test_the_schedule_does_not_move(self, overlap: Overlap) -> None:
        world = World(overlap=overlap).at(hour(12.5))
        world.run_now()
        world.claim_all()
        assert world.ledger == ["12:30 running"]
        assert world.agenda == ["next 13:00 timed"]
        assert world.status.counted == 0

    def test_two_at_one_instant_are_two_occurrences(self) -> None:
        world = World(overlap="queue_all").at(hour(12.5))
        world.run_now()
        world.run_now()
        world.claim_all()
        world.run_now()
        world.claim_all()
        assert world.ledger == ["12:30 running"]
        assert world.agenda == ["manual 12:30.000001 held", "manual 12:30.000002 held", "next 13:00 timed"]
