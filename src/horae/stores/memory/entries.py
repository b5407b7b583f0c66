"""The agenda: every entry stands in one place, timed, ready in its owner's queue, parked at a lane, or out of reach."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from datetime import datetime
from sys import maxsize
from typing import Final

from ...model.entry import Entry, Stand
from .queue import Key, Queue, Rank
from .table import Table, Transaction

_LONGEST_TURN: Final = 16
"""So many entries of one owner, and the next owner has its turn."""


def key_of(entry: Entry) -> Key:
    return entry.task_id, entry.slot


class Entries(Table[Key, Entry]):
    """`numbers` are those of the tasks, in the order in which they were added: among equals that one is first."""

    def __init__(self, transaction: Transaction, numbers: Table[str, int]) -> None:
        super().__init__(transaction)
        self._numbers = numbers
        self._of_task: dict[str, dict[str, Entry]] = {}
        self._timed = Queue()
        self._ready = Queue()
        self._ready_by_owner: dict[str, Queue] = {}
        self._owners: list[str] = []
        self._parked: dict[str, Queue] = {}

    def of_task(self, task_id: str) -> tuple[Entry, ...]:
        slots = self._of_task.get(task_id, {})
        return tuple(slots[slot] for slot in sorted(slots))

    def by_priority(self, entry: Entry) -> Rank:
        return -entry.priority, entry.due, self._numbers[entry.task_id]

    def _by_due(self, entry: Entry) -> Rank:
        return 0, entry.due, self._numbers[entry.task_id]

    @property
    def backlog(self) -> bool:
        return len(self._ready) > 0

    def next_due(self) -> datetime | None:
        heads = [head[0][1] for head in (self._timed.head(), self._ready.head()) if head is not None]
        return min(heads, default=None)

    def due(self, now: datetime, most: int) -> list[Entry]:
        """Timed entries that are due, the oldest first."""
        return [self[key] for key in self._timed.first(most, (0, now, maxsize))]

    def queue_up(self, now: datetime) -> None:
        """Everything that is due goes to its owner's queue."""
        for entry in self.due(now, len(self._timed)):
            self.write(key_of(entry), entry._replace(stand=Stand.READY))

    def in_turn(self, after: str, most: int) -> list[Entry]:
        """Ready entries, owners in turn from the one after `after`, each owner's by priority, then due."""
        place = bisect_right(self._owners, after)
        owners = deque(self._owners[place:] + self._owners[:place])
        turn = max(1, min(_LONGEST_TURN, most // max(1, len(owners))))
        seen: list[tuple[Queue, Rank, Key]] = []
        while owners and len(seen) < most:
            queue = self._ready_by_owner[owner := owners.popleft()]
            seen.extend((queue, *each) for each in queue.pop_first(min(turn, most - len(seen))))
            if len(queue):
                owners.append(owner)
        for queue, rank, key in seen:
            queue.put(key, rank)
        return [self[key] for _, _, key in seen]

    def first_parked(self, lane: str, most: int) -> list[Entry]:
        queue = self._parked.get(lane)
        return [] if queue is None else [self[key] for key in queue.first(most)]

    def indexed(self, before: Entry | None, after: Entry | None) -> None:
        if before is not None:
            self._leave(before)
        if after is not None:
            self._enter(after)

    def _enter(self, entry: Entry) -> None:
        key = key_of(entry)
        self._of_task.setdefault(entry.task_id, {})[entry.slot] = entry
        if entry.stand is Stand.TIMED:
            self._timed.put(key, self._by_due(entry))
        elif entry.stand is Stand.READY:
            self._ready.put(key, self._by_due(entry))
            if entry.owner not in self._ready_by_owner:
                insort(self._owners, entry.owner)
            self._ready_by_owner.setdefault(entry.owner, Queue()).put(key, self.by_priority(entry))
        elif entry.stand is Stand.PARKED and entry.lane is not None:
            self._parked.setdefault(entry.lane, Queue()).put(key, self.by_priority(entry))

    def _leave(self, entry: Entry) -> None:
        key = key_of(entry)
        slots = self._of_task[entry.task_id]
        del slots[entry.slot]
        if not slots:
            del self._of_task[entry.task_id]
        if entry.stand is Stand.TIMED:
            self._timed.discard(key)
        elif entry.stand is Stand.READY:
            self._ready.discard(key)
            self._ready_by_owner[entry.owner].discard(key)
            if not len(self._ready_by_owner[entry.owner]):
                del self._ready_by_owner[entry.owner]
                self._owners.remove(entry.owner)
        elif entry.stand is Stand.PARKED and entry.lane is not None:
            self._parked[entry.lane].discard(key)
            if not len(self._parked[entry.lane]):
                del self._parked[entry.lane]
