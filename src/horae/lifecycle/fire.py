"""Decision for a due agenda entry: starts a run, parks, holds or skips the entry, and plans the next one."""

from __future__ import annotations

from datetime import datetime
from typing import Final, assert_never

from ..model.change import Change, Facts
from ..model.entry import CLAIMABLE, CONTROL_KINDS, Entry, EntryKind, EntryState
from ..model.events.event import RUN_CREATION_KINDS
from ..model.lanes.node_labels import has_labels
from ..model.lanes.route import missing_route, place_entry, route_of
from ..model.outcome import Settlement, TimedOut
from ..model.policy import Policies
from ..model.reason import Reason
from ..model.run import Origin
from ..model.task import Target, TaskState, past_of
from ..schedule import due, next  # noqa: A004 - next occurrence, not the builtin
from .conclude import conclude
from .control.pause import end_pause
from .due_backlog import MICROSECOND, without_repeat
from .event_rows import run_event, skip_rows
from .fast_path import fast_claim
from .lanes.idle import request_yields
from .late_start import skip_late_entries, skip_late_start
from .occurrence import fire_next_occurrence
from .overlap import (
    OverlapAction,
    cancel_replaced_runs,
    decide_overlap,
    gate_retries,
    inherit_deaths,
    must_wait,
    replaced_waiters,
    superseded_retries,
    superseded_rows,
)
from .settle import settle
from .start import ClaimContext, count_reparks, full_lane, new_run, started_event
from .start_deadline import is_too_late, with_start_deadline

_NEWER_KINDS: Final = (EntryKind.WAITING, EntryKind.MANUAL, EntryKind.CHAIN)
"""Entries whose start may end a waiting retry; the next occurrence has its own decision."""
_RETRYABLE_STATES: Final = frozenset({TaskState.ACTIVE, TaskState.FAILED, TaskState.COMPLETED})


def fire(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Decide about a claimed entry: unroutable, fast path, else the general rules; drop runs that the ledger has already."""
    change = (
        park_unroutable(facts, entry, claim)
        or fast_claim(facts, entry, token, claim)
        or fire_by_rules(facts, entry, token, claim)
    )
    if facts.lanes and change.put:
        change = request_yields(facts, change, claim.now)
    return drop_existing_runs(facts, change, claim.now) if facts.existing_run_ids else change


def fire_by_rules(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Apply the general rules. Every claimable entry is handled: it is removed, or changes its state."""
    match entry.kind:
        case EntryKind.RESUME:
            return _fire_resume(facts, entry, claim)
        case EntryKind.DEADLINE:
            return _fire_deadline(facts, entry, claim)
        case EntryKind.START_DEADLINE:
            change = skip_late_entries(facts, entry, claim)
        case _ if not _may_run(facts, entry):
            change = _sleep_or_skip(facts, entry, claim)
        case _ if entry.kind is not EntryKind.NEXT and is_too_late(facts.task, entry, claim.now):
            change = skip_late_start(facts, entry, claim)
        case EntryKind.NEXT:
            change = fire_next_occurrence(facts, entry, token, claim)
        case EntryKind.WAITING:
            change = _fire_waiting(facts, entry, token, claim)
        case _:
            change = _fire_occurrence(facts, entry, token, claim)
    return conclude(facts, change, claim.now)


def _fire_occurrence(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Decide about a single occurrence: a retry, a requested one or a chained one."""
    match entry.kind:
        case EntryKind.CHAIN:
            return _fire_chained(facts, entry, token, claim)
        case EntryKind.MANUAL:
            return _fire_manual(facts, entry, token, claim)
        case EntryKind.RETRY:
            return _fire_retry(facts, entry, token, claim)
        case other:
            raise AssertionError(f"An entry of the kind {other} is no occurrence.")


def _may_run(facts: Facts, entry: Entry) -> bool:
    """Return whether the state of the task, read again by the claim, still allows the entry to run."""
    if facts.block_reason is not None and entry.kind is not EntryKind.NEXT:
        return False
    match entry.origin:
        case Origin.SCHEDULED | Origin.CHAIN if entry.kind is EntryKind.RETRY:
            # A task that has ended has a retry only where one was requested.
            return facts.status.state in _RETRYABLE_STATES
        case Origin.SCHEDULED | Origin.CHAIN:
            return facts.status.state is TaskState.ACTIVE
        case Origin.BACKFILL:
            return facts.status.state not in (TaskState.PAUSED, TaskState.CANCELLED)
        case Origin.MANUAL:
            return facts.status.state is not TaskState.CANCELLED
        case never:
            assert_never(never)


def _sleep_or_skip(facts: Facts, entry: Entry, claim: ClaimContext) -> Change:
    """Put the entry to sleep with its paused task; else remove it with a skipped row."""
    if facts.status.state is TaskState.PAUSED and entry.origin is not Origin.MANUAL:
        return Change(put=(entry._replace(state=EntryState.ASLEEP, lane=None),))
    return _skip(facts, entry, facts.block_reason or Reason.CANCELLED, claim.now)


def _fire_waiting(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Start the first waiting occurrence if nothing blocks it; the rest stay held."""
    if must_wait(facts, entry):
        return _hold(entry)
    if entry.origin is Origin.BACKFILL and _has_due_entry(facts, claim.now):
        # Due occurrences of the schedule go before a backfill.
        return Change(put=(entry._replace(due=claim.now + MICROSECOND),))
    return _start(facts, entry, token, claim)


def _fire_retry(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    return _hold(entry) if must_wait(facts, entry) else _start(facts, entry, token, claim)


def _fire_manual(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Start a manual occurrence under the overlap policy; one that only waits for a lane slot keeps waiting."""
    if not must_wait(facts, entry):
        return _start(facts, entry, token, claim)
    action = decide_overlap(facts, entry)
    if action is OverlapAction.SKIP and not entry.waited:
        return _skip(facts, entry, Reason.OVERLAP, claim.now)
    return cancel_replaced_runs(facts, _hold(entry), claim.now) if action is OverlapAction.REPLACE else _hold(entry)


def _fire_chained(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Start a chained occurrence under the overlap policy, unless it is found later than `missed.within` allows."""
    within = facts.task.policies.missed.within
    if not entry.waited and within is not None and claim.now - entry.due > within:
        return _skip(facts, entry, Reason.STALE, claim.now)
    if not entry.waited and gate_retries(facts, entry.origin):
        return _skip(facts, entry, Reason.GATE_FAILED, claim.now)
    if not must_wait(facts, entry):
        return _start(facts, entry, token, claim)
    action = decide_overlap(facts, entry)
    if entry.waited or action is OverlapAction.WAIT:
        return _hold(entry)
    if action is OverlapAction.SKIP:
        return _skip(facts, entry, Reason.OVERLAP, claim.now)
    ended = replaced_waiters(facts)
    rows = superseded_rows(facts, ended, claim.now)
    change = _hold(entry)._replace(
        new_runs=rows,
        dropped=tuple(each.slot for each in ended),
        events=tuple(run_event(row, claim.now) for row in rows),
    )
    return cancel_replaced_runs(facts, change, claim.now)


def _skip(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Change:
    rows = skip_rows(facts, (entry,), reason, now)
    return Change(new_runs=rows, dropped=(entry.slot,), events=tuple(run_event(row, now) for row in rows))


def _hold(entry: Entry) -> Change:
    return Change(put=(entry._replace(state=EntryState.HELD, lane=None, waited=True),))


def _start(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Start a run for this entry, or park the entry if one of its lanes is full."""
    lane = full_lane(facts, entry)
    if lane is not None:
        reparks = count_reparks(entry)
        return Change(put=(entry._replace(state=EntryState.PARKED, lane=lane, waited=True, reparks=reparks),))
    ended = superseded_retries(facts, entry) if entry.kind in _NEWER_KINDS else ()
    run = new_run(facts, inherit_deaths(entry, ended), token, claim)
    rows = superseded_rows(facts, ended, claim.now)
    dropped = tuple(each.slot for each in ended)
    rest = _rest_of_range(facts, entry, claim)
    return Change(
        new_runs=(*rows, run),
        put=rest,
        dropped=dropped if rest else (*dropped, entry.slot),
        events=(*(run_event(row, claim.now) for row in rows), started_event(run, claim.now)),
    )


def _rest_of_range(facts: Facts, entry: Entry, claim: ClaimContext) -> tuple[Entry, ...]:
    """Return the rest of a range, in the same slot, when its first occurrence has started."""
    if entry.through is None:
        return ()
    task, past = facts.task, past_of(facts.task, facts.status)
    planned = next(without_repeat(task.schedule), entry.planned, past)
    if planned is None or planned > entry.through:
        return ()
    at = due(task.schedule, planned, task.id, past) if entry.origin is Origin.SCHEDULED else claim.now
    return (entry._replace(planned=planned, due=at, state=EntryState.HELD, lane=None, reparks=0),)


def _has_due_entry(facts: Facts, now: datetime) -> bool:
    return any(
        entry.origin is not Origin.BACKFILL and entry.state in CLAIMABLE and entry.due <= now for entry in facts.entries
    )


def _fire_resume(facts: Facts, entry: Entry, claim: ClaimContext) -> Change:
    """End the pause at its planned end, even if the claim comes later: instants after that end were not paused."""
    if facts.status.state is TaskState.PAUSED:
        return end_pause(facts, claim.now, until=entry.due)
    return Change(dropped=(entry.slot,))


def _fire_deadline(facts: Facts, entry: Entry, claim: ClaimContext) -> Change:
    """Time out a run that got no external answer before its deadline."""
    for run in facts.live:
        if run.id == entry.run_id:
            return settle(facts, run, Settlement(run.id, run.token, TimedOut(), run.started, claim.now))
    return Change(dropped=(entry.slot,))


def drop_existing_runs(facts: Facts, change: Change, now: datetime) -> Change:
    """Remove existing runs and their start events from a change, and conclude again, since no entry may wait for them."""
    reduced = change._replace(
        new_runs=tuple(run for run in change.new_runs if run.id not in facts.existing_run_ids),
        events=tuple(
            each
            for each in change.events
            if each.kind not in RUN_CREATION_KINDS or each.run_id not in facts.existing_run_ids
        ),
    )
    return conclude(facts, reduced, now)


def is_routable(target: Target, policies: Policies, claim: ClaimContext) -> bool:
    """Return whether the node can run a task that requires nothing but its target, as nearly every task."""
    routes = claim.routes
    return not policies.where and policies.gate is None and (routes is None or route_of(target) in routes)


def park_unroutable(facts: Facts, entry: Entry, claim: ClaimContext) -> Change | None:
    """Return the change that puts the entry where capable nodes find it; None when this node can run it.

    Without the labels of the task, the node leaves the entry in the queue of its route; without its function, it parks it.
    Instants that pass meanwhile fall under the missed policy when a capable node claims it.
    """
    task, routes, labels = facts.task, claim.routes, claim.labels
    policies = task.policies
    where = policies.where
    if is_routable(task.target, policies, claim):
        return None
    route = None if routes is None else missing_route(task, routes)
    if route is None and (not where or labels is None or has_labels(where, labels)):
        return None
    if entry.kind in CONTROL_KINDS:
        return None
    # A manual or chained entry came due in time and only waits, so it is not missed.
    waited = entry.waited or entry.kind in (EntryKind.MANUAL, EntryKind.CHAIN)
    if where:
        waiting = place_entry(task, entry)._replace(waited=waited)
    else:
        waiting = entry._replace(state=EntryState.PARKED, lane=route, waited=waited)
    if task.policies.start_within is None:
        return Change(put=(waiting,))
    if is_too_late(task, entry, claim.now):
        return conclude(facts, skip_late_start(facts, waiting, claim), claim.now)
    return with_start_deadline(facts, Change(put=(waiting,)))
