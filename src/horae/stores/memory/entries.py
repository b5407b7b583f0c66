"""Agenda table: each entry is in one priority queue (timed, ready per owner, parked per lane) or in none."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, deque
from collections.abc import Collection
from datetime import datetime
from itertools import zip_longest
from sys import maxsize
from typing import Final

from ...model.entry import CLAIMABLE, MAX_REPARKS, Entry, EntryState
from ...model.lanes.route import is_queue
from .queue import Key, Queue, Rank
from .table import Table, Transaction

_MAX_ENTRIES_PER_OWNER: Final = 16
"""Largest number of entries of one owner before the next owner is served."""


def key_of(entry: Entry) -> Key:
    return entry.task_id, entry.slot


class Entries(Table[Key, Entry]):
    """Entries by (task id, slot). `numbers` are the task numbers: among equal entries the older task is first."""

    def __init__(self, transaction: Transaction, numbers: Table[str, int]) -> None:
        super().__init__(transaction)
        self._numbers = numbers
        self._of_task: dict[str, dict[str, Entry]] = {}
        self._timed = Queue()
        self._ready = Queue()
        self._ready_by_owner: dict[str, Queue] = {}
        self._owners: list[str] = []
        self._queued: dict[str, Queue] = {}
        """Queues of routes, by due instant."""
        self._parked: dict[str, dict[str, Queue]] = {}
        """By lane and owner."""
        self._offered: Counter[str] = Counter()
        """Unparked entries that have not been claimed yet, by lane."""

    def of_task(self, task_id: str) -> tuple[Entry, ...]:
        slots = self._of_task.get(task_id, {})
        return tuple(slots[slot] for slot in sorted(slots))

    def priority_rank(self, entry: Entry) -> Rank:
        return Rank(-entry.priority, entry.due, self._numbers[entry.task_id])

    def _by_due(self, entry: Entry) -> Rank:
        return Rank(0, entry.due, self._numbers[entry.task_id])

    @property
    def has_backlog(self) -> bool:
        return len(self._ready) > 0

    def next_due(self) -> datetime | None:
        heads = [head.rank.due for head in (self._timed.head(), self._ready.head()) if head is not None]
        return min(heads, default=None)

    def due(self, now: datetime, most: int) -> list[Entry]:
        """Return at most `most` timed entries that are due, oldest first."""
        return [self[key] for key in self._timed.first(most, Rank(0, now, maxsize))]

    def move_due_to_ready(self, now: datetime) -> None:
        """Move all due entries to the ready queues of their owners."""
        for entry in self.due(now, len(self._timed)):
            self.write(key_of(entry), entry._replace(state=EntryState.READY))

    def rotate_owners(self, after: str, most: int) -> list[Entry]:
        """Return ready entries by round-robin from the owner after `after`; within an owner by priority, then due."""
        start = bisect_right(self._owners, after)
        owners = deque(self._owners[start:] + self._owners[:start])
        share = max(1, min(_MAX_ENTRIES_PER_OWNER, most // max(1, len(owners))))
        taken: list[tuple[Queue, Rank, Key]] = []
        while owners and len(taken) < most:
            queue = self._ready_by_owner[owner := owners.popleft()]
            taken.extend((queue, *each) for each in queue.pop_first(min(share, most - len(taken))))
            if len(queue):
                owners.append(owner)
        for queue, rank, key in taken:
            queue.put(key, rank)
        return [self[key] for _, _, key in taken]

    def offered(self, lane: str) -> int:
        return self._offered[lane]

    def has_parked(self, lane: str) -> bool:
        return lane in self._parked

    def parked(self, lane: str) -> list[Entry]:
        """Return all entries that are parked in a lane or for a route, by priority, then due."""
        entries = [self[key] for queue in self._parked.get(lane, {}).values() for key in queue.first(len(queue))]
        return sorted(entries, key=lambda entry: (self.priority_rank(entry), entry.slot))

    def first_parked(self, lane: str, most: int, last_owner: str) -> list[Entry]:
        """Return the entries that get the next slots of a lane: first those that were parked again too often, then owners
        in turn after the last one; within an owner by priority, then due."""
        if most <= 0 or lane not in self._parked:
            return []
        first = [entry for entry in self.parked(lane) if entry.reparks >= MAX_REPARKS][:most]
        queues = self._parked[lane]
        owners = sorted(queues)
        start = bisect_right(owners, last_owner)
        chosen = {key_of(entry) for entry in first}
        waiting = [
            [self[key] for key in queues[owner].first(most + len(first)) if key not in chosen]
            for owner in owners[start:] + owners[:start]
        ]
        in_turn = [entry for turn in zip_longest(*waiting) for entry in turn if entry is not None]
        return [*first, *in_turn][:most]

    def queue_heads(self) -> dict[str, datetime]:
        """Return the earliest due instant of each queue of a route."""
        heads = {name: queue.head() for name, queue in self._queued.items()}
        return {name: head.rank.due for name, head in sorted(heads.items()) if head is not None}

    def due_in_queues(self, queues: Collection[str], now: datetime, most: int) -> list[Entry]:
        """Return at most `most` entries that are due in these queues, oldest first."""
        found = [
            self[key]
            for name in queues
            if name in self._queued
            for key in self._queued[name].first(most, Rank(0, now, maxsize))
        ]
        return sorted(found, key=lambda entry: (self._by_due(entry), entry.slot))[:most]

    def update_indexes(self, before: Entry | None, after: Entry | None) -> None:
        if before is not None:
            self._remove_from_queue(before)
            self._count_offered(before, -1)
        if after is not None:
            self._add_to_queue(after)
            self._count_offered(after, 1)

    def _count_offered(self, entry: Entry, number: int) -> None:
        if entry.lane is not None and entry.state in CLAIMABLE:
            self._offered[entry.lane] += number

    def _add_to_queue(self, entry: Entry) -> None:
        key = key_of(entry)
        self._of_task.setdefault(entry.task_id, {})[entry.slot] = entry
        if entry.state is EntryState.TIMED and is_queue(entry.lane):
            self._queued.setdefault(entry.lane or "", Queue()).put(key, self._by_due(entry))
        elif entry.state is EntryState.TIMED:
            self._timed.put(key, self._by_due(entry))
        elif entry.state is EntryState.READY:
            self._ready.put(key, self._by_due(entry))
            if entry.owner not in self._ready_by_owner:
                insort(self._owners, entry.owner)
            self._ready_by_owner.setdefault(entry.owner, Queue()).put(key, self.priority_rank(entry))
        elif entry.state is EntryState.PARKED and entry.lane is not None:
            owners = self._parked.setdefault(entry.lane, {})
            owners.setdefault(entry.owner, Queue()).put(key, self.priority_rank(entry))

    def _remove_from_queue(self, entry: Entry) -> None:
        key = key_of(entry)
        slots = self._of_task[entry.task_id]
        del slots[entry.slot]
        if not slots:
            del self._of_task[entry.task_id]
        if entry.state is EntryState.TIMED and is_queue(entry.lane):
            queue = self._queued[entry.lane or ""]
            queue.discard(key)
            if not len(queue):
                del self._queued[entry.lane or ""]
        elif entry.state is EntryState.TIMED:
            self._timed.discard(key)
        elif entry.state is EntryState.READY:
            self._ready.discard(key)
            self._ready_by_owner[entry.owner].discard(key)
            if not len(self._ready_by_owner[entry.owner]):
                del self._ready_by_owner[entry.owner]
                self._owners.remove(entry.owner)
        elif entry.state is EntryState.PARKED and entry.lane is not None:
            owners = self._parked[entry.lane]
            owners[entry.owner].discard(key)
            if not len(owners[entry.owner]):
                del owners[entry.owner]
            if not owners:
                del self._parked[entry.lane]
