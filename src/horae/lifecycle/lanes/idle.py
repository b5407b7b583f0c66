"""Idle runs: which of them are asked to yield when an entry of higher priority, or of another owner, waits in their lane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ...model.change import Change, Facts
from ...model.entry import EntryState
from ...model.events.event import Event, EventKind
from ...model.lanes.idle import IdleRun, Waiter, YieldKind
from ...model.run import Run


def yield_kind(idle: IdleRun, waiter: Waiter) -> YieldKind | None:
    """Return why an idle run should yield to an entry that waits in its lane; None: it need not."""
    if waiter.priority > idle.priority:
        return YieldKind.HIGHER_PRIORITY
    return YieldKind.OTHER_OWNER if waiter.owner != idle.owner else None


def request_yields(facts: Facts, change: Change, now: datetime) -> Change:
    """Add requests to the idle runs in whose lane the change parks an entry. A run is asked once while it is idle."""
    if not any(lane.idle for lane in facts.lanes):
        return change
    idle_runs = {lane.name: lane.idle for lane in facts.lanes}
    asked: list[IdleRun] = []
    for entry in change.put:
        if entry.state is EntryState.PARKED and entry.lane is not None:
            waiters = (Waiter(entry.owner, entry.priority),)
            asked += _ask(idle_runs.get(entry.lane, ()), waiters)
    if not asked:
        return change
    events = (*change.events, *(_event(run, now) for run in asked))
    return change._replace(idle_runs=(*change.idle_runs, *asked), events=events)


def declare_idle(facts: Facts, run: Run, since: datetime, waiting: Mapping[str, Sequence[Waiter]]) -> Change:
    """Return the change that records a run as idle in all its lanes, asked to yield where an entry waits already.

    `waiting` are the entries that wait, by lane.
    """
    idle = [
        IdleRun(lane, run.id, run.task_id, run.owner, facts.task.policies.priority, run.node or "", since, place)
        for place, lane in enumerate(run.lanes)
    ]
    asked = {each.lane: each for lane in idle for each in _ask((lane,), waiting.get(lane.lane, ()))}
    events = tuple(_event(each, since) for each in asked.values())
    return Change(idle_runs=tuple(asked.get(each.lane, each) for each in idle), events=events[:1])


def _ask(idle_runs: Iterable[IdleRun], waiters: Sequence[Waiter]) -> list[IdleRun]:
    """Return those idle runs that were not asked and should yield to one of the waiters, with the reason."""
    asked = []
    for idle in idle_runs:
        kinds = {yield_kind(idle, waiter) for waiter in waiters} if idle.yield_kind is None else set()
        for kind in YieldKind:
            if kind in kinds:
                asked.append(idle._replace(yield_kind=kind))
                break
    return asked


def _event(run: IdleRun, now: datetime) -> Event:
    return Event(EventKind.RUN_YIELD_REQUESTED, now, run.owner, run.task_id, run.run_id, str(run.yield_reason))
