"""How every decision ends: what waited for its turn may have it, what counts from the end is planned, what is done is over."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts
from ..model.entry import NEXT_SLOT, Entry, EntryKind, Stand
from ..model.events.event import EventKind
from ..model.run import Origin
from ..model.task import GOING, TaskState
from .agenda import next_entry
from .due_backlog import counts_from_end
from .event_rows import task_event
from .overlap import in_the_way

_WAITING: Final = (Stand.HELD, Stand.ASLEEP)


def conclude(facts: Facts, change: Change, now: datetime) -> Change:
    """Looks at the task as the change leaves it, so that nothing of it waits for something that will never come."""
    if _goes_on_as_it_is(facts, change):
        return change
    after = facts_after(facts, change)
    freed = tuple(entry for entry in after.entries if _is_free(after, entry))
    if freed:
        change = _freeing(change, freed)
    if after.standing.state in GOING and counts_from_end(after.task.schedule) and not occurrence_goes_on(after):
        standing = after.standing._replace(last_end=now)
        following = next_entry(after.task, standing, now)
        if following is not None:
            # Kept, also where it was skipped: how late an occurrence is depends on the end from which it was counted.
            dropped = tuple(slot for slot in change.dropped if slot != NEXT_SLOT)
            return change._replace(standing=standing, put=(*change.put, following), dropped=dropped)
    if after.standing.state is TaskState.ACTIVE and not after.entries and not after.live:
        return _completed(after, change, now)
    return change


def _goes_on_as_it_is(facts: Facts, change: Change) -> bool:
    """Seen at one glance in nearly all cases: something is left, nothing waits, the schedule needs no end to go on."""
    if counts_from_end((change.task or facts.task).schedule):
        return False
    left = change.put or len(facts.entries) > len(change.dropped)
    return bool(left) and not any(entry.stand in _WAITING for entry in (*facts.entries, *change.put))


def facts_after(facts: Facts, change: Change) -> Facts:
    """The same task when the change has been written."""
    entries = {entry.slot: entry for entry in facts.entries if entry.slot not in change.dropped}
    entries.update((entry.slot, entry) for entry in change.put)
    live = {run.id: run for run in facts.live}
    live.update((run.id, run) for run in (*change.moved, *change.born))
    return facts._replace(
        task=change.task or facts.task,
        standing=change.standing or facts.standing,
        entries=tuple(entries.values()),
        live=tuple(run for run in live.values() if run.live),
    )


def occurrence_goes_on(facts: Facts) -> bool:
    """Whether an occurrence of the schedule is still to end, or to come."""
    return any(run.origin is Origin.SCHEDULED for run in facts.live) or any(
        entry.origin is Origin.SCHEDULED and entry.kind not in (EntryKind.RESUME, EntryKind.DEADLINE)
        for entry in facts.entries
    )


def _is_free(facts: Facts, entry: Entry) -> bool:
    """Whether what an entry waited for is over: a run or a backlog that was in its way, or a pause."""
    if entry.stand is Stand.HELD:
        return not in_the_way(facts, entry)
    return entry.stand is Stand.ASLEEP and facts.standing.state is not TaskState.PAUSED


def _freeing(change: Change, freed: tuple[Entry, ...]) -> Change:
    slots = {entry.slot for entry in freed}
    others = tuple(entry for entry in change.put if entry.slot not in slots)
    return change._replace(put=(*others, *(entry._replace(stand=Stand.TIMED) for entry in freed)))


def _completed(facts: Facts, change: Change, now: datetime) -> Change:
    return change._replace(
        standing=facts.standing._replace(state=TaskState.COMPLETED, ended=now),
        events=(*change.events, task_event(EventKind.TASK_COMPLETED, facts.task, now)),
    )
