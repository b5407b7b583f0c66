"""`missed: all` is a backlog: one occurrence ends, retries included, before the next starts, and none is superseded."""

from __future__ import annotations

from typing import Any

import pytest

from horae.model.outcome import Cancelled, Waiting
from horae.model.policy import Missed, Overlap, RetryPolicy
from horae.model.task import TaskState
from horae.schedule import Every
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour

RETRY = RetryPolicy(2, HOUR)
ONE_BY_ONE: list[Overlap] = ["skip", "queue", "queue_all", "replace"]


def backlog(overlap: Overlap = "skip", **policies: Any) -> World:
    """Found at 15:30: 13:00 is running, 14:00 and 15:00 wait behind it."""
    world = World(missed=Missed("all"), overlap=overlap, retry=RETRY, **policies).claim_at(hour(15.5))
    assert world.ledger == ["13:00 running"]
    assert world.agenda == ["waiting 14:00..15:00 held", "next 16:00 timed"]
    return world


@pytest.mark.parametrize("overlap", [*ONE_BY_ONE, "parallel"])
def test_one_by_one_oldest_first(overlap: Overlap) -> None:
    world = backlog(overlap)
    world.settle()
    assert world.claim_all().ledger == ["13:00 succeeded", "14:00 running"]
    world.settle()
    assert world.claim_all().ledger == ["13:00 succeeded", "14:00 succeeded", "15:00 running"]
    assert world.agenda == ["next 16:00 timed"]


@pytest.mark.parametrize("overlap", [*ONE_BY_ONE, "parallel"])
def test_a_retry_comes_before_the_next(overlap: Overlap) -> None:
    world = backlog(overlap)
    world.fail(retry_after=10 * MINUTE)
    assert world.claim_all().agenda == ["retry 13:00 #2 timed", "waiting 14:00..15:00 held", "next 16:00 timed"]
    world.claim_at(hour(15.5) + 10 * MINUTE)
    assert world.ledger == ["13:00 failed target_failed", "13:00 #2 running"]
    world.fail()
    assert world.claim_all().ledger[-1] == "14:00 running"


@pytest.mark.parametrize("overlap", [*ONE_BY_ONE, "parallel"])
def test_a_dead_node_changes_nothing_about_the_order(overlap: Overlap) -> None:
    world = backlog(overlap)
    world.lose()
    assert world.agenda == ["retry 13:00 #2 timed", "waiting 14:00..15:00 held", "next 16:00 timed"]
    assert world.claim_all().ledger == ["13:00 lost lease_lost", "13:00 #2 running"]


@pytest.mark.parametrize("overlap", ONE_BY_ONE)
def test_next_occurrence_due_between_two_backlog_runs_waits(overlap: Overlap) -> None:
    world = backlog(overlap)
    world.fail(retry_after=HOUR)
    world.claim_at(hour(16))
    assert world.agenda == ["retry 13:00 #2 timed", "waiting 14:00..15:00 held", "next 16:00 held"]
    world.claim_at(hour(16.5))
    for _ in range(3):
        world.settle()
        world.claim_all()
    assert world.ledger[-3:] == ["14:00 succeeded", "15:00 succeeded", "16:00 running"]
    assert world.agenda == ["next 17:00 timed"]


def test_parallel_next_occurrence_does_not_wait_for_the_backlog() -> None:
    world = backlog("parallel")
    world.fail(retry_after=HOUR)
    world.claim_at(hour(16))
    assert world.ledger[-1] == "16:00 running"


@pytest.mark.parametrize(
    ("overlap", "ledger", "agenda"),
    [
        # Overlap has its say about an instant that comes due while one of them is running.
        ("skip", ["13:00 running", "16:00 skipped overlap"], ["waiting 14:00..15:00 held", "next 17:00 timed"]),
        ("queue", ["13:00 running"], ["waiting 14:00..15:00 held", "waiting 16:00 held", "next 17:00 timed"]),
        ("queue_all", ["13:00 running"], ["waiting 14:00..15:00 held", "waiting 16:00 held", "next 17:00 timed"]),
        ("replace", ["13:00 running"], ["waiting 14:00..15:00 held", "waiting 16:00 held", "next 17:00 timed"]),
        ("parallel", ["13:00 running", "16:00 running"], ["waiting 14:00..15:00 held", "next 17:00 timed"]),
    ],
)
def test_next_occurrence_due_during_a_backlog_run(overlap: Overlap, ledger: list[str], agenda: list[str]) -> None:
    world = backlog(overlap).at(hour(16))
    assert world.claim().cancelled == ()
    assert world.ledger == ledger
    assert world.agenda == agenda


def test_waiter_behind_a_backlog_starts_after_its_end() -> None:
    world = backlog("queue").claim_at(hour(16))
    for _ in range(3):
        assert not world.ledger[-1].startswith("16:00")
        world.settle()
        world.claim_all()
    assert world.ledger[-1] == "16:00 running"


def test_queue_holds_one_waiter_behind_a_backlog() -> None:
    world = backlog("queue").claim_at(hour(16)).claim_at(hour(17))
    assert world.ledger == ["13:00 running", "17:00 skipped overlap"]


def test_replace_keeps_the_newest_waiter_behind_a_backlog() -> None:
    world = backlog("replace").claim_at(hour(16)).claim_at(hour(17))
    assert world.ledger == ["13:00 running", "16:00 skipped superseded"]
    assert world.agenda == ["waiting 14:00..15:00 held", "waiting 17:00 held", "next 18:00 timed"]


@pytest.mark.parametrize("overlap", ["replace", "parallel"])
def test_a_second_backlog_queues_behind_the_first(overlap: Overlap) -> None:
    world = backlog(overlap).claim_at(hour(17.5))
    assert world.ledger == ["13:00 running"]
    assert world.agenda == ["waiting 14:00..15:00 held", "waiting 16:00..17:00 held", "next 18:00 timed"]
    for number in (14, 15, 16, 17):
        world.settle()
        world.claim_all()
        assert world.ledger[-1] == f"{number}:00 running"


def test_a_second_backlog_waits_for_a_retry_of_the_first() -> None:
    world = backlog("parallel")
    world.fail(retry_after=4 * HOUR)
    world.claim_at(hour(17.5))
    assert world.agenda == [
        "retry 13:00 #2 timed",
        "waiting 14:00..15:00 held",
        "waiting 16:00..17:00 held",
        "next 18:00 timed",
    ]


def test_waiting_run_of_a_backlog_blocks_the_next() -> None:
    world = backlog("replace")
    world.settle(Waiting(hour(20)))
    world.claim_at(hour(16))
    assert world.ledger == ["13:00 waiting"]


def test_cancelling_a_backlog_run_starts_the_next() -> None:
    world = backlog()
    world.cancel_run()
    world.settle(Cancelled())
    assert world.claim_all().ledger == ["13:00 cancelled cancelled", "14:00 running"]


def test_giving_up_records_what_was_still_queued() -> None:
    world = backlog(give_up_after=1)
    world.fail(permanent=True)
    assert world.ledger == ["13:00 failed target_failed", "14:00..15:00 x2 skipped cancelled"]
    assert world.state is TaskState.FAILED
    assert world.agenda == []


def test_the_last_repeats() -> None:
    world = World(Every(interval=HOUR, repeat=3), missed=Missed("all")).claim_at(hour(17.5))
    for _ in range(2):
        world.settle()
        world.claim_all()
    assert world.status.ended is None
    world.settle()
    assert world.ledger == ["13:00 succeeded", "14:00 succeeded", "15:00 succeeded"]
    assert world.state is TaskState.COMPLETED
