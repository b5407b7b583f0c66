"""Decision for the next scheduled occurrence and its backlog: requested skips, missed, overlap, lanes, next entry."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.reason import Reason
from ..model.run import Origin, Run, Span
from ..model.task import past_of
from ..schedule import next  # noqa: A004 - next occurrence, not the builtin
from .agenda import next_entry
from .due_backlog import DueBacklog, compute_due_backlog, counts_from_end, without_repeat
from .event_rows import count_occurrences, run_event
from .missed import (
    BacklogAccount,
    CatchUpPlan,
    Occurrence,
    apply_requested_skips,
    plan_after_wait,
    plan_catch_up,
    plan_on_time,
    skip_late_starts,
)
from .overlap import (
    OverlapAction,
    blocking_retries,
    cancel_replaced_runs,
    decide_overlap,
    gate_retries,
    inherit_deaths,
    must_wait,
    replaced_waiters,
    superseded_retries,
    superseded_rows,
)
from .start import ClaimContext, count_reparks, full_lane, new_run, started_event


class _NextClaim(NamedTuple):
    """Inputs of the claim of the next occurrence."""

    facts: Facts
    entry: Entry
    token: int
    claim: ClaimContext
    account: BacklogAccount


def fire_next_occurrence(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Decide about all due occurrences of the schedule."""
    backlog = compute_due_backlog(facts.task, facts.status, entry.planned, claim.now)
    if facts.block_reason is not None:
        account = BacklogAccount(backlog, backlog, facts.status)
        return _record_backlog(
            _NextClaim(facts, entry, token, claim, account), CatchUpPlan(((backlog.span, facts.block_reason),))
        )
    if gate_retries(facts, entry.origin):
        # It is recorded with all others that pass until the gate gives a verdict.
        return Change(put=(entry._replace(state=EntryState.HELD, lane=None),))
    account = skip_late_starts(apply_requested_skips(facts.status, backlog), claim.now)
    context = _NextClaim(facts, entry, token, claim, account)
    if context.account.rest is None:
        return _record_backlog(context, CatchUpPlan())
    plan = _plan_backlog(context, context.account.rest)
    if plan.to_run is None:
        return _record_backlog(context, plan)
    return _run_or_wait(context, context.account.rest, plan, plan.to_run)


def skip_due_backlog(facts: Facts, entry: Entry, reason: Reason, until: datetime, now: datetime) -> Change:
    """Record the occurrences that were due by an instant as skipped, in one row, and plan the next one."""
    backlog = compute_due_backlog(facts.task, facts.status, entry.planned, until)
    account = BacklogAccount(backlog, backlog, facts.status)
    context = _NextClaim(facts, entry, 0, ClaimContext("", now, timedelta(0)), account)
    return _record_backlog(context, CatchUpPlan(((backlog.span, reason),)))


def skip_late_occurrences(facts: Facts, entry: Entry, claim: ClaimContext) -> Change:
    """Skip the occurrences of a waiting entry that may no longer start; the rest of its backlog keeps waiting."""
    backlog = compute_due_backlog(facts.task, facts.status, entry.planned, claim.now)
    account = skip_late_starts(apply_requested_skips(facts.status, backlog), claim.now)
    context = _NextClaim(facts, entry, 0, claim, account)
    if account.rest is None:
        return _record_backlog(context, CatchUpPlan())
    return _wait(context, account.rest, entry.state, entry.lane)


def _plan_backlog(context: _NextClaim, backlog: DueBacklog) -> CatchUpPlan:
    """Return the plan: the missed policy applies to several due instants, or to one older than the poll ceiling."""
    missed, now = context.facts.task.policies.missed, context.claim.now
    if _has_waited(context, backlog):
        return plan_after_wait(missed, backlog, now, context.account.remaining_repeats)
    if backlog.size == 1 and now - backlog.due(backlog.first) <= context.claim.poll_ceiling:
        return plan_on_time(backlog.first)
    return plan_catch_up(missed, backlog, now, context.account.remaining_repeats)


def _run_or_wait(context: _NextClaim, backlog: DueBacklog, plan: CatchUpPlan, first: Occurrence) -> Change:
    """Run the first occurrence unless a live run, an ordered backlog or a full lane blocks it; then apply overlap."""
    facts, entry = context.facts, _entry_for(context.entry, backlog, first)
    if not must_wait(facts, entry):
        lane = full_lane(facts, entry)
        if lane is None:
            return _start_run(context, plan, entry)
        parked = context._replace(entry=context.entry._replace(reparks=count_reparks(entry)))
        return _wait(parked, backlog, EntryState.PARKED, lane)
    if _has_waited(context, backlog) or not (facts.live or first.in_order or blocking_retries(facts)):
        # Overlap applies to an instant that comes due during a run, and this one did not.
        return _wait(context, backlog, EntryState.HELD)
    action = decide_overlap(facts, context.entry)
    if first.in_order or action is OverlapAction.WAIT:
        return _record_backlog(context, plan.with_all_queued)
    if action is OverlapAction.REPLACE:
        change = _record_backlog(context, plan.with_all_queued, ended=replaced_waiters(facts))
        return cancel_replaced_runs(facts, change, context.claim.now)
    span = first.span or Span(first.planned, first.planned, 1)
    return _record_backlog(context, CatchUpPlan((*plan.skips, (span, Reason.OVERLAP))))


def _has_waited(context: _NextClaim, backlog: DueBacklog) -> bool:
    return context.entry.waited and backlog.first == context.entry.planned


def _entry_for(entry: Entry, backlog: DueBacklog, first: Occurrence) -> Entry:
    if first == (entry.planned, None, None, False):
        return entry
    at = backlog.due(first.planned)
    return entry._replace(planned=first.planned, due=at, span=first.span, in_order=first.in_order)


def _wait(context: _NextClaim, backlog: DueBacklog, stand: EntryState, lane: str | None = None) -> Change:
    """Keep the backlog waiting and apply only requested skips. A single waiting instant does not count as missed later."""
    account, now = context.account, context.claim.now
    rows = account.rows(CatchUpPlan(), now)
    entry = context.entry._replace(
        planned=backlog.first,
        due=backlog.due(backlog.first),
        state=stand,
        lane=lane,
        waited=_has_waited(context, backlog) or backlog.size == 1,
    )
    status = account.status_after(0, account.backlog.size - backlog.size)
    return Change(
        status=status if status != context.facts.status else None,
        new_runs=rows,
        put=(entry,),
        events=tuple(run_event(row, now) for row in rows),
    )


def _start_run(context: _NextClaim, plan: CatchUpPlan, entry: Entry) -> Change:
    ended = superseded_retries(context.facts, entry)
    run = new_run(context.facts, inherit_deaths(entry, ended), context.token, context.claim)
    return _record_backlog(context, plan, run, ended)


def _record_backlog(
    context: _NextClaim, plan: CatchUpPlan, run: Run | None = None, ended: tuple[Entry, ...] = ()
) -> Change:
    """Give every instant of the backlog a row, a run or a queue entry, and plan the next occurrence."""
    facts, account, now = context.facts, context.account, context.claim.now
    rows = (*account.rows(plan, now), *superseded_rows(facts, ended, now))
    status = account.status_after(plan.accepted - _count_superseded(facts, ended, now), account.backlog.size)
    put = () if plan.to_queue is None else (_merge_waiting(facts, account.queue_entry(plan.to_queue)),)
    following = None if counts_from_end(facts.task.schedule) else next_entry(facts.task, status, account.backlog.last)
    return Change(
        status=status if status != facts.status else None,
        new_runs=rows if run is None else (*rows, run),
        put=put if following is None else (following, *put),
        dropped=(*(() if following is not None else (context.entry.slot,)), *(each.slot for each in ended)),
        events=(*(run_event(row, now) for row in rows), *(() if run is None else (started_event(run, now),))),
    )


def _count_superseded(facts: Facts, ended: tuple[Entry, ...], now: datetime) -> int:
    """Return the count of superseded waiters, which were counted when they were queued and now get no run."""
    return sum(count_occurrences(facts, each, now) for each in ended if each.kind is EntryKind.WAITING)


def _merge_waiting(facts: Facts, waiting: Entry) -> Entry:
    """Merge a waiting entry into the one that ends right before it, under `queue_all`."""
    task = facts.task
    if task.policies.overlap != "queue_all" or waiting.span is not None:
        return waiting
    endless, past = without_repeat(task.schedule), past_of(task, facts.status)
    for other in facts.entries:
        is_mergeable = other.kind is EntryKind.WAITING and other.origin is Origin.SCHEDULED and other.span is None
        if is_mergeable and other.in_order == waiting.in_order:
            last = other.through or other.planned
            if next(endless, last, past) == waiting.planned:
                return other._replace(through=waiting.through or waiting.planned)
    return waiting
