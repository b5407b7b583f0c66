"""Start of a run: builds its row with fencing token and lanes, and checks lane limits."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..model.change import Facts
from ..model.entry import MAX_REPARKS, Entry
from ..model.events.event import Event, EventKind
from ..model.ids import run_id
from ..model.route import is_route
from ..model.run import Run, RunState

# Every run is built here; tuple.__new__ takes a third of the time of a call with that many arguments.
_new: Final = tuple.__new__
DEATHS_BEFORE_ISOLATION: Final = 2
"""After this number of process deaths a run is isolated in a child process."""


class ClaimContext(NamedTuple):
    """Context of a claim: the node, the instant, and the poll ceiling beyond which an occurrence counts as missed.

    `routes` are the routes that this node can run, `labels` those that it has; None: all.
    """

    node: str
    now: datetime
    poll_ceiling: timedelta
    routes: frozenset[str] | None = None
    labels: frozenset[tuple[str, str]] | None = None


def new_run(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Run:
    """Return the new run: `claimed` under `at_most_once`, whose start is a separate write; else `running`."""
    task = facts.task
    at_most_once = task.policies.guarantee == "at_most_once"
    values = (
        run_id(task.id, entry.origin, entry.planned, entry.attempt),
        task.id,
        task.owner,
        entry.origin,
        entry.planned,
        entry.due,
        entry.attempt,
        RunState.CLAIMED if at_most_once else RunState.RUNNING,
        None,
        token,
        claim.node,
        claim.now,
        None if at_most_once else claim.now,
        None,
        None,
        entry.span,
        entry.forgiven,
        entry.deaths,
        entry.deaths >= DEATHS_BEFORE_ISOLATION,
        entry.in_order,
        None,
        tuple(lane.name for lane in facts.lanes) if facts.lanes else (),
        None,
        None,
        entry.input,
        entry.chain,
    )
    return _new(Run, values)


def started_event(run: Run, at: datetime) -> Event:
    return _new(Event, (EventKind.RUN_STARTED, at, run.owner, run.task_id, run.id, None))


def full_lane(facts: Facts, entry: Entry) -> str | None:
    """Return the first lane in which there is no slot for the entry; None when it can start.

    A full lane comes before one whose free slots are kept for others. An entry that was parked again too often waits for
    full lanes alone.
    """
    for lane in facts.lanes:
        if lane.is_full:
            return lane.name
    if entry.reparks >= MAX_REPARKS:
        return None
    for lane in facts.lanes:
        if lane.is_taken and lane.name != entry.lane:
            return lane.name
    return None


def count_reparks(entry: Entry) -> int:
    """Return how often an entry that is parked now was parked again: it was unparked for a slot of `entry.lane`, unless
    that is the queue of its route."""
    return min(MAX_REPARKS, entry.reparks + (entry.lane is not None and not is_route(entry.lane)))
