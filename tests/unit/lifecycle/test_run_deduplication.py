"""Run deduplication: an instant that comes due a second time has no second run, and nothing waits for one."""

from __future__ import annotations

from horae.model.events.event import EventKind
from horae.model.policy import Missed
from horae.model.task import TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour

AT_ONE = Once(at=hour(13))
AFTER_END = Every(interval=HOUR, since="end")


def back_at_noon(world: World) -> World:
    """A run at 13:00; then the clock is set back, and the same instant is planned again."""
    world.claim_at(hour(13)).settle()
    return world.set_back(hour(12) + MINUTE)


def test_once_task_with_an_executed_instant_completes() -> None:
    world = back_at_noon(World(AT_ONE))
    assert world.state is TaskState.COMPLETED
    world.edit(schedule=Once(at=hour(14)))
    world.edit(schedule=AT_ONE)
    assert (world.state, world.agenda) == (TaskState.ACTIVE, ["next 13:00 timed"])
    earlier_events = len(world.events)
    world.claim_at(hour(13))
    assert world.ledger == ["13:00 succeeded"]
    assert (world.state, world.agenda) == (TaskState.COMPLETED, [])
    assert [event.kind for event in world.events[earlier_events:]] == [EventKind.TASK_COMPLETED]
    world.edit(schedule=Once(at=hour(15)))
    world.claim_at(hour(15))
    assert world.ledger == ["13:00 succeeded", "15:00 running"]


def test_recurring_task_continues_with_the_next_instant() -> None:
    world = back_at_noon(World())
    world.edit(schedule=Every(interval=HOUR / 2))
    world.claim_at(hour(12.5)).settle()
    world.claim_at(hour(13))
    assert world.ledger == ["12:30 succeeded", "13:00 succeeded"]
    assert (world.state, world.agenda) == (TaskState.ACTIVE, ["next 13:30 timed"])


def test_from_end_task_counts_from_the_claim() -> None:
    world = back_at_noon(World(AFTER_END))
    world.edit(schedule=Every(interval=59 * MINUTE, since="end"))
    world.claim_at(hour(13))
    assert world.ledger == ["13:00 succeeded"]
    assert world.agenda == ["next 13:59 timed"]


def test_existing_run_writes_no_event() -> None:
    world = World()
    world.skip_next(1)
    world.claim_at(hour(13))
    world.set_back(hour(12) + MINUTE).edit(schedule=Every(interval=HOUR / 2))
    world.claim_at(hour(12.5)).settle()
    world.skip_next(1)
    earlier_events = len(world.events)
    world.claim_at(hour(13))
    assert world.ledger == ["12:30 succeeded", "13:00 skipped skip_requested"]
    assert world.events[earlier_events:] == []


def test_existing_run_holds_no_backlog() -> None:
    """The first of the backlog has run already, so the others must not be held behind it."""
    world = back_at_noon(World(missed=Missed("all")))
    world.edit(schedule=Every(interval=HOUR / 2))
    world.at(hour(12.5)).claim_all()
    world.settle()
    world.at(hour(14.25)).claim_all()
    while world.live:
        world.settle()
        world.claim_all()
    assert world.ledger == [f"{each} succeeded" for each in ("12:30", "13:00", "13:30", "14:00")]
    assert world.agenda == ["next 14:30 timed"]
