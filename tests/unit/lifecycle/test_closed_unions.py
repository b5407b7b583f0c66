"""Dispatch over closed unions: the type checker sees completeness, and an unknown member raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from horae.lifecycle.control import control
from horae.lifecycle.due_backlog import compute_due_backlog
from horae.lifecycle.event_rows import skip_rows
from horae.lifecycle.fire import fire
from horae.lifecycle.missed import plan_catch_up
from horae.lifecycle.overlap import decide_overlap
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.entry import Entry, EntryKind
from horae.model.outcome import Settlement
from horae.model.policy import Missed, Policies
from horae.model.reason import Reason
from tests.unit.lifecycle.task_world import CEILING, NODE, World, hour


def strange(value: Any, **fields: Any) -> Any:
    """A frozen value as no caller could build it."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)
    return value


def entry_of(**fields: Any) -> tuple[World, Entry]:
    world = World().at(hour(13))
    assert world.next is not None
    return world, world.next._replace(**fields)


def a_kind_of_entry() -> object:
    world, entry = entry_of(kind="stranger")
    return fire(world.facts, entry, 1, ClaimContext(NODE, world.now, CEILING))


def an_origin() -> object:
    world, entry = entry_of(origin="stranger", kind=EntryKind.MANUAL)
    return fire(world.facts, entry, 1, ClaimContext(NODE, world.now, CEILING))


def a_kind_of_entry_that_leaves() -> object:
    world, entry = entry_of(kind="stranger")
    return skip_rows(world.facts, (entry,), Reason.CANCELLED, world.now)


def an_overlap() -> object:
    world, entry = entry_of()
    facts = world.facts._replace(task=world.task._replace(policies=strange(Policies(), overlap="stranger")))
    return decide_overlap(facts, entry)


def a_missed_mode() -> object:
    world = World()
    return plan_catch_up(
        strange(Missed(), mode="stranger"),
        compute_due_backlog(world.task, world.status, hour(13), hour(14)),
        hour(14),
        None,
    )


def an_outcome() -> object:
    world = World().claim_at(hour(13))
    outcome: Any = ("stranger",)
    return settle(world.facts, world.live_run, Settlement(world.live_run.id, 1, outcome, None, world.now))


def a_state() -> object:
    world = World()
    state: Any = "stranger"
    return control.resume(world.facts._replace(status=world.status._replace(state=state)), world.now)


@pytest.mark.parametrize(
    "dispatch",
    [a_kind_of_entry, an_origin, a_kind_of_entry_that_leaves, an_overlap, a_missed_mode, an_outcome, a_state],
)
def test_unknown_union_member_raises(dispatch: Callable[[], object]) -> None:
    with pytest.raises(AssertionError, match="stranger"):
        dispatch()
