"""A task is edited, backfilled, or planned again because the rules of its zone have changed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import NEXT_SLOT, Entry, EntryKind, Stand
from ..model.event import EventKind
from ..model.limits import BACKFILL_OCCURRENCES
from ..model.reason import Reason
from ..model.refusals import refuse
from ..model.run import Origin
from ..model.task import Task, TaskState, past_of
from ..schedule import count, due, next  # noqa: A004 - the product's own question
from .agenda import next_entry, waiting_entry
from .leaving import account_for
from .pile import counts_from_end, without_repeat
from .telling import task_event, told

_MICROSECOND: Final = timedelta(microseconds=1)


def edit(facts: Facts, edited: Task, now: datetime) -> Change:
    """A new schedule accounts for what was due and starts from now; any other edit leaves the agenda where it is."""
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    task = edited._replace(
        id=facts.task.id, owner=facts.task.owner, created=facts.task.created, version=facts.task.version + 1
    )
    if task.schedule != facts.task.schedule:
        return _reschedule(facts, task, now)
    moved = tuple(e._replace(priority=task.policies.priority) for e in facts.entries)
    return Change(
        task=task,
        put=moved if task.policies.priority != facts.task.policies.priority else (),
        events=(task_event(EventKind.TASK_EDITED, task, now),),
    )


def replan(facts: Facts, now: datetime) -> Change:
    """The zone's rules are newer than when this was planned: an occurrence that is still to come moves with them."""
    for entry in facts.entries:
        if entry.kind is EntryKind.NEXT and entry.due > now and not counts_from_end(facts.task.schedule):
            following = next_entry(facts.task, facts.standing, now)
            if following is None or following.planned == entry.planned:
                return Change()
            detail = f"{entry.planned.isoformat()} -> {following.planned.isoformat()}"
            told_of = task_event(EventKind.TASK_REPLANNED, facts.task, now, detail)
            return Change(put=(following._replace(stand=entry.stand),), events=(told_of,))
    return Change()


def backfill(facts: Facts, first: datetime, last: datetime, now: datetime) -> Change:
    """Occurrences for a past range, one by one, paced by the lane: one agenda entry, however many they are."""
    task = facts.task
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if counts_from_end(task.schedule):
        raise refuse("backfill_from_end")
    endless, past = without_repeat(task.schedule), past_of(task, facts.standing)
    before = first - _MICROSECOND
    size = count(endless, before, last, past) if last <= now else 0
    planned = next(endless, before, past)
    if planned is None or not 1 <= size <= BACKFILL_OCCURRENCES:
        raise refuse("backfill_range", first=first.isoformat(), last=last.isoformat(), most=BACKFILL_OCCURRENCES)
    entry = waiting_entry(
        task, planned, due(task.schedule, planned, task.id, past), origin=Origin.BACKFILL, through=last, in_order=True
    )
    return Change(put=(entry._replace(stand=Stand.TIMED),))


def _reschedule(facts: Facts, task: Task, now: datetime) -> Change:
    standing = facts.standing._replace(counted=0, skips_left=0)
    following = next_entry(task, standing, now)
    if following is None:
        raise refuse("never_fires")
    if standing.state is TaskState.COMPLETED:
        standing = standing._replace(state=TaskState.ACTIVE, ended=None)
    reason = Reason.PAUSED if standing.state is TaskState.PAUSED else Reason.MISSED_SKIPPED
    # A range is told by its old schedule, so it ends with it; an occurrence that has begun goes on.
    gone = tuple(e for e in facts.entries if e.kind is EntryKind.NEXT or e.through is not None)
    rows = account_for(facts, gone, reason, now)
    put = () if standing.state is TaskState.FAILED or _still_going(facts, task) else (following,)
    kept = {entry.slot for entry in put}
    return Change(
        task=task,
        standing=standing,
        born=rows,
        put=put,
        dropped=tuple(e.slot for e in gone if e.slot not in kept),
        events=(*(told(row, now) for row in rows), task_event(EventKind.TASK_EDITED, task, now)),
    )


def _still_going(facts: Facts, task: Task) -> bool:
    """What counts from the end has no next while an occurrence goes on, or is tried again."""
    if not counts_from_end(task.schedule):
        return False
    begun = (EntryKind.RETRY, EntryKind.WAITING)
    return any(run.origin is Origin.SCHEDULED for run in facts.live) or any(
        _of_schedule(entry) and entry.kind in begun for entry in facts.entries
    )


def _of_schedule(entry: Entry) -> bool:
    return entry.origin is Origin.SCHEDULED and entry.through is None and entry.slot != NEXT_SLOT
