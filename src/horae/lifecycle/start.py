"""A run is born: its row, its seats in lanes, its token."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..model.change import Facts
from ..model.entry import Entry
from ..model.events.event import Event, EventKind
from ..model.ids import run_id
from ..model.run import Run, RunState

# Every run is made here: without the call of a function with that many arguments it takes a third of the time.
_new: Final = tuple.__new__
DEATHS_BEFORE_ALONE: Final = 2
"""A run whose process died so often goes alone in a child process."""


class Claimant(NamedTuple):
    """Who claims, at which instant, and how late is late: beyond the poll ceiling an occurrence was missed.

    `routes` are the doors whose targets this node can run; None: all of them.
    """

    node: str
    now: datetime
    poll_ceiling: timedelta
    routes: frozenset[str] | None = None


def born(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Run:
    """`at_most_once` is claimed first and started by a write of its own; everything else runs from here."""
    task = facts.task
    careful = task.policies.guarantee == "at_most_once"
    values = (
        run_id(task.id, entry.origin, entry.planned, entry.attempt),
        task.id,
        task.owner,
        entry.origin,
        entry.planned,
        entry.due,
        entry.attempt,
        RunState.CLAIMED if careful else RunState.RUNNING,
        None,
        token,
        claim.node,
        claim.now,
        None if careful else claim.now,
        None,
        None,
        entry.span,
        entry.forgiven,
        entry.deaths,
        entry.deaths >= DEATHS_BEFORE_ALONE,
        entry.in_order,
        None,
        tuple(lane.name for lane in facts.lanes) if facts.lanes else (),
        None,
        None,
    )
    return _new(Run, values)


def started(run: Run, at: datetime) -> Event:
    return _new(Event, (EventKind.RUN_STARTED, at, run.owner, run.task_id, run.id, None))


def full_lane(facts: Facts) -> str | None:
    """The first of its lanes that has no seat left."""
    for lane in facts.lanes:
        if lane.full:
            return lane.name
    return None
