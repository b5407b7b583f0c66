"""Undo of a cancel: the same task, with its history, and its next instant after now."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import Conflict
from horae.lifecycle.control import control
from horae.lifecycle.control.restore import can_restore, restorable_change, restore_cancelled
from horae.model.change import Change
from horae.model.events.event import EventKind
from horae.model.outcome import Cancelled
from horae.model.task import Pause, PauseCause, TaskState
from horae.schedule import After, Every, Link, Once
from tests.unit.lifecycle.task_world import HOUR, World, hour

FROM_END = Every(interval=HOUR, since="end")


def cancelled(world: World) -> World:
    world.apply(control.cancel(world.facts, world.now))
    return world


def restore(world: World, before: Pause | None = None) -> World:
    assert world.status.ended is not None
    world.apply(restore_cancelled(world.facts, before, world.status.ended, world.now))
    return world


def code_of(world: World, before: Pause | None = None) -> str:
    with pytest.raises(Conflict) as refusal:
        restore(world, before)
    return refusal.value.code


def test_a_task_that_is_restored_at_once_is_as_it_was() -> None:
    world = World().at(hour(12.5))
    status, agenda, task = world.status, world.agenda, world.task
    restore(cancelled(world).at(hour(12.75)))
    assert (world.status, world.agenda, world.task, world.ledger) == (status, agenda, task, [])
    assert world.events[-1].kind is EventKind.TASK_RESUMED


def test_occurrences_that_passed_meanwhile_are_recorded_and_do_not_fire() -> None:
    world = restore(cancelled(World().at(hour(12.5))).at(hour(15.5)))
    assert world.ledger == ["13:00..15:00 x3 skipped cancelled"]
    assert world.agenda == ["next 16:00 timed"]


def test_what_the_cancel_recorded_is_not_recorded_again() -> None:
    world = restore(cancelled(World().at(hour(13.5))).at(hour(13.75)))
    assert world.ledger == ["13:00 skipped cancelled"]
    assert world.agenda == ["next 14:00 timed"]


def test_history_and_counts_stay() -> None:
    world = World(Every(interval=HOUR, repeat=3)).claim_at(hour(13))
    world.settle()
    restore(cancelled(world).at(hour(15.5)))
    assert world.status.counted == 1
    assert world.ledger == ["13:00 succeeded", "14:00..15:00 x2 skipped cancelled"]
    assert world.agenda == ["next 16:00 timed"]


def test_planned_occurrences_count_also_while_the_task_is_cancelled() -> None:
    world = restore(cancelled(World(Every(interval=HOUR, repeat=3, counting="planned"))).at(hour(14.5)))
    assert (world.status.counted, world.agenda) == (2, ["next 15:00 timed"])
    cancelled(world)
    assert code_of(world.at(hour(15.5))) == "nothing_to_restore"


def test_pause_before_the_cancel_is_restored() -> None:
    world = World().at(hour(12.25))
    world.pause(cause=PauseCause.AWAITING_APPROVAL, note="why", until=hour(20))
    before, agenda = world.status.pause, world.agenda
    restore(cancelled(world.at(hour(12.5))).at(hour(12.75)), before)
    assert (world.status.pause, world.agenda) == (before, agenda)
    assert world.events[-1].kind is EventKind.TASK_PAUSED


def test_pause_that_would_have_ended_meanwhile_is_over() -> None:
    world = World().at(hour(12.25))
    world.pause(until=hour(13.5))
    before = world.status.pause
    restore(cancelled(world).at(hour(14.25)), before)
    assert (world.state, world.agenda) == (TaskState.ACTIVE, ["next 15:00 timed"])


def test_single_occurrence_that_passed_is_not_restored() -> None:
    assert restore(cancelled(World(Once(at=hour(15)))).at(hour(14))).agenda == ["next 15:00 timed"]
    assert code_of(cancelled(World(Once(at=hour(15)))).at(hour(15.5))) == "nothing_to_restore"


def test_interval_from_the_end_keeps_its_instant() -> None:
    world = World(FROM_END).claim_at(hour(13))
    world.at(hour(13.25)).settle()
    restore(cancelled(world.at(hour(13.5))).at(hour(14)))
    assert world.agenda == ["next 14:15 timed"]
    restore(cancelled(world).at(hour(14.5)))
    assert world.agenda == ["next 15:30 timed"]
    assert world.ledger[1:] == ["14:15 skipped cancelled"]


def test_interval_from_the_end_waits_for_a_run_that_still_ends() -> None:
    world = World(FROM_END).claim_at(hour(13))
    restore(cancelled(world.at(hour(13.25))).at(hour(13.5)))
    assert world.agenda == []
    world.settle(Cancelled())
    assert world.agenda == ["next 14:30 timed"]


def test_task_that_was_changed_since_stays_as_it_is() -> None:
    world = World().at(hour(12.5))
    with pytest.raises(Conflict) as refusal:
        restore_cancelled(world.facts, None, world.now, world.now)
    assert refusal.value.code == "changed_since"
    cancelled(world)
    with pytest.raises(Conflict) as refusal:
        restore_cancelled(world.facts, None, world.now - timedelta(seconds=1), world.now)
    assert refusal.value.code == "changed_since"


def test_change_is_restorable_unless_it_changes_nothing_or_the_cancel_is_final() -> None:
    world = World().at(hour(12.5))
    cancel = control.cancel(world.facts, world.now)
    found = restorable_change("opn_1", world.facts, cancel)
    assert found is not None
    assert (found.cancelled, found.before) == (world.now, None)
    assert restorable_change("opn_1", world.facts, control.pause(world.facts, world.now)) is not None
    assert restorable_change("opn_1", world.facts, Change()) is None
    chained = world.facts._replace(task=world.task._replace(schedule=After((Link("tsk_0"),))))
    assert restorable_change("opn_1", chained, cancel) is None


def test_cancel_of_an_ended_or_chained_task_is_final() -> None:
    chained = After((Link("tsk_0"),))
    assert can_restore(Every(interval=HOUR), TaskState.ACTIVE)
    assert can_restore(Every(interval=HOUR), TaskState.PAUSED)
    assert not can_restore(Every(interval=HOUR), TaskState.FAILED)
    assert not can_restore(chained, TaskState.ACTIVE)
    world = cancelled(World())
    world.task = world.task._replace(schedule=chained)
    assert code_of(world) == "task_cancelled"
