"""Claim order of due entries: by due instant, or round-robin by owner when there is a backlog.

Every node rotates through the owners on its own and skips rows that another node has locked (SKIP LOCKED), so that nodes
never wait for each other.
"""

from __future__ import annotations

from typing import Final

from ...model.limits import CLAIM_SLICE
from ..codec.columns import entry_key, entry_owner, entry_priority, entry_slot, entry_task
from ..codec.rows import Row
from ..owner_rotation import MAX_ENTRIES_PER_OWNER, first_entry_per_task, interleave_owners, priority_key
from .connection import Connection

_QUEUE_BATCH: Final = 500
"""Entries moved to the owners' queues at once, from each end of a backlog: an entry that is on time must not wait until
the oldest are done."""

_ROTATION_THRESHOLD: Final = 256
"""With more due entries than this, claims rotate through the owners, however large a slice may be."""
_MIN_LOCKED: Final = 32
"""Smallest number of entries to lock, however little room there is."""


class ClaimOrder:
    """Reads slices of due entries. `last_owner` was served last; `has_backlog`: the owners' queues hold entries.

    `slice_size` shrinks while decisions are slow, because the undecided rest of a slice is locked for nothing, and grows
    back up to `max_slice`.
    """

    def __init__(self, most: int = CLAIM_SLICE) -> None:
        self.last_owner = ""
        self.has_backlog = False
        self.max_slice = most
        self.slice_size = most

    def adapt_slice_size(self, decided: int, offered: int) -> None:
        """Adapt the slice size: `decided` of the `offered` entries could be decided within the time limit."""
        self.slice_size = (
            min(self.max_slice, 2 * self.slice_size) if decided == offered else max(MAX_ENTRIES_PER_OWNER, decided)
        )

    async def read_slice(self, connection: Connection, now: int, room: int) -> list[Row]:
        """Return locked rows of due entries, at most one per task, best first."""
        has_little_room = room < self.slice_size
        rows = (
            []
            if self.has_backlog
            else await connection.query(
                "peek_timed_slice" if has_little_room else "timed_slice", now, self.slice_size + 1
            )
        )
        if self.has_backlog or (
            len(rows) > min(self.slice_size, _ROTATION_THRESHOLD) and not await _is_due_order_sufficient(connection)
        ):
            return first_entry_per_task(await self._read_rotation(connection, now))
        rows = rows[: self.slice_size]
        if any(map(entry_priority, rows)):
            rows.sort(key=priority_key)
        rows = first_entry_per_task(rows)
        # Entries beyond the room are left to other nodes; twice the room is locked, because skipped occurrences use none.
        return await self._lock_rows(connection, now, rows[: max(2 * room, _MIN_LOCKED)]) if has_little_room else rows

    async def _read_rotation(self, connection: Connection, now: int) -> list[Row]:
        """Move more due entries to the owners' queues and take a slice round-robin, starting after the last owner."""
        await connection.query("queue_oldest", now, _QUEUE_BATCH)
        await connection.query("queue_newest", now, _QUEUE_BATCH)
        await connection.query("unqueue_not_due", now)
        owners = await self._read_owners(connection)
        if not owners:
            return []
        turn = max(1, min(MAX_ENTRIES_PER_OWNER, CLAIM_SLICE // len(owners)))
        share = -(-CLAIM_SLICE // (len(owners) * turn)) * turn
        queues = await self._read_queues(connection, owners, share)
        if sum(map(len, queues)) < CLAIM_SLICE and any(len(queue) == share for queue in queues):
            # Owners with less than their share leave room for those with more.
            owners_with_more = [owner for owner, queue in zip(owners, queues, strict=True) if len(queue) == share]
            more = dict(
                zip(owners_with_more, await self._read_queues(connection, owners_with_more, CLAIM_SLICE), strict=True)
            )
            queues = [more.get(owner, queue) for owner, queue in zip(owners, queues, strict=True)]
        chosen = interleave_owners(queues, turn)[: self.slice_size]
        return await self._lock_rows(connection, now, chosen)

    async def _read_queues(self, connection: Connection, owners: list[str], share: int) -> list[list[Row]]:
        queues: dict[str, list[Row]] = {owner: [] for owner in owners}
        for row in await connection.query("ready_slices", owners, share):
            queues[entry_owner(row)].append(row)
        return list(queues.values())

    async def _lock_rows(self, connection: Connection, now: int, chosen: list[Row]) -> list[Row]:
        """Lock the chosen rows, in their order, without those that another node has locked or changed meanwhile."""
        tasks, slots = list(map(entry_task, chosen)), list(map(entry_slot, chosen))
        locked = {entry_key(row): row for row in await connection.query("lock_entries", tasks, slots, now)}
        return [locked[key] for key in map(entry_key, chosen) if key in locked]

    async def _read_owners(self, connection: Connection) -> list[str]:
        """Return the next owners in rotation, at most as many as a slice has entries."""
        owners = [owner for (owner,) in await connection.query("ready_owners", self.last_owner, CLAIM_SLICE + 1)]
        if len(owners) < CLAIM_SLICE and self.last_owner:
            first = await connection.query("ready_owners", "", CLAIM_SLICE + 1)
            owners += [owner for (owner,) in first if owner not in owners]
        return owners[:CLAIM_SLICE]


async def _is_due_order_sufficient(connection: Connection) -> bool:
    """Whether the order of due instants needs no rotation of owners, because one owner has all tasks and none has a priority."""
    ((suffices,),) = await connection.query("due_order_suffices")
    return bool(suffices)
