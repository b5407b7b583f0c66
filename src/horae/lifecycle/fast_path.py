"""Fast path of `fire` and `settle`: a single punctual occurrence that nothing blocks, and a plain success.

Nearly every decision is one of these two, and a busy node makes tens of thousands a second. Each function returns exactly
the change of the general rules (a property test compares them), or None where the general rules must decide. A change
that says nothing but that is tagged (`OrdinaryStart`, `LanedStart`, `OrdinarySuccess`), and stores may write it by a shorter way.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts, LanedStart, OrdinaryStart, OrdinarySuccess
from ..model.entry import NEXT_SLOT, Entry, EntryKind, EntryState
from ..model.events.event import Event, EventKind
from ..model.limits import SUMMARY_CHARACTERS, shorten
from ..model.messages import DEFAULT_QUOTA
from ..model.outcome import Settlement, Succeeded
from ..model.run import Origin, Run, RunState
from ..model.task import Task, TaskState, TaskStatus, past_of
from ..schedule import Every, Now, Once, next  # noqa: A004 - next occurrence, not the builtin
from .event_rows import is_failing
from .start import ClaimContext, count_reparks, full_lane, new_run, started_event

# Named tuples are built with tuple.__new__: a third of the time of a call with that many arguments.
_new: Final = tuple.__new__
_NEXT: Final = (NEXT_SLOT,)
_ONE_SHOT: Final = (Once, Now)
_STILL: Final = (EntryState.HELD, EntryState.ASLEEP)


def fast_claim(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change | None:
    """Start, or park, the next occurrence of an active task that has nothing else on its agenda and is claimed in time, or
    has waited for a lane."""
    task, status, entries, live, lanes, block_reason, _ = facts
    alone = (
        entry.kind is EntryKind.NEXT
        and len(entries) == 1
        and not (live or block_reason or (entry.waited and not lanes))
    )
    if not alone or status.state is not TaskState.ACTIVE or status.skips_left:
        return None
    schedule = task.schedule
    if schedule.repeat is not None or schedule.jitter is not None:
        return None
    if claim.now - entry.due > claim.poll_ceiling and not entry.waited:
        return None
    start_within = task.policies.start_within
    if start_within is not None and claim.now - entry.due >= start_within:
        return None
    put: tuple[Entry, ...] = ()
    if schedule.__class__ not in _ONE_SHOT:
        following = _following(task, status, entry, claim.now)
        if following is None:
            return None
        put = (following,)
    if lanes and (lane := full_lane(facts, entry)) is not None:
        return None if start_within is not None else _park(entry, lane)
    run = new_run(facts, entry, token, claim)
    _, counted, failures, _, last_end, last_result, pause, reason, ended = status
    after = _new(TaskStatus, (TaskState.ACTIVE, counted + 1, failures, 0, last_end, last_result, pause, reason, ended))
    return _new(
        _start_tag(entry, task, has_lanes=bool(lanes)),
        (
            None,
            after,
            (run,),
            (),
            (),
            put,
            () if put else _NEXT,
            (started_event(run, claim.now),),
            False,
            (),
            (),
            (),
            (),
            (),
            DEFAULT_QUOTA,
        ),
    )


def _park(entry: Entry, lane: str) -> Change:
    parked = entry._replace(state=EntryState.PARKED, lane=lane, waited=True, reparks=count_reparks(entry))
    return Change(put=(parked,))


def _start_tag(entry: Entry, task: Task, *, has_lanes: bool) -> type[Change]:
    if not _is_plain(entry, task):
        return Change
    return LanedStart if has_lanes else OrdinaryStart if entry.lane is None else Change


def _is_plain(entry: Entry, task: Task) -> bool:
    """Return whether the entry has nothing that its run inherits, and differs from the following one in its instants alone:
    an edit of a task leaves the priority of its entry alone."""
    return (
        entry.priority == task.policies.priority
        and entry.owner == task.owner
        and entry.span is None
        and not (entry.deaths or entry.forgiven or entry.in_order or task.policies.where)
    )


def _following(task: Task, status: TaskStatus, entry: Entry, now: datetime) -> Entry | None:
    """Return the following entry if it lies in the future; None where there is a backlog, an end, or `every … after end`."""
    schedule = task.schedule
    if schedule.__class__ is Every and schedule.since == "end":
        return None
    planned = next(schedule, entry.planned, past_of(task, status))
    if planned is None or planned <= now:
        return None
    return Entry(task.id, NEXT_SLOT, EntryKind.NEXT, planned, planned, task.owner, task.policies.priority)


def fast_settlement(facts: Facts, run: Run, report: Settlement) -> Change | None:
    """Settle a successful scheduled run of an active task that no entry waits for."""
    task, status, entries, live, _, _, _ = facts
    outcome = report.outcome
    if not isinstance(outcome, Succeeded) or run.state is not RunState.RUNNING or run.origin is not Origin.SCHEDULED:
        return None
    if status.state is not TaskState.ACTIVE or len(live) != 1 or run.cancel is not None:
        return None
    if (
        task.successors
        or task.policies.start_within is not None
        or report.gate is not None
        or (run.input is not None and run.input.gate is not None)
        or outcome.triggered_topic is not None
        or report.writes is not None
        or (status.failures and is_failing(task, status))
    ):
        return None
    if task.schedule.__class__ is Every and task.schedule.since == "end":
        return None
    for entry in entries:
        if entry.state in _STILL:
            return None
    return _succeeded(facts, run, report, outcome.result)


def _succeeded(facts: Facts, run: Run, report: Settlement, result: str | None) -> Change:
    task, now = facts.task, report.ended
    started_at = report.started or run.started
    row = _new(
        Run,
        (
            run.id,
            run.task_id,
            run.owner,
            run.origin,
            run.planned,
            run.due,
            run.attempt,
            RunState.SUCCEEDED,
            None,
            run.token,
            run.node,
            run.claimed,
            started_at,
            now,
            None,
            run.span,
            run.forgiven,
            run.deaths,
            run.alone,
            run.in_order,
            run.cancel,
            run.lanes,
            result,
            None,
            run.input,
            run.chain,
        ),
    )
    # A run in a lane frees its slot.
    kind = Change if run.lanes or started_at is None else OrdinarySuccess
    succeeded = _new(Event, (EventKind.RUN_SUCCEEDED, now, run.owner, run.task_id, run.id, None))
    summary = None if result is None else shorten(result, SUMMARY_CHARACTERS)
    _, counted, _, skips, _, _, pause, reason, ended = facts.status
    if facts.entries:
        after = _new(TaskStatus, (TaskState.ACTIVE, counted, 0, skips, now, summary, pause, reason, ended))
        return _new(kind, (None, after, (), (row,), (), (), (), (succeeded,), False, (), (), (), (), (), DEFAULT_QUOTA))
    after = _new(TaskStatus, (TaskState.COMPLETED, counted, 0, skips, now, summary, pause, reason, now))
    completed = _new(Event, (EventKind.TASK_COMPLETED, now, task.owner, task.id, None, None))
    return _new(
        kind, (None, after, (), (row,), (), (), (), (succeeded, completed), False, (), (), (), (), (), DEFAULT_QUOTA)
    )
