"""Start deadline (`start_within`): occurrences that cannot start in time, and the agenda entry at the earliest deadline.

Waiting entries cannot be claimed, so a task with waiting entries has one more entry, which any node can claim at the
earliest of their deadlines. A task without `start_within`, or without waiting entries, has none. All entries of a task
with labels (`where`) count as waiting: only some nodes can claim them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..model.change import Change, Facts, facts_after
from ..model.entry import CLAIMABLE, START_DEADLINE_SLOT, Entry, EntryKind, EntryState
from ..model.run import Origin
from ..model.task import Task

_SUBJECT_KINDS: Final = frozenset(
    {EntryKind.NEXT, EntryKind.WAITING, EntryKind.RETRY, EntryKind.MANUAL, EntryKind.CHAIN}
)
_WAITING_STATES: Final = frozenset({EntryState.HELD, EntryState.PARKED})
_AWAKE_STATES: Final = CLAIMABLE | _WAITING_STATES


def latest_start(task: Task, entry: Entry) -> datetime | None:
    """Return the instant from which the entry may no longer start; None without such a limit.

    A backfill has no due instant of its own: its occurrences run one by one, paced by the lane.
    """
    within = task.policies.start_within
    if within is None or entry.kind not in _SUBJECT_KINDS or entry.origin is Origin.BACKFILL:
        return None
    return entry.due + within


def is_too_late(task: Task, entry: Entry, now: datetime) -> bool:
    """Return whether the entry, or the first occurrence of its range, may no longer start."""
    latest = latest_start(task, entry)
    return latest is not None and latest <= now


def late_entries(facts: Facts, now: datetime) -> list[Entry]:
    """Return the entries that may no longer start, by due instant; those of a paused task sleep."""
    late = [each for each in facts.entries if each.state in _AWAKE_STATES and is_too_late(facts.task, each, now)]
    return sorted(late, key=lambda entry: (entry.due, entry.slot))


def with_start_deadline(facts: Facts, change: Change) -> Change:
    """Return the change with the entry of the earliest start deadline: put, moved or dropped as its result needs it."""
    after = facts_after(facts, change)
    # An entry in the queue of a route may never be claimed: there may be no node with its labels.
    waiting = _AWAKE_STATES if after.task.policies.where else _WAITING_STATES
    latest = (latest_start(after.task, entry) for entry in after.entries if entry.state in waiting)
    earliest = min((each for each in latest if each is not None), default=None)
    put = tuple(entry for entry in change.put if entry.kind is not EntryKind.START_DEADLINE)
    dropped = tuple(slot for slot in change.dropped if slot != START_DEADLINE_SLOT)
    former = next((entry for entry in facts.entries if entry.kind is EntryKind.START_DEADLINE), None)
    if earliest is None:
        return change._replace(put=put, dropped=dropped if former is None else (*dropped, START_DEADLINE_SLOT))
    task = after.task
    entry = Entry(
        task.id,
        START_DEADLINE_SLOT,
        EntryKind.START_DEADLINE,
        earliest,
        earliest,
        task.owner,
        task.policies.priority,
    )
    return change._replace(put=put if entry == former else (*put, entry), dropped=dropped)
