"""Failure notices: one when a task is failing, one when it has recovered, once per incident."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from horae.lifecycle.fast_path import fast_settlement
from horae.model.events.event import EventKind
from horae.model.outcome import Cancelled, Failed, Outcome, Settlement, Skipped, Succeeded, TimedOut
from horae.model.policy import Policies, RetryPolicy, from_json, to_json
from horae.model.run import Origin
from horae.model.task import TaskState
from tests.unit.lifecycle.task_world import HOUR, SECOND, World, hour

NOTICES = {EventKind.TASK_FAILING: "failing", EventKind.TASK_RECOVERED: "recovered"}
ENDS: dict[str, Outcome] = {
    "F": Failed("no"),
    "T": TimedOut(),
    "S": Succeeded(),
    "C": Cancelled(),
    "K": Skipped(),
}


def a_world(**policies: Any) -> World:
    return World(retry=RetryPolicy(attempts=1), **{"give_up_after": None, **policies})


def lived(world: World, ends: str) -> World:
    for end in ends:
        if world.next is not None:
            world.claim_at(world.next.due)
            world.advance(SECOND).settle(ENDS[end])
    return world


def notices(world: World) -> list[str]:
    return [NOTICES[event.kind] for event in world.events if event.kind in NOTICES]


@pytest.mark.parametrize(
    ("after", "ends", "expected"),
    [
        (3, "FF", []),
        (3, "FFF", ["failing"]),
        (3, "FFFFFFFF", ["failing"]),
        (3, "FFSFF", []),
        (3, "FFFS", ["failing", "recovered"]),
        (3, "FFFSSS", ["failing", "recovered"]),
        (3, "FTFFSFFFFS", ["failing", "recovered", "failing", "recovered"]),
        (3, "FCFKF", ["failing"]),
        (3, "FFFCKF", ["failing"]),
        (1, "F", ["failing"]),
        (1, "FSFS", ["failing", "recovered"] * 2),
        (0, "FFFFFFS", []),
    ],
)
def test_once_per_incident(after: int, ends: str, expected: list[str]) -> None:
    assert notices(lived(a_world(notify_after=after), ends)) == expected


def test_the_default_is_three() -> None:
    assert World().task.policies.notify_after == 3
    assert notices(lived(a_world(), "FFF")) == ["failing"]


def test_notice_has_the_reason_and_the_run() -> None:
    world = lived(a_world(notify_after=1), "T")
    ended, notice = world.events[-2:]
    assert (ended.kind, notice.kind) == (EventKind.RUN_TIMED_OUT, EventKind.TASK_FAILING)
    assert (notice.detail, notice.run_id, notice.at) == ("deadline", ended.run_id, ended.at)


def test_retried_attempt_is_no_failed_occurrence() -> None:
    world = World(retry=RetryPolicy(attempts=3), notify_after=1, give_up_after=None).claim_at(hour(13))
    world.fail()
    assert notices(world) == []


def test_a_run_that_was_lost_for_good_counts_too() -> None:
    world = a_world(notify_after=1, guarantee="at_most_once").claim_at(hour(13))
    world.start(world.live_run)
    world.lose()
    assert notices(world) == ["failing"]


def test_give_up_event_follows_the_notice() -> None:
    world = lived(a_world(notify_after=2, give_up_after=2), "FF")
    assert [event.kind for event in world.events[-2:]] == [EventKind.TASK_FAILING, EventKind.TASK_FAILED]
    assert world.state is TaskState.FAILED


def test_resuming_a_failed_task_ends_the_incident() -> None:
    world = lived(a_world(notify_after=2, give_up_after=2), "FF")
    world.resume()
    lived(world, "S")
    assert notices(world) == ["failing"]
    lived(world, "FF")
    assert notices(world) == ["failing", "failing"]


def test_manual_success_is_a_recovery() -> None:
    world = lived(a_world(notify_after=2), "FF")
    world.run_now()
    world.claim()
    assert world.live_run.origin is Origin.MANUAL
    world.settle(Succeeded())
    assert notices(world) == ["failing", "recovered"]


@pytest.mark.parametrize(
    ("ends", "before", "after", "expected"),
    [
        ("FF", 3, 2, ["failing"]),
        ("FF", 0, 1, ["failing"]),
        ("FF", 2, 5, ["failing", "recovered"]),
        ("FF", 2, 0, ["failing", "recovered"]),
        ("FF", 2, 1, ["failing"]),
        ("FF", 5, 9, []),
    ],
)
@pytest.mark.parametrize("rescheduled", [False, True])
def test_an_edit_that_moves_the_bound_begins_or_ends_an_incident(
    ends: str,
    before: int,
    after: int,
    expected: list[str],
    rescheduled: bool,  # noqa: FBT001
) -> None:
    world = lived(a_world(notify_after=before), ends)
    fields: dict[str, Any] = {"policies": replace(world.task.policies, notify_after=after)}
    if rescheduled:
        fields["schedule"] = replace(world.task.schedule, interval=2 * HOUR)  # type: ignore[call-arg]
    world.edit(**fields)
    assert notices(world) == expected
    lived(world, "S")
    assert notices(world) == (expected if expected[-1:] != ["failing"] else [*expected, "recovered"])


def test_recovery_does_not_take_the_fast_path() -> None:
    world = lived(a_world(notify_after=2), "FF").claim_at(hour(15))
    run = world.live_run
    report = Settlement(run.id, run.token, Succeeded(), None, hour(15) + SECOND)
    assert fast_settlement(world.facts, run, report) is None


def test_triggered_topic_is_written_as_event() -> None:
    world = World().claim_at(hour(13))
    run = world.live_run
    world.settle(Succeeded('"done"', triggered_topic="garden.thirsty"))
    kinds = [event.kind for event in world.events[-2:]]
    assert kinds == [EventKind.TASK_TRIGGERED, EventKind.RUN_SUCCEEDED]
    assert (world.events[-2].detail, world.events[-2].run_id) == ("garden.thirsty", run.id)


def test_stored_policies_without_notify_after_have_the_default() -> None:
    kept = to_json(Policies(notify_after=7))
    assert from_json(kept).notify_after == 7
    del kept["notify_after"]
    assert from_json(kept).notify_after == 3
