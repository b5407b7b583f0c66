"""Routes: a node without the function strands the entry, which then runs once elsewhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.lifecycle.fire import park_unroutable
from horae.lifecycle.start import ClaimContext
from horae.model.change import NOTHING
from horae.model.entry import EntryKind, EntryState
from horae.model.lanes.route import function_route, kind_route
from horae.model.outcome import Waiting
from horae.model.policy import GUARANTEES, Missed
from horae.model.run import RunState
from horae.model.task import Target, TaskState
from horae.schedule import Every, Once
from tests.unit.lifecycle.task_world import CEILING, HOUR, MINUTE, NODE, NOON, SECOND, World, hour

HERE = function_route("")
"""Route of the function that a world's task calls."""


def claimant(world: World, *routes: str) -> ClaimContext:
    return ClaimContext(NODE, world.now, CEILING, frozenset(routes))


def waiting_at_the_door(**chosen: Any) -> World:
    world = World(**chosen).at(hour(13))
    world.strand()
    return world


def test_node_without_the_function_strands_the_entry_only() -> None:
    world = World().at(hour(13))
    (entry,) = world.due
    change = world.strand()
    assert change == NOTHING._replace(put=(entry._replace(state=EntryState.PARKED, lane=HERE),))
    assert (world.runs, world.due) == ({}, [])


def test_node_with_the_function_or_without_declared_routes_runs_it() -> None:
    world = World().at(hour(13))
    (entry,) = world.due
    assert park_unroutable(world.facts, entry, claimant(world, HERE, kind_route("http"))) is None
    assert park_unroutable(world.facts, entry, claimant(world)._replace(routes=None)) is None
    assert (
        park_unroutable(world.facts, entry, claimant(world, function_route("another"), kind_route("http"))) is not None
    )


def test_other_target_kinds_have_one_route_each() -> None:
    world = World().at(hour(13))
    world.edit(target=Target("http", '{"url":"https://example.org"}'))
    (entry,) = world.due
    assert park_unroutable(world.facts, entry, claimant(world, kind_route("http"))) is None
    change = park_unroutable(world.facts, entry, claimant(world, HERE))
    assert change is not None
    assert change.put[0].lane == kind_route("http")


def test_entries_without_target_are_decided_by_any_node() -> None:
    """The end of a pause, and the deadline of a waiting run."""
    paused = World()
    paused.pause(until=hour(13))
    paused.at(hour(13)).strand()
    assert paused.state is TaskState.ACTIVE
    handed_on = World().claim_at(hour(13))
    handed_on.settle(Waiting(hour(13) + MINUTE))
    handed_on.at(hour(13) + MINUTE).strand()
    assert [run.state for run in handed_on.runs.values()] == [RunState.TIMED_OUT]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_stranded_entry_runs_once_without_using_an_attempt(guarantee: str) -> None:
    world = waiting_at_the_door(schedule=Once(at=hour(13)), guarantee=guarantee)
    world.advance(5 * SECOND).admit().claim_all()
    run = world.live_run
    assert (run.attempt, run.forgiven, run.deaths, run.planned) == (1, 0, 0, hour(13))
    world.settle()
    assert (world.ledger, world.state) == (["13:00 succeeded"], TaskState.COMPLETED)


def test_instants_passed_while_stranded_fall_under_missed() -> None:
    world = waiting_at_the_door(missed=Missed("latest"))
    world.at(hour(15.5)).admit().claim_all()
    world.settle()
    assert world.ledger == ["13:00..14:00 x2 skipped merged", "15:00 succeeded"]


@pytest.mark.parametrize("kind", [EntryKind.RETRY, EntryKind.MANUAL, EntryKind.WAITING])
def test_every_entry_kind_is_stranded_and_runs_when_admitted(kind: EntryKind) -> None:
    world = World(overlap="queue").claim_at(hour(13))
    if kind is EntryKind.RETRY:
        world.fail()
    elif kind is EntryKind.MANUAL:
        world.settle()
        world.run_now()
    else:
        world.claim_at(hour(14))
        world.settle()
    (entry,) = world.queued(kind)
    world.now = max(world.now, entry.due)
    world.strand(entry)
    # The manual run was claimed in time and waits.
    waited = entry.waited or kind is EntryKind.MANUAL
    assert world.entries[entry.slot] == entry._replace(state=EntryState.PARKED, lane=HERE, waited=waited)
    world.admit().claim(world.entries[entry.slot])
    assert (world.live_run.planned, world.live_run.attempt) == (entry.planned, entry.attempt)


def test_pause_resume_and_cancel_apply_to_stranded_entries() -> None:
    world = waiting_at_the_door()
    world.pause()
    assert [entry.lane for entry in world.entries.values()] == [None]
    world.resume(missed="all")
    world.claim_all()
    assert world.live_run.planned == hour(13)
    gone = waiting_at_the_door()
    gone.cancel()
    assert gone.ledger == ["13:00 skipped cancelled"]


def test_free_lane_slot_does_not_unpark_stranded_entries() -> None:
    world = waiting_at_the_door(lane="press")
    world.others = 1
    world.fill_lane_slots()
    world.others = 0
    world.fill_lane_slots()
    assert [entry.state for entry in world.entries.values()] == [EntryState.PARKED]


nodes = st.lists(st.tuples(st.booleans(), st.integers(0, 90)), max_size=30)
"""Who looks next: a node that can run it, or one that cannot; and how many minutes later."""


@settings(max_examples=200, deadline=None)
@given(nodes, st.sampled_from(GUARANTEES), st.sampled_from(["skip", "latest", "all", "merge"]), st.booleans())
def test_mixed_nodes_attempt_every_occurrence_once(
    looks: list[tuple[bool, int]],
    guarantee: str,
    mode: Any,
    once: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    schedule = Once(at=hour(13)) if once else Every(interval=HOUR)
    missed = Missed(mode, None, 100)
    world = World(schedule, guarantee=guarantee, missed=missed, overlap="queue_all")
    for able, minutes in looks:
        world.advance(timedelta(minutes=minutes))
        while world.due:
            if able:
                world.admit().claim()
            else:
                world.strand()
        while able and world.live:
            world.settle(run=world.live[0])
            world.claim_all()
    assert all(run.attempt == 1 for run in world.runs.values()), "an attempt was wasted"
    world.admit().claim_all()
    while world.live:
        world.settle(run=world.live[0])
        world.claim_all()
    shown = [] if world.now < hour(13) else [world.status.counted, *world.ledger]
    planned = 0 if world.now < hour(13) else 1 if once else int((world.now - NOON) / HOUR)
    assert sum(1 if run.span is None else run.span.count for run in world.runs.values()) >= planned, shown
    covered = {run.planned for run in world.runs.values()}
    assert once is False or covered == ({hour(13)} if planned else set())


def test_edit_of_the_target_unparks_stranded_entries() -> None:
    """No node ever has the route of a misspelt function."""
    world = waiting_at_the_door()
    world.edit(target=Target("function", '{"name":"other"}'))
    assert [(entry.state, entry.lane) for entry in world.entries.values()] == [(EntryState.TIMED, None)]
    world.routes = frozenset({function_route("other")})
    world.claim()
    assert world.live_run.planned == hour(13)


def test_other_edits_keep_entries_stranded() -> None:
    world = waiting_at_the_door()
    world.edit(name="another", lane="press", payload="[]")
    assert [(entry.state, entry.lane) for entry in world.entries.values()] == [(EntryState.PARKED, HERE)]
