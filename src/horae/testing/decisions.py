"""Minimal decisions for store tests, each with one fixed effect, in place of the lifecycle's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NoReturn

from ..lifecycle.lanes.idle import request_yields
from ..lifecycle.start import count_reparks, full_lane
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
    """Raised by a failing decision."""


def decide_start(
    *, node: str = NODE, at: datetime = NOON, state: RunState = RunState.RUNNING, again: timedelta | None = None
) -> FireDecision:
    """Start every entry as a live run in all its lanes, full or not; with `again`, reschedule it by that much."""

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
        change = Change(new_runs=(run,), events=(_event(EventKind.RUN_STARTED, run, at),))
        if again is None:
            return change._replace(dropped=(entry.slot,))
        later = entry._replace(due=entry.due + again, planned=entry.planned + again, state=EntryState.TIMED)
        return change._replace(put=(later,))

    return decide


start_everything: FireDecision = decide_start()


def start_within_lanes(*, node: str = NODE, at: datetime = NOON) -> FireDecision:
    """Start entries whose lanes all have a free slot, and park the rest."""
    start = decide_start(node=node, at=at)

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        lane = full_lane(facts, entry)
        if lane is not None:
            parked = entry._replace(state=EntryState.PARKED, lane=lane, waited=True, reparks=count_reparks(entry))
            return request_yields(facts, Change(put=(parked,)), at)
        return start(facts, entry, token)

    return decide


def park_on(lane: str) -> FireDecision:
    return lambda _, entry, __: Change(put=(entry._replace(state=EntryState.PARKED, lane=lane),))


def postpone(by: timedelta) -> FireDecision:
    """Move the due instant of the entry, and nothing else."""
    return lambda _, entry, __: Change(put=(entry._replace(due=entry.due + by),))


def drop(_: Facts, entry: Entry, __: int) -> Change:
    """Drop the entry without a run."""
    return Change(dropped=(entry.slot,))


def skip(facts: Facts, entry: Entry, token: int) -> Change:
    """Write a skipped run with its reason."""
    change = start_everything(facts, entry, token)
    row = change.new_runs[0]._replace(
        state=RunState.SKIPPED, reason=Reason.OVERLAP, node=None, started=None, ended=NOON, lanes=()
    )
    return change._replace(new_runs=(row,), events=(_event(EventKind.RUN_SKIPPED, row, NOON),))


def ignore_entry(_: Facts, __: Entry, ___: int) -> Change:
    """Return no change for the due entry: an error that a store must refuse."""
    return Change()


def fail(*_: object) -> NoReturn:
    """Raise PlannedFailure."""
    raise PlannedFailure


def fail_at_call(number: int, decide: FireDecision = start_everything) -> FireDecision:
    """Decide with `decide`, but fail at call `number`."""
    calls = 0

    def decide_or_fail(facts: Facts, entry: Entry, token: int) -> Change:
        nonlocal calls
        calls += 1
        return fail() if calls == number else decide(facts, entry, token)

    return decide_or_fail


def succeed(facts: Facts, run: Run, report: Settlement) -> Change:
    """End the run as succeeded; complete the task if nothing else is left."""
    result = report.outcome.result if isinstance(report.outcome, Succeeded) else None
    ended = run._replace(state=RunState.SUCCEEDED, ended=report.ended, result_json=result)
    return _end_run(facts, ended, report.ended, EventKind.RUN_SUCCEEDED)


def lose_at(*, at: datetime = NOON + SECOND) -> RunDecision:
    """End the run as lost, without a retry."""

    def decide(facts: Facts, run: Run) -> Change:
        lost = run._replace(state=RunState.LOST, reason=Reason.LEASE_LOST, ended=at)
        return _end_run(facts, lost, at, EventKind.RUN_LOST)

    return decide


lose: RunDecision = lose_at()


def always(change: Change) -> ControlDecision:
    """Return `change` for any facts."""
    return lambda _: change


def request_cancel(runs: Sequence[Run], reason: Reason = Reason.CANCELLED) -> ControlDecision:
    return always(Change(cancelled=tuple((run.id, reason) for run in runs)))


def _end_run(facts: Facts, run: Run, at: datetime, kind: EventKind) -> Change:
    is_over = not facts.entries and len(facts.live) == 1
    status = TaskStatus(TaskState.COMPLETED, facts.status.counted + 1, last_end=at, ended=at) if is_over else None
    return Change(updated_runs=(run,), status=status, events=(_event(kind, run, at),))


def _event(kind: EventKind, run: Run, at: datetime) -> Event:
    return Event(kind, at, run.owner, run.task_id, run.id)
