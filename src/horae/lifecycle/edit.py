"""A task is edited, backfilled, or planned again because the rules of its zone have changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.events.event import EventKind
from ..model.limits import BACKFILL_OCCURRENCES
from ..model.reason import Reason
from ..model.refusals import refuse
from ..model.route import is_route
from ..model.run import Origin, Run
from ..model.task import Standing, Task, TaskState, past_of
from ..schedule import Now, Once, count, next  # noqa: A004 - the product's own question
from .agenda import next_entry, resting, waiting_entry
from .conclude import conclude, occurrence_goes_on
from .due_backlog import MICROSECOND, Pile, counts_from_end, without_repeat
from .entry_removal import account_for
from .event_rows import task_event, told
from .failure_notices import noticed

_NOT_BEGUN: Final = (EntryKind.NEXT, EntryKind.WAITING)


def edit(facts: Facts, edited: Task, now: datetime) -> Change:
    """A new schedule accounts for what was due and starts from now; any other edit leaves the agenda where it is."""
    before = facts.task
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    task = edited._replace(id=before.id, owner=before.owner, created=before.created, version=before.version + 1)
    if task.schedule != before.schedule:
        change = _reschedule(facts, _said_now(task, now), now)
    else:
        change = Change(task=task, put=_moved(facts, task), events=(task_event(EventKind.TASK_EDITED, task, now),))
    if _starts_again(facts, change):
        return change._replace(events=(*change.events, task_event(EventKind.TASK_RESUMED, task, now)))
    return change._replace(events=(*change.events, *noticed(facts, task, facts.standing, now)))


def _starts_again(facts: Facts, change: Change) -> bool:
    """Whether the edit lets a task go on that had given up: as with `resume`, that ends the incident."""
    return facts.standing.state is TaskState.FAILED and change.standing is not None


def _said_now(task: Task, now: datetime) -> Task:
    """Of a task that is there already, "now" is the next moment from this one, not the one at which it was made."""
    if isinstance(task.schedule, Now):
        return task._replace(schedule=Once(at=now + MICROSECOND, zone=task.schedule.zone))
    return task


def replan(facts: Facts, now: datetime) -> Change:
    """The zone's rules are newer than when this was planned: an occurrence that is still to come moves with them."""
    for entry in facts.entries:
        if entry.kind is EntryKind.NEXT and entry.planned > now and not counts_from_end(facts.task.schedule):
            following = next_entry(facts.task, facts.standing, now)
            if following is None or following.planned == entry.planned:
                return Change()
            detail = f"{entry.planned.isoformat()} -> {following.planned.isoformat()}"
            return Change(put=(following,), events=(task_event(EventKind.TASK_REPLANNED, facts.task, now, detail),))
    return Change()


def backfill(facts: Facts, first: datetime, last: datetime, now: datetime, attempts_before: int = 0) -> Change:
    """Occurrences for a past range, one by one, paced by the lane: one agenda entry, however many they are.

    `attempts_before` is the highest attempt that the ledger has of a backfilled occurrence in this range: backfilled
    again, they are attempted once more.
    """
    if facts.standing.state is TaskState.CANCELLED:
        raise refuse("task_cancelled")
    if counts_from_end(facts.task.schedule):
        raise refuse("backfill_from_end")
    pile = _past_pile(facts, first, last, now)
    # Nobody missed it, so it is due when it is asked for.
    entry = waiting_entry(facts.task, pile.first, now, origin=Origin.BACKFILL, through=pile.last, in_order=True)
    if _already_going(facts, entry, pile):
        raise refuse("backfill_going", first=first.isoformat(), last=last.isoformat())
    again = entry._replace(stand=resting(facts.standing), attempt=attempts_before + 1, forgiven=attempts_before)
    return Change(put=(again,))


def _past_pile(facts: Facts, first: datetime, last: datetime, now: datetime) -> Pile:
    task, past = facts.task, past_of(facts.task, facts.standing)
    endless, before = without_repeat(task.schedule), first - MICROSECOND
    size = count(endless, before, last, past) if first <= last <= now else 0
    planned = next(endless, before, past)
    if planned is None or not 1 <= size <= BACKFILL_OCCURRENCES:
        raise refuse("backfill_range", first=first.isoformat(), last=last.isoformat(), most=BACKFILL_OCCURRENCES)
    return Pile(task, past, planned, last, size).oldest(size)


def _already_going(facts: Facts, wanted: Entry, pile: Pile) -> bool:
    """An occurrence cannot be backfilled twice at the same time."""
    queued = [(each.planned, each.through or each.planned) for each in facts.entries if each.origin is Origin.BACKFILL]
    going = [(run.planned, run.planned) for run in facts.live if run.origin is Origin.BACKFILL]
    shared = any(first <= pile.last and pile.first <= last for first, last in (*queued, *going))
    return shared or any(each.slot == wanted.slot for each in facts.entries)


def _reschedule(facts: Facts, task: Task, now: datetime) -> Change:
    standing = _anew(facts.standing)
    following = next_entry(task, standing, now)
    if following is None:
        raise refuse("never_fires")
    gone = tuple(entry for entry in facts.entries if entry.kind in _NOT_BEGUN)
    kept = facts._replace(entries=tuple(entry for entry in facts.entries if entry.kind not in _NOT_BEGUN))
    waits = counts_from_end(task.schedule) and occurrence_goes_on(kept)
    put = (*_moved(kept, task), *(() if waits else (following,)))
    rows = _never_begun(facts, gone, now)
    change = Change(
        task=task,
        standing=standing,
        born=rows,
        put=put,
        dropped=tuple(entry.slot for entry in gone if waits or entry.slot != following.slot),
        events=(*(told(row, now) for row in rows), task_event(EventKind.TASK_EDITED, task, now)),
    )
    return conclude(facts, change, now)


def _anew(standing: Standing) -> Standing:
    """Repeats and wishes to skip belonged to the old schedule; a task that was completed or had given up begins again."""
    anew = standing._replace(counted=0, skips_left=0)
    if standing.state is TaskState.COMPLETED:
        return anew._replace(state=TaskState.ACTIVE, ended=None)
    if standing.state is TaskState.FAILED:
        return anew._replace(state=TaskState.ACTIVE, failures=0, reason=None, ended=None)
    return anew


def _never_begun(facts: Facts, gone: Iterable[Entry], now: datetime) -> tuple[Run, ...]:
    """What was due and has not begun is told by the old schedule, so it ends with it; what has begun goes on."""
    rows: list[Run] = []
    for entry in gone:
        reason = Reason.MISSED_SKIPPED if entry.kind is EntryKind.NEXT else Reason.CANCELLED
        rows += account_for(facts, (entry,), reason, now)
    return tuple(rows)


def _moved(facts: Facts, task: Task) -> tuple[Entry, ...]:
    """Entries stand by their task's priority, and a lane or a door that it has left holds none of them back."""
    moved = []
    for entry in facts.entries:
        left = task.target != facts.task.target if is_route(entry.lane) else task.lane != facts.task.lane
        after = entry._replace(priority=task.policies.priority)
        if left:
            after = after._replace(stand=Stand.TIMED if entry.stand is Stand.PARKED else entry.stand, lane=None)
        if after != entry:
            moved.append(after)
    return tuple(moved)
