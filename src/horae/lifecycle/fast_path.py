"""Fast path of `fire` and `settle`: a single punctual occurrence that nothing blocks, and a plain success.

Nearly every decision is one of these two, and a busy node makes tens of thousands a second. Each function returns exactly
the change of the general rules (a property test compares them), or None where the general rules must decide. Starts of
one claim that share everything but ids, instants and status form a class, which is decided once (`start_class`); stores
that claim many entries keep it, and decide each member with `start_member`: `fast_claim` is the two in one. A change that says nothing but that is tagged (`OrdinaryStart`, `LanedStart`, `OrdinarySuccess`), and stores may write it by a shorter way.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..model.chain_row import DEFAULT_CHAIN_LIMIT
from ..model.change import Change, Facts, LanedStart, OrdinaryStart, OrdinarySuccess, Start, Success
from ..model.entry import NEXT_SLOT, Entry, EntryKind, EntryState
from ..model.events.event import Event, EventKind
from ..model.lanes.lane import LaneUse
from ..model.limits import SUMMARY_CHARACTERS, shorten
from ..model.messages import DEFAULT_QUOTA
from ..model.outcome import Settlement, Succeeded
from ..model.policy import Policies
from ..model.run import Origin, Run, RunState
from ..model.task import NEW_TASK_STATUS, Task, TaskState, TaskStatus, past_of
from ..schedule import Every, Now, Once, next  # noqa: A004 - next occurrence, not the builtin
from .event_rows import is_failing
from .plans.results import has_result_event
from .start import ClaimContext, RunTemplate, count_reparks, full_lane, run_of, run_template, started_event

# Named tuples are built with tuple.__new__: a third of the time of a call with that many arguments.
_new: Final = tuple.__new__
_NEXT: Final = (NEXT_SLOT,)
_ONE_SHOT: Final = (Once, Now)
_STARTED_ONCE: Final = NEW_TASK_STATUS._replace(counted=1)
_ENTRY_DEFAULTS: Final = tuple(value for name, value in Entry._field_defaults.items() if name != "priority")
_STILL: Final = (EntryState.HELD, EntryState.ASLEEP)


class StartClass(NamedTuple):
    """What the starts of one claim have in common that share everything but the ids, instants, schedules and status of
    their tasks."""

    tag: type[Change]
    run: RunTemplate
    waited: bool
    start_within: timedelta | None
    now: datetime
    poll_ceiling: timedelta


def start_class(
    owner: str, policies: Policies, lanes: tuple[LaneUse, ...], entry: Entry, token: int, claim: ClaimContext
) -> StartClass | None:
    """Return the class of an entry that is the next occurrence of its task, alone on its agenda and not blocked; None where
    the general rules must decide.

    It sees neither the task nor the instants of the entry: whatever it reads is what the members of the class share.
    """
    if entry.kind is not EntryKind.NEXT or (entry.waited and not lanes):
        return None
    tag = _start_tag(entry, owner, policies, has_lanes=bool(lanes))
    template = run_template(owner, policies, lanes, entry, token, claim)
    return _new(StartClass, (tag, template, entry.waited, policies.start_within, claim.now, claim.poll_ceiling))


def start_member(found: StartClass, task: Task, status: TaskStatus, planned: datetime, due: datetime) -> Start | None:
    """Return the start of one member of a class; None where the general rules must decide."""
    _, template, waited, start_within, now, poll_ceiling = found
    if status is NEW_TASK_STATUS:
        after = _STARTED_ONCE
    else:
        state, counted, failures, skips_left, last_end, last_result, pause, reason, ended = status
        if state is not TaskState.ACTIVE or skips_left:
            return None
        after = _new(TaskStatus, (state, counted + 1, failures, 0, last_end, last_result, pause, reason, ended))
    schedule, late = task.schedule, now - due
    if schedule.repeat is not None or schedule.jitter is not None:
        return None
    if late > poll_ceiling and not waited:
        return None
    if start_within is not None and late >= start_within:
        return None
    following: Entry | None = None
    if schedule.__class__ not in _ONE_SHOT:
        following = _following(task, status, planned, now)
        if following is None:
            return None
    return _new(Start, (run_of(template, task.id, planned, due), after, following))


def fast_claim(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change | None:
    """Start, or park, the next occurrence of an active task that has nothing else on its agenda and is claimed in time, or
    has waited for a lane."""
    task, status, entries, live, lanes, block_reason, _ = facts
    if len(entries) != 1 or live or block_reason:
        return None
    found = start_class(task.owner, task.policies, lanes, entry, token, claim)
    start = None if found is None else start_member(found, task, status, entry.planned, entry.due)
    if found is None or start is None:
        return None
    if lanes and (lane := full_lane(facts, entry)) is not None:
        return None if found.start_within is not None else _park(entry, lane)
    return _start_change(found.tag, start, claim)


def _start_change(tag: type[Change], start: Start, claim: ClaimContext) -> Change:
    run, after, following = start
    return _new(
        tag,
        (
            None,
            after,
            (run,),
            (),
            (),
            () if following is None else (following,),
            _NEXT if following is None else (),
            (started_event(run, claim.now),),
            False,
            (),
            (),
            (),
            (),
            (),
            DEFAULT_QUOTA,
            DEFAULT_CHAIN_LIMIT,
        ),
    )


def _park(entry: Entry, lane: str) -> Change:
    parked = entry._replace(state=EntryState.PARKED, lane=lane, waited=True, reparks=count_reparks(entry))
    return Change(put=(parked,))


def _start_tag(entry: Entry, owner: str, policies: Policies, *, has_lanes: bool) -> type[Change]:
    """Return the tag of a start whose entry has nothing that its run inherits, and differs from the following one in its
    instants alone: an edit of a task leaves the priority of its entry alone."""
    if entry.priority != policies.priority or entry.owner != owner or entry.span is not None:
        return Change
    if entry.forgiven or entry.deaths or entry.in_order or policies.where:
        return Change
    return LanedStart if has_lanes else OrdinaryStart if entry.lane is None else Change


def _following(task: Task, status: TaskStatus, planned: datetime, now: datetime) -> Entry | None:
    """Return the following entry if it lies in the future; None where there is a backlog, an end, or `every … after end`."""
    schedule = task.schedule
    if schedule.__class__ is Every and schedule.since == "end":
        return None
    following = next(schedule, planned, past_of(task, status))
    if following is None or following <= now:
        return None
    values = (task.id, NEXT_SLOT, EntryKind.NEXT, following, following, task.owner, task.policies.priority)
    return _new(Entry, values + _ENTRY_DEFAULTS)


def fast_settlement(facts: Facts, run: Run, report: Settlement) -> Change | None:
    """Settle a successful scheduled run of an active task that no entry waits for."""
    success = _plain_success(facts.task, facts.status, facts.entries, facts.live, run, report)
    return None if success is None else _succeeded(facts, run, success)


def ordinary_success(
    task: Task, status: TaskStatus, entries: tuple[Entry, ...], live: tuple[Run, ...], run: Run, report: Settlement
) -> Success | None:
    """Return what an `OrdinarySuccess` of the run says; None for any other settlement."""
    success = _plain_success(task, status, entries, live, run, report)
    return success if success is not None and _is_ordinary(run, success) and not has_result_event(task) else None


def _is_ordinary(run: Run, success: Success) -> bool:
    # A run in a lane frees its slot.
    return not run.lanes and success.started is not None


def _plain_success(
    task: Task, status: TaskStatus, entries: tuple[Entry, ...], live: tuple[Run, ...], run: Run, report: Settlement
) -> Success | None:
    """Return the success of a scheduled run of an active task that no entry waits for; None where the general rules must
    decide."""
    _, _, outcome, started, ended, gate, writes = report
    if not isinstance(outcome, Succeeded) or run.state is not RunState.RUNNING or run.origin is not Origin.SCHEDULED:
        return None
    state, counted, failures, skips, _, _, pause, reason, task_ended = status
    if state is not TaskState.ACTIVE or len(live) != 1 or run.cancel is not None:
        return None
    result, triggered_topic = outcome
    given, schedule = run.input, task.schedule
    if (
        task.successors
        or task.policies.start_within is not None
        or gate is not None
        or (given is not None and given.gate is not None)
        or triggered_topic is not None
        or writes is not None
        or (failures and is_failing(task, status))
    ):
        return None
    if schedule.__class__ is Every and schedule.since == "end":
        return None
    for entry in entries:
        if entry.state in _STILL:
            return None
    summary = None if result is None else shorten(result, SUMMARY_CHARACTERS)
    state = TaskState.ACTIVE if entries else TaskState.COMPLETED
    after = (state, counted, 0, skips, ended, summary, pause, reason, task_ended if entries else ended)
    return _new(Success, (started or run.started, ended, result, _new(TaskStatus, after)))


def _succeeded(facts: Facts, run: Run, success: Success) -> Change:
    task = facts.task
    started, now, result, after = success
    (
        run_id, task_id, owner, origin, planned, due, attempt, _, _, token, node, claimed, _, _, _, span,
        forgiven, deaths, alone, in_order, cancel, lanes, _, _, given, chain,
    ) = run[:]  # fmt: skip # field by field takes three times as long
    row = _new(
        Run,
        (
            run_id,
            task_id,
            owner,
            origin,
            planned,
            due,
            attempt,
            RunState.SUCCEEDED,
            None,
            token,
            node,
            claimed,
            started,
            now,
            None,
            span,
            forgiven,
            deaths,
            alone,
            in_order,
            cancel,
            lanes,
            result,
            None,
            given,
            chain,
        ),
    )
    kind = OrdinarySuccess if _is_ordinary(run, success) else Change
    events: tuple[Event, ...] = (_new(Event, (EventKind.RUN_SUCCEEDED, now, owner, task_id, run_id, None)),)
    if after.state is TaskState.COMPLETED:
        events += (_new(Event, (EventKind.TASK_COMPLETED, now, task.owner, task.id, None, None)),)
    return _new(
        kind,
        (None, after, (), (row,), (), (), (), events, False, (), (), (), (), (), DEFAULT_QUOTA, DEFAULT_CHAIN_LIMIT),
    )
