"""Claim order of due entries: by due instant, or round-robin by owner when there is a backlog.

Every node rotates through the owners on its own. On a server it skips rows that another node has locked (SKIP LOCKED), so
that nodes never wait for each other.
"""

from __future__ import annotations

from typing import Final

from ....model.limits import CLAIM_SLICE
from ...claim_rules import ClaimPosition, divide_slice, first_entry_per_task, interleave_owners
from ...codec.columns import entry_key, entry_owner, entry_slot, entry_task
from ...codec.rows import Row
from ..connection import Statements
from ..dialect import Dialect

_QUEUE_BATCH: Final = 500
"""Entries moved to the owners' queues at once, from each end of a backlog: an entry that is on time must not wait until
the oldest are done."""

_ROTATION_THRESHOLD: Final = 256
"""With more due entries than this, claims rotate through the owners, however large a slice may be."""
_MIN_LOCKED: Final = 32
"""Smallest number of entries to lock, however little room there is."""


class ClaimOrder(ClaimPosition):
    """Reads slices of due entries, and locks them where others write too; the undecided rest is locked for nothing."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect.max_claim_slice)
        self._has_concurrent_writers = dialect.has_concurrent_writers

    async def read_slice(self, connection: Statements, now: int, room: int) -> list[Row]:
        """Return rows of due entries, locked, at most one per task, best first."""
        has_little_room = self._has_concurrent_writers and room < self.slice_size
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
        rows = self.order_due(rows)
        # Entries beyond the room are left to other nodes; twice the room is locked, because skipped occurrences use none.
        return await self._lock_rows(connection, now, rows[: max(2 * room, _MIN_LOCKED)]) if has_little_room else rows

    async def _read_rotation(self, connection: Statements, now: int) -> list[Row]:
        """Move more due entries to the owners' queues and take a slice round-robin, starting after the last owner."""
        await connection.query("queue_oldest", now, _QUEUE_BATCH)
        await connection.query("queue_newest", now, _QUEUE_BATCH)
        await connection.query("unqueue_not_due", now)
        owners = await self._read_owners(connection)
        if not owners:
            return []
        turn, share = divide_slice(len(owners))
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

    async def _read_queues(self, connection: Statements, owners: list[str], share: int) -> list[list[Row]]:
        queues: dict[str, list[Row]] = {owner: [] for owner in owners}
        for row in await connection.query("ready_slices", owners, share):
            queues[entry_owner(row)].append(row)
        return list(queues.values())

    async def _lock_rows(self, connection: Statements, now: int, chosen: list[Row]) -> list[Row]:
        """Lock the chosen rows, in their order, without those that another node has locked or changed meanwhile."""
        if not self._has_concurrent_writers:
            return chosen
        tasks, slots = list(map(entry_task, chosen)), list(map(entry_slot, chosen))
        locked = {entry_key(row): row for row in await connection.query("lock_entries", tasks, slots, now)}
        return [locked[key] for key in map(entry_key, chosen) if key in locked]

    async def _read_owners(self, connection: Statements) -> list[str]:
        """Return the next owners in rotation, at most as many as a slice has entries."""
        owners = [owner for (owner,) in await connection.query("ready_owners", self.last_owner, CLAIM_SLICE + 1)]
        if len(owners) < CLAIM_SLICE and self.last_owner:
            first = await connection.query("ready_owners", "", CLAIM_SLICE + 1)
            owners += [owner for (owner,) in first if owner not in owners]
        return owners[:CLAIM_SLICE]


async def _is_due_order_sufficient(connection: Statements) -> bool:
    """Whether the order of due instants needs no rotation of owners, because one owner has all tasks and none has a priority."""
    ((suffices,),) = await connection.query("due_order_suffices")
    return bool(suffices)
