"""Last step of every decision: frees waiting entries, plans `every … after end`, completes tasks with nothing left."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts, facts_after
from ..model.entry import CONTROL_KINDS, NEXT_SLOT, Entry, EntryKind, EntryState
from ..model.events.event import EventKind
from ..model.run import Origin
from ..model.task import OPEN_STATES, TaskState
from ..schedule import After
from .agenda import next_entry
from .due_backlog import counts_from_end
from .event_rows import task_event
from .overlap import must_wait
from .start_deadline import with_start_deadline

_WAITING_STATES: Final = (EntryState.HELD, EntryState.ASLEEP)


def conclude(facts: Facts, change: Change, now: datetime) -> Change:
    """Return the change with the consequences of its result, so that no entry waits for an event that never comes."""
    if facts.task.policies.start_within is None and (change.task is None or change.task.policies.start_within is None):
        return _conclude(facts, change, now)
    # The entry of the start deadline follows from the others and must not keep a task open.
    others = facts._replace(entries=tuple(each for each in facts.entries if each.kind is not EntryKind.START_DEADLINE))
    return with_start_deadline(facts, _conclude(others, change, now))


def _conclude(facts: Facts, change: Change, now: datetime) -> Change:
    if _needs_nothing(facts, change):
        return change
    after = facts_after(facts, change)
    freed = tuple(entry for entry in after.entries if _is_free(after, entry))
    if freed:
        change = _free_entries(change, freed)
    if after.status.state in OPEN_STATES and counts_from_end(after.task.schedule) and not has_open_occurrence(after):
        status = after.status._replace(last_end=now)
        following = next_entry(after.task, status, now)
        if following is not None:
            # `last_end` is stored for skipped occurrences too: the due instant of the next one depends on it.
            dropped = tuple(slot for slot in change.dropped if slot != NEXT_SLOT)
            return change._replace(status=status, put=(*change.put, following), dropped=dropped)
    is_chained = isinstance(after.task.schedule, After)
    if after.status.state is TaskState.ACTIVE and not (after.entries or after.live or is_chained):
        return _complete_task(after, change, now)
    return change


def _needs_nothing(facts: Facts, change: Change) -> bool:
    """Return True in the common case: entries are left, none waits, and the schedule does not count from a run's end."""
    if counts_from_end((change.task or facts.task).schedule):
        return False
    has_entries = change.put or len(facts.entries) > len(change.dropped)
    return bool(has_entries) and not any(entry.state in _WAITING_STATES for entry in (*facts.entries, *change.put))


def has_open_occurrence(facts: Facts) -> bool:
    """Return whether a scheduled occurrence is live or still on the agenda."""
    return any(run.origin is Origin.SCHEDULED for run in facts.live) or any(
        entry.origin is Origin.SCHEDULED and entry.kind not in CONTROL_KINDS for entry in facts.entries
    )


def _is_free(facts: Facts, entry: Entry) -> bool:
    """Return whether a waiting entry may go: the run or backlog that blocked it has ended, or the pause has."""
    if entry.state is EntryState.HELD:
        return not must_wait(facts, entry)
    return entry.state is EntryState.ASLEEP and facts.status.state is not TaskState.PAUSED


def _free_entries(change: Change, freed: tuple[Entry, ...]) -> Change:
    slots = {entry.slot for entry in freed}
    unchanged = tuple(entry for entry in change.put if entry.slot not in slots)
    return change._replace(put=(*unchanged, *(entry._replace(state=EntryState.TIMED) for entry in freed)))


def _complete_task(facts: Facts, change: Change, now: datetime) -> Change:
    return change._replace(
        status=facts.status._replace(state=TaskState.COMPLETED, ended=now),
        events=(*change.events, task_event(EventKind.TASK_COMPLETED, facts.task, now)),
    )
