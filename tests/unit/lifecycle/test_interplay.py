"""Combinations of policies: missed, overlap, retry, pause, lanes, from end, at most once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.model.outcome import Cancelled, Waiting
from horae.model.policy import Missed, Overlap, RetryPolicy
from horae.model.reason import Reason
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour


@pytest.mark.parametrize(
    ("overlap", "missed", "ledger", "agenda"),
    [
        # A pile is found while a run is going: missed picks, then overlap has its say about what was picked.
        ("skip", "skip", ["13:00 running", "14:00..16:00 x3 skipped missed_skipped"], ["next 17:00 timed"]),
        ("skip", "latest", ["13:00 running", "14:00..15:00 x2 skipped merged", "16:00 skipped overlap"], ["next 17:00 timed"]),
        ("skip", "merge", ["13:00 running", "14:00..16:00 x3 skipped overlap"], ["next 17:00 timed"]),
        ("skip", "all", ["13:00 running"], ["waiting 14:00..16:00 held", "next 17:00 timed"]),
        ("queue", "latest", ["13:00 running", "14:00..15:00 x2 skipped merged"], ["waiting 16:00 held", "next 17:00 timed"]),
        ("queue", "merge", ["13:00 running"], ["waiting 14:00..16:00 x3 held", "next 17:00 timed"]),
        ("queue", "all", ["13:00 running"], ["waiting 14:00..16:00 held", "next 17:00 timed"]),
        ("queue_all", "latest", ["13:00 running", "14:00..15:00 x2 skipped merged"], ["waiting 16:00 held", "next 17:00 timed"]),
        ("queue_all", "all", ["13:00 running"], ["waiting 14:00..16:00 held", "next 17:00 timed"]),
        ("replace", "latest", ["13:00 running", "14:00..15:00 x2 skipped merged"], ["waiting 16:00 held", "next 17:00 timed"]),
        ("replace", "all", ["13:00 running"], ["waiting 14:00..16:00 held", "next 17:00 timed"]),
        ("parallel", "latest", ["13:00 running", "14:00..15:00 x2 skipped merged", "16:00 running"], ["next 17:00 timed"]),
        ("parallel", "all", ["13:00 running", "14:00 running"], ["waiting 15:00..16:00 held", "next 17:00 timed"]),
    ],
)  # fmt: skip
def test_missed_and_overlap(overlap: Overlap, missed: str, ledger: list[str], agenda: list[str]) -> None:
    world = World(overlap=overlap, missed=Missed(missed)).claim_at(hour(13)).claim_at(hour(16.5))  # type: ignore[arg-type]
    assert (world.ledger, world.agenda) == (ledger, agenda)


def test_replace_cancels_nothing_for_a_backlog() -> None:
    world = World(overlap="replace", missed=Missed("all")).claim_at(hour(13))
    assert world.at(hour(16.5)).claim().cancelled == ()


def test_missed_and_retry() -> None:
    """A retry that waits is ended by whatever is made up for."""
    world = World(retry=RetryPolicy(3, 9 * HOUR, max=9 * HOUR)).claim_at(hour(13))
    world.fail(retry_after=9 * HOUR)
    world.claim_at(hour(16.5))
    assert world.ledger == [
        "13:00 failed target_failed",
        "13:00 #2 skipped superseded",
        "14:00..15:00 x2 skipped merged",
        "16:00 running",
    ]


def test_missed_that_is_skipped_ends_no_retry() -> None:
    world = World(missed=Missed("skip"), retry=RetryPolicy(3, HOUR)).claim_at(hour(13))
    world.fail(retry_after=9 * HOUR)
    world.claim_at(hour(16.5))
    assert world.ledger == ["13:00 failed target_failed", "14:00..16:00 x3 skipped missed_skipped"]
    assert world.agenda == ["retry 13:00 #2 timed", "next 17:00 timed"]


def test_overlap_that_is_skipped_ends_no_retry() -> None:
    world = World(retry=RetryPolicy(3, HOUR)).claim_at(hour(13))
    world.fail(retry_after=9 * HOUR)
    world.at(hour(13.75)).run_now()
    world.claim_all().claim_at(hour(14))
    assert world.ledger == ["13:00 failed target_failed", "13:45 running", "14:00 skipped overlap"]
    assert world.agenda == ["retry 13:00 #2 timed", "next 15:00 timed"]


def test_a_full_lane_ends_no_retry_before_the_newer_one_starts() -> None:
    world = World(lane="lane", retry=RetryPolicy(3, HOUR)).claim_at(hour(13))
    world.fail(retry_after=9 * HOUR)
    world.others = 1
    world.claim_at(hour(14))
    assert world.agenda == ["retry 13:00 #2 timed", "next 14:00 parked"]
    world.others = 0
    world.fill_lane_slots()
    assert world.claim_all().ledger == ["13:00 failed target_failed", "13:00 #2 skipped superseded", "14:00 running"]


def test_pause_and_lane() -> None:
    world = World(lane="lane")
    world.others = 1
    world.claim_at(hour(13))
    world.pause()
    assert world.agenda == ["next 13:00 asleep"]
    world.others = 0
    world.fill_lane_slots()
    assert world.agenda == ["next 13:00 asleep"]
    world.at(hour(13.5)).resume(missed="latest")
    assert world.claim_all().ledger == ["13:00 running"]


def test_pause_and_overlap() -> None:
    world = World(overlap="queue").claim_at(hour(13)).claim_at(hour(14))
    world.pause()
    world.settle()
    assert world.agenda == ["waiting 14:00 asleep", "next 15:00 asleep"]
    world.resume(missed="latest")
    assert world.claim_all().ledger == ["13:00 succeeded", "14:00 running"]


def test_resume_behind_a_live_run() -> None:
    world = World(overlap="skip").claim_at(hour(13))
    world.pause()
    world.at(hour(15.5)).resume(missed="all")
    assert world.agenda == ["waiting 14:00..15:00 held", "next 16:00 timed"]
    world.settle()
    assert world.claim_all().ledger == ["13:00 succeeded", "14:00 running"]


def test_a_replaced_run_and_its_pause() -> None:
    world = World(overlap="replace").claim_at(hour(13)).claim_at(hour(14))
    world.pause()
    world.settle(Cancelled())
    assert world.agenda == ["waiting 14:00 asleep", "next 15:00 asleep"]
    world.resume()
    assert world.ledger == ["13:00 cancelled replaced"]
    assert world.claim_all().ledger[-1] == "14:00 running"


def test_at_most_once_and_overlap() -> None:
    """What was claimed and not yet started is going, too."""
    world = World(guarantee="at_most_once", overlap="queue").claim_at(hour(13)).claim_at(hour(14))
    assert world.ledger == ["13:00 claimed"]
    assert world.agenda == ["waiting 14:00 held", "next 15:00 timed"]
    world.lose()
    assert world.agenda == ["retry 13:00 #2 timed", "waiting 14:00 timed", "next 15:00 timed"]
    world.claim_all()
    assert [row for row in world.ledger if "claimed" in row] in (["13:00 #2 claimed"], ["14:00 claimed"])
    assert len(world.live) == 1


def test_at_most_once_and_replace() -> None:
    world = World(guarantee="at_most_once", overlap="replace").claim_at(hour(13)).claim_at(hour(14))
    assert world.live_run.cancel is Reason.REPLACED
    world.settle(Cancelled())
    assert world.ledger == ["13:00 cancelled replaced"]


def test_at_most_once_and_a_backlog() -> None:
    world = World(guarantee="at_most_once", missed=Missed("all"), give_up_after=None).claim_at(hour(15.5))
    for number in (13, 14, 15):
        assert world.ledger[-1] == f"{number}:00 claimed"
        world.start(world.live_run)
        world.lose()
        world.claim_all()
    assert world.ledger == [f"{number}:00 lost lease_lost" for number in (13, 14, 15)]
    assert world.agenda == ["next 16:00 timed"]


def test_from_end_and_lane() -> None:
    world = World(Every(interval=HOUR, since="end"), lane="lane")
    world.others = 1
    world.claim_at(hour(13))
    assert world.agenda == ["next 13:00 parked"]
    world.at(hour(18))
    world.others = 0
    world.fill_lane_slots()
    assert world.claim_all().ledger == ["13:00 running"]
    world.settle()
    assert world.agenda == ["next 19:00 timed"]


def test_from_end_and_giving_up_in_parallel() -> None:
    world = World(overlap="parallel", give_up_after=1).claim_at(hour(13)).claim_at(hour(14))
    world.edit(schedule=Every(interval=HOUR, since="end"))
    first, second = world.live
    world.fail(first, permanent=True)
    assert world.state is TaskState.FAILED
    world.settle(run=second)
    assert world.agenda == []


def test_backfill_obeys_overlap_with_the_schedule() -> None:
    """A run is a run: overlap does not ask where it came from."""
    world = World(overlap="skip").at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(15))
    world.claim_all().claim_at(hour(21))
    assert world.ledger[-1] == "21:00 skipped overlap"


def test_a_backfill_does_not_fill_the_queue() -> None:
    world = World(overlap="queue").at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(16))
    world.claim_all().claim_at(hour(21))
    assert "waiting 21:00 held" in world.agenda


def test_backfill_is_not_replaced_but_yields() -> None:
    world = World(overlap="replace").at(hour(20.5))
    world.claim_all().settle()
    world.backfill(hour(14), hour(16))
    world.claim_all().at(hour(21))
    assert world.claim().cancelled == ()
    world.settle()
    assert world.claim_all().live_run.planned == hour(21)


def test_retry_of_a_lost_merged_run_keeps_its_span() -> None:
    world = World(missed=Missed("merge")).claim_at(hour(15.5))
    span = world.live_run.span
    world.lose()
    assert world.claim_all().live_run.span == span
    world.fail(retry_after=timedelta(0))
    assert world.claim_all().live_run.span == span


def test_once_run_that_waits_and_is_never_answered() -> None:
    world = World(Once(at=hour(13)), retry=RetryPolicy(2, timedelta(0))).claim_at(hour(13))
    world.settle(Waiting(hour(14)))
    world.claim_at(hour(14))
    assert world.ledger == ["13:00 timed_out deadline", "13:00 #2 running"]
    world.settle(Waiting(hour(15)))
    world.claim_at(hour(15))
    assert (world.state, world.status.reason) == (TaskState.FAILED, Reason.DEADLINE)


def test_requested_skips_and_overlap() -> None:
    world = World(overlap="queue").claim_at(hour(13))
    world.skip_next(1)
    world.claim_at(hour(14)).claim_at(hour(15))
    assert world.ledger == ["13:00 running", "14:00 skipped skip_requested"]
    assert world.agenda == ["waiting 15:00 held", "next 16:00 timed"]


def test_jitter_and_a_retry_that_is_superseded() -> None:
    world = World(Every(interval=HOUR, jitter=30 * MINUTE), retry=RetryPolicy(2, 9 * HOUR, max=9 * HOUR))
    assert world.next is not None
    world.claim_at(world.next.due)
    world.fail(retry_after=9 * HOUR)
    assert world.next.due > world.next.planned
    world.at(world.next.planned)
    assert not world.due
    world.claim_at(world.next.due)
    assert world.ledger[1] == "13:00 #2 skipped superseded"
