"""Start of a run: builds its row with fencing token and lanes, and checks lane limits."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ..model.change import Facts
from ..model.entry import MAX_REPARKS, Entry
from ..model.events.event import Event, EventKind
from ..model.ids import run_id
from ..model.lanes.lane import LaneUse
from ..model.lanes.route import is_route
from ..model.policy import Policies
from ..model.run import Origin, Run, RunState

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


class RunTemplate(NamedTuple):
    """A new run without its ids and instants: runs of one claim may share it."""

    owner: str
    origin: Origin
    attempt: int
    rest: tuple[Any, ...]
    """The fields of a run from `state` on."""


def new_run(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Run:
    """Return the new run of an entry."""
    template = run_template(facts.task.owner, facts.task.policies, facts.lanes, entry, token, claim)
    return run_of(template, facts.task.id, entry.planned, entry.due)


def run_of(template: RunTemplate, task_id: str, planned: datetime, due: datetime) -> Run:
    owner, origin, attempt, rest = template
    run = run_id(task_id, origin, planned, attempt)
    return _new(Run, (run, task_id, owner, origin, planned, due, attempt) + rest)  # noqa: RUF005 - half the time of `*rest`


def run_template(
    owner: str, policies: Policies, lanes: tuple[LaneUse, ...], entry: Entry, token: int, claim: ClaimContext
) -> RunTemplate:
    """Return what does not depend on the ids and instants of a new run: it is `claimed` under `at_most_once`, whose start is
    a separate write; else `running`."""
    now, at_most_once = claim.now, policies.guarantee == "at_most_once"
    (
        _, _, _, _, _, _, _, _, origin, attempt, forgiven, deaths, _, span, _, in_order, _, _, given, chain, _,
    ) = entry[:]  # fmt: skip # field by field takes twice as long
    rest = (
        RunState.CLAIMED if at_most_once else RunState.RUNNING,
        None,
        token,
        claim.node,
        now,
        None if at_most_once else now,
        None,
        None,
        span,
        forgiven,
        deaths,
        deaths >= DEATHS_BEFORE_ISOLATION,
        in_order,
        None,
        tuple(lane.name for lane in lanes) if lanes else (),
        None,
        None,
        given,
        chain,
    )
    return _new(RunTemplate, (owner, origin, attempt, rest))


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
