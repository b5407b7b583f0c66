"""Decisions that change a task's occurrences: edit, backfill, and replanning after a time zone data update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from ...model.change import Change, Facts
from ...model.entry import Entry, EntryKind, EntryState
from ...model.events.event import EventKind
from ...model.inputs.run_input import RunInput
from ...model.lanes.route import is_route, place_entry
from ...model.limits import BACKFILL_INPUT_BYTES, BACKFILL_OCCURRENCES
from ...model.origin import NO_SUCCESSORS
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.run import Origin, Run
from ...model.task import Task, TaskState, TaskStatus, past_of
from ...schedule import After, AnyOf, Now, Once, count, next  # noqa: A004 - next occurrence, not the builtin
from ..agenda import initial_entry_state, next_entry, waiting_entry
from ..conclude import conclude, has_open_occurrence
from ..due_backlog import MICROSECOND, DueBacklog, counts_from_end, without_repeat
from ..event_rows import failure_events, run_event, skip_rows, task_event
from ..lanes.idle import request_yields

_UNSTARTED: Final = (EntryKind.NEXT, EntryKind.WAITING, EntryKind.CHAIN)


def edit(facts: Facts, edited: Task, now: datetime) -> Change:
    """Edit a task. A new schedule records what was due and starts from `now`; other edits leave the agenda as it is."""
    before = facts.task
    if facts.status.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    task = edited._replace(id=before.id, owner=before.owner, created=before.created, version=before.version + 1)
    task = task._replace(successors=before.successors)
    if task.schedule != before.schedule:
        change = _reschedule(facts, _resolve_now(task, now), now)
    else:
        change = Change(
            task=task, put=_update_entries(facts, task), events=(task_event(EventKind.TASK_EDITED, task, now),)
        )
        if task.policies != before.policies:
            # An entry that the former policies held may start.
            change = request_yields(facts, conclude(facts, change, now), now)
    if _revives(facts, change):
        return change._replace(events=(*change.events, task_event(EventKind.TASK_RESUMED, task, now)))
    return change._replace(events=(*change.events, *failure_events(facts, task, facts.status, now)))


def _revives(facts: Facts, change: Change) -> bool:
    """Return whether the edit reactivates a failed task: as with `resume`, that ends the incident."""
    return facts.status.state is TaskState.FAILED and change.status is not None


def _resolve_now(task: Task, now: datetime) -> Task:
    """Return the task with a `now` schedule as `once` right after this instant, since its creation lies in the past."""
    schedule, at = task.schedule, now + MICROSECOND
    if isinstance(schedule, Now):
        return task._replace(schedule=Once(at=at, zone=schedule.zone))
    if isinstance(schedule, AnyOf) and any(isinstance(each, Now) for each in schedule.schedules):
        parts = tuple(Once(at=at) if isinstance(each, Now) else each for each in schedule.schedules)
        return task._replace(schedule=replace(schedule, schedules=parts))
    return task


def replan(facts: Facts, now: datetime) -> Change:
    """Move the next occurrence to where newer time zone data puts it; empty where nothing changes."""
    for entry in facts.entries:
        if entry.kind is EntryKind.NEXT and entry.planned > now and not counts_from_end(facts.task.schedule):
            following = next_entry(facts.task, facts.status, now)
            if following is None or following.planned == entry.planned:
                return Change()
            detail = f"{entry.planned.isoformat()} -> {following.planned.isoformat()}"
            return Change(put=(following,), events=(task_event(EventKind.TASK_REPLANNED, facts.task, now, detail),))
    return Change()


def backfill(  # noqa: PLR0913 - one argument for each choice of a request
    facts: Facts,
    first: datetime,
    last: datetime,
    now: datetime,
    attempts_before: int = 0,
    given: RunInput | None = None,
    *,
    fires: bool = True,
) -> Change:
    """Run the occurrences of a past range one by one, paced by the lane: one agenda entry for the whole range.

    `attempts_before` is the highest attempt in the ledger of a backfilled occurrence in this range; a second backfill
    adds one attempt. All runs of the range have the input `given`, which is kept with each of them. With `fires` False
    the end of its runs starts no successor.
    """
    if facts.status.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if counts_from_end(facts.task.schedule):
        raise refuse("backfill_from_end")
    backlog = _backfill_range(facts, first, last, now)
    if given is not None and len(given.value.encode()) * backlog.size > BACKFILL_INPUT_BYTES:
        raise refuse(
            "backfill_input_too_large",
            size=len(given.value.encode()),
            count=backlog.size,
            most=BACKFILL_INPUT_BYTES,
            name=f"input.{given.mode}",
        )
    # A backfill is not missed: it is due when it is requested.
    entry = waiting_entry(facts.task, backlog.first, now, origin=Origin.BACKFILL, through=backlog.last, in_order=True)
    if _is_backfilling(facts, entry, backlog):
        raise refuse("backfill_going", first=first.isoformat(), last=last.isoformat())
    restarted = entry._replace(
        state=initial_entry_state(facts.status), attempt=attempts_before + 1, forgiven=attempts_before, input=given
    )
    return Change(put=(restarted if fires else restarted._replace(chain=NO_SUCCESSORS),))


def _backfill_range(facts: Facts, first: datetime, last: datetime, now: datetime) -> DueBacklog:
    task, past = facts.task, past_of(facts.task, facts.status)
    endless, before = without_repeat(task.schedule), first - MICROSECOND
    size = count(endless, before, last, past) if first <= last <= now else 0
    planned = next(endless, before, past)
    if planned is None or not 1 <= size <= BACKFILL_OCCURRENCES:
        raise refuse("backfill_range", first=first.isoformat(), last=last.isoformat(), most=BACKFILL_OCCURRENCES)
    return DueBacklog(task, past, planned, last, size).oldest(size)


def _is_backfilling(facts: Facts, entry: Entry, backlog: DueBacklog) -> bool:
    """Return whether a backfill of an overlapping range is queued or live."""
    queued = [(each.planned, each.through or each.planned) for each in facts.entries if each.origin is Origin.BACKFILL]
    live = [(run.planned, run.planned) for run in facts.live if run.origin is Origin.BACKFILL]
    overlaps = any(first <= backlog.last and backlog.first <= last for first, last in (*queued, *live))
    return overlaps or any(each.slot == entry.slot for each in facts.entries)


def _reschedule(facts: Facts, task: Task, now: datetime) -> Change:
    status = _reset_status(facts.status)
    following = next_entry(task, status, now)
    if following is None and not isinstance(task.schedule, After):
        raise refuse("never_fires")
    removed = tuple(entry for entry in facts.entries if entry.kind in _UNSTARTED)
    remaining = facts._replace(entries=tuple(entry for entry in facts.entries if entry.kind not in _UNSTARTED))
    is_deferred = counts_from_end(task.schedule) and has_open_occurrence(remaining)
    put = _update_entries(remaining, task)
    if following is None or is_deferred:
        replaced = None
    else:
        put, replaced = (*put, following), following.slot
    rows = _skip_unstarted(facts, removed, now)
    change = Change(
        task=task,
        status=status,
        new_runs=rows,
        put=put,
        dropped=tuple(entry.slot for entry in removed if entry.slot != replaced),
        events=(*(run_event(row, now) for row in rows), task_event(EventKind.TASK_EDITED, task, now)),
    )
    return conclude(facts, change, now)


def _reset_status(status: TaskStatus) -> TaskStatus:
    """Reset repeats and requested skips, which belong to the old schedule, and reactivate a completed or failed task."""
    reset = status._replace(counted=0, skips_left=0)
    if status.state is TaskState.COMPLETED:
        return reset._replace(state=TaskState.ACTIVE, ended=None)
    if status.state is TaskState.FAILED:
        return reset._replace(state=TaskState.ACTIVE, failures=0, reason=None, ended=None)
    return reset


def _skip_unstarted(facts: Facts, removed: Iterable[Entry], now: datetime) -> tuple[Run, ...]:
    """Return rows for entries that were due but not started: they end with the old schedule. Started ones continue."""
    rows: list[Run] = []
    for entry in removed:
        reason = Reason.MISSED_SKIPPED if entry.kind is EntryKind.NEXT else Reason.CANCELLED
        rows += skip_rows(facts, (entry,), reason, now)
    return tuple(rows)


def _update_entries(facts: Facts, task: Task) -> tuple[Entry, ...]:
    """Return the entries with the new priority, unparked where the task has left their lane or route."""
    updated = []
    has_left_route = _has_other_routes(facts.task, task)
    for entry in facts.entries:
        has_left = has_left_route if is_route(entry.lane) else task.lanes != facts.task.lanes
        after = entry._replace(priority=task.policies.priority)
        if has_left:
            after = after._replace(
                state=EntryState.TIMED if entry.state is EntryState.PARKED else entry.state, lane=None
            )
        if task.policies.where:
            after = place_entry(task, after)
        if after != entry:
            updated.append(after)
    return tuple(updated)


def _has_other_routes(before: Task, task: Task) -> bool:
    before_policies, policies = before.policies, task.policies
    return (
        task.target != before.target or policies.gate != before_policies.gate or policies.where != before_policies.where
    )
