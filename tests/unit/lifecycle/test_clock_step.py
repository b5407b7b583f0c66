"""Interval tasks after the wall clock was set back."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from horae.lifecycle.clock_step import replan_after_clock_step
from horae.model.change import Change
from horae.model.events.event import EventKind
from horae.model.outcome import Succeeded
from horae.schedule import AnyOf, Cron, Every, Once, Schedule
from tests.unit.lifecycle.task_world import HOUR, MINUTE, World, hour

MICROSECOND = timedelta(microseconds=1)


def ran_until(schedule: Schedule, *instants: datetime) -> World:
    world = World(schedule)
    for at in instants:
        world.claim_at(at)
        world.settle(Succeeded())
    return world


def followed(world: World, now: datetime) -> Change:
    return replan_after_clock_step(world.facts, now)


def test_grid_goes_on_in_its_phase_on_instants_that_no_run_has_had() -> None:
    world = ran_until(Every(interval=HOUR), hour(13), hour(14), hour(15))
    change = followed(world, hour(12.5))
    assert change.task is not None
    assert [entry.planned for entry in change.put] == [hour(13) + MICROSECOND]
    assert change.task.schedule.start == hour(13) + MICROSECOND
    assert change.task.version == world.facts.task.version + 1
    assert [event.kind for event in change.events] == [EventKind.TASK_REPLANNED]


def test_grid_that_was_moved_is_moved_again_by_the_next_step() -> None:
    world = ran_until(
        Every(interval=HOUR, start=hour(13) + MICROSECOND), hour(13) + MICROSECOND, hour(14) + MICROSECOND
    )
    assert [entry.planned for entry in followed(world, hour(12.5)).put] == [hour(13) + 2 * MICROSECOND]


def test_task_that_was_made_ahead_of_the_clock_is_not_silent() -> None:
    assert [entry.planned for entry in followed(World(Every(interval=HOUR)), hour(8.5)).put] == [hour(9) + MICROSECOND]


@pytest.mark.parametrize("last", [hour(13), None])
def test_interval_from_the_end_counts_from_now(last: datetime | None) -> None:
    schedule = Every(interval=HOUR, since="end")
    world = World(schedule) if last is None else ran_until(schedule, last)
    change = followed(world, hour(11) + MINUTE)
    assert change.status is not None
    assert change.status.last_end == hour(11) + MINUTE
    assert [entry.planned for entry in change.put] == [hour(12) + MINUTE]


@pytest.mark.parametrize(
    ("schedule", "now"),
    [
        (Every(interval=HOUR), hour(14.5)),
        (Every(interval=HOUR), hour(14) + MINUTE),
        (Every(interval=HOUR, since="end"), hour(14.5)),
        (Cron(expression="0 * * * *", zone="UTC"), hour(12.5)),
    ],
)
def test_nothing_moves_without_a_step_and_nothing_that_follows_the_wall_clock(
    schedule: Schedule, now: datetime
) -> None:
    assert followed(ran_until(schedule, hour(13), hour(14)), now) == Change()


def test_start_in_the_future_is_kept() -> None:
    assert followed(World(Every(interval=HOUR, start=hour(20))), hour(12)) == Change()


def test_task_without_a_next_occurrence_is_left_alone() -> None:
    world = ran_until(Every(interval=HOUR), hour(13))
    world.pause()
    assert followed(world, hour(10)) == Change()
    assert followed(World(Once(at=hour(13))), hour(10)) == Change()


def test_list_with_an_interval_waits_for_the_clock() -> None:
    """Its other schedules have used the instants of the wall clock, as those of a cron have been."""
    world = ran_until(AnyOf((Every(interval=HOUR), Cron("30 * * * *")), zone="UTC"), hour(12.5), hour(13), hour(13.5))
    assert followed(world, hour(12.25)) == Change()
