"""Small decisions for tests of stores: each says one thing plainly, where the product's own would weigh many."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NoReturn

from ..model.change import Change, ControlDecision, Facts, FireDecision, RunDecision
from ..model.entry import Entry, EntryState
from ..model.events.event import Event, EventKind
from ..model.ids import run_id
from ..model.outcome import Settlement, Succeeded
from ..model.reason import Reason
from ..model.run import Run, RunState
from ..model.task import TaskState, TaskStatus
from .factories import NODE, NOON, SECOND


class PlannedFailure(Exception):  # noqa: N818 - it is planned
    """What a failing decision raises."""


def starting(
    *, node: str = NODE, at: datetime = NOON, state: RunState = RunState.RUNNING, again: timedelta | None = None
) -> FireDecision:
    """Every entry becomes a live run in all its lanes, full or not; with `again` it comes back so much later."""

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        run = Run(
            id=run_id(facts.task.id, entry.origin, entry.planned, entry.attempt),
            task_id=facts.task.id,
            owner=facts.task.owner,
            origin=entry.origin,
            planned=entry.planned,
            due=entry.due,
            attempt=entry.attempt,
            state=state,
            token=token,
            node=None if state is RunState.WAITING else node,
            claimed=at,
            started=None if state is RunState.CLAIMED else at,
            lanes=tuple(lane.name for lane in facts.lanes),
        )
        change = Change(new_runs=(run,), events=(_told(EventKind.RUN_STARTED, run, at),))
        if again is None:
            return change._replace(dropped=(entry.slot,))
        later = entry._replace(due=entry.due + again, planned=entry.planned + again, state=EntryState.TIMED)
        return change._replace(put=(later,))

    return decide


start_everything: FireDecision = starting()


def seating(*, node: str = NODE, at: datetime = NOON) -> FireDecision:
    """Starts what finds a seat in every one of its lanes, and parks the rest."""
    start = starting(node=node, at=at)

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        for lane in facts.lanes:
            if lane.is_full:
                return Change(put=(entry._replace(state=EntryState.PARKED, lane=lane.name, waited=True),))
        return start(facts, entry, token)

    return decide


def park_on(lane: str) -> FireDecision:
    return lambda _, entry, __: Change(put=(entry._replace(state=EntryState.PARKED, lane=lane),))


def postpone(by: timedelta) -> FireDecision:
    """The entry comes due later, as it stands."""
    return lambda _, entry, __: Change(put=(entry._replace(due=entry.due + by),))


def drop(_: Facts, entry: Entry, __: int) -> Change:
    """The entry leaves the agenda, and nothing comes of it."""
    return Change(dropped=(entry.slot,))


def skip(facts: Facts, entry: Entry, token: int) -> Change:
    """A row that says why there was no run."""
    change = start_everything(facts, entry, token)
    row = change.new_runs[0]._replace(
        state=RunState.SKIPPED, reason=Reason.OVERLAP, node=None, started=None, ended=NOON, lanes=()
    )
    return change._replace(new_runs=(row,), events=(_told(EventKind.RUN_SKIPPED, row, NOON),))


def overlook(_: Facts, __: Entry, ___: int) -> Change:
    """Says nothing of the entry that came due: a mistake that a store must not let pass."""
    return Change()


def fail(*_: object) -> NoReturn:
    """A decision that cannot decide."""
    raise PlannedFailure


def failing_at(number: int, decide: FireDecision = start_everything) -> FireDecision:
    """Decides well until it is asked for the so-manieth time."""
    asked = 0

    def decide_or_fail(facts: Facts, entry: Entry, token: int) -> Change:
        nonlocal asked
        asked += 1
        return fail() if asked == number else decide(facts, entry, token)

    return decide_or_fail


def succeed(facts: Facts, run: Run, report: Settlement) -> Change:
    """The run succeeded; a task of which nothing is left is completed."""
    result = report.outcome.result if isinstance(report.outcome, Succeeded) else None
    ended = run._replace(state=RunState.SUCCEEDED, ended=report.ended, result_json=result)
    return _ended(facts, ended, report.ended, EventKind.RUN_SUCCEEDED)


def losing(*, at: datetime = NOON + SECOND) -> RunDecision:
    """The run is lost, and nothing is tried again."""

    def decide(facts: Facts, run: Run) -> Change:
        lost = run._replace(state=RunState.LOST, reason=Reason.LEASE_LOST, ended=at)
        return _ended(facts, lost, at, EventKind.RUN_LOST)

    return decide


lose: RunDecision = losing()


def saying(change: Change) -> ControlDecision:
    """Whatever the facts are: this."""
    return lambda _: change


def cancelling(runs: Sequence[Run], reason: Reason = Reason.CANCELLED) -> ControlDecision:
    return saying(Change(cancelled=tuple((run.id, reason) for run in runs)))


def _ended(facts: Facts, run: Run, at: datetime, kind: EventKind) -> Change:
    over = not facts.entries and len(facts.live) == 1
    standing = TaskStatus(TaskState.COMPLETED, facts.status.counted + 1, last_end=at, ended=at) if over else None
    return Change(updated_runs=(run,), status=standing, events=(_told(kind, run, at),))


def _told(kind: EventKind, run: Run, at: datetime) -> Event:
    return Event(kind, at, run.owner, run.task_id, run.id)
