"""Order of a claim: due entries by due instant, or in a backlog by round-robin between owners."""

from __future__ import annotations

from typing import Final

from ...model.limits import CLAIM_SLICE
from ..owner_rotation import MAX_ENTRIES_PER_OWNER, first_entry_per_task, interleave_owners, priority_key
from .connection import Row, SqliteConnection
from .statements import sql

_TIMED_SLICE: Final = sql("timed_slice")
_READY_SLICE: Final = sql("ready_slice")
_QUEUE_OLDEST: Final = sql("queue_oldest")
_QUEUE_NEWEST: Final = sql("queue_newest")
_UNQUEUE_NOT_DUE: Final = sql("unqueue_not_due")
_READY_OWNERS: Final = sql("ready_owners")
_DUE_ORDER_SUFFICES: Final = sql("due_order_suffices")

_QUEUE_BATCH: Final = 500
"""Entries that are made ready from each end of a backlog: recent entries must not wait for all of the oldest."""


class ClaimOrder:
    """State of the rotation between claims.

    `last` is the owner served last, `backlog` whether there are ready entries. `reach` is the size of a slice; it
    shrinks while decisions are slow, because rows beyond the time budget would be read in vain.
    """

    def __init__(self) -> None:
        self.last_owner = ""
        self.has_backlog = False
        self.slice_size = CLAIM_SLICE

    def adapt_slice_size(self, decided: int, offered: int) -> None:
        """Adapt the slice size: `decided` of the `offered` entries were decided within the time budget."""
        self.slice_size = (
            min(CLAIM_SLICE, 2 * self.slice_size) if decided == offered else max(MAX_ENTRIES_PER_OWNER, decided)
        )

    def read_slice(self, connection: SqliteConnection, now: int) -> list[Row]:
        """Read rows of due entries, at most one per task, in claim order."""
        rows = [] if self.has_backlog else connection.query(_TIMED_SLICE, (now, self.slice_size + 1))
        if self.has_backlog or (len(rows) > self.slice_size and not connection.query(_DUE_ORDER_SUFFICES)[0][0]):
            rows = self._read_rotation(connection, now)
        else:
            rows = rows[: self.slice_size]
            if any(row[6] for row in rows):
                rows.sort(key=priority_key)
        return first_entry_per_task(rows)

    def _read_rotation(self, connection: SqliteConnection, now: int) -> list[Row]:
        """Make more due entries ready, then read ready entries in rotation, from the owner after the last one."""
        connection.query(_QUEUE_OLDEST, (now, _QUEUE_BATCH))
        connection.query(_QUEUE_NEWEST, (now, _QUEUE_BATCH))
        connection.query(_UNQUEUE_NOT_DUE, (now,))
        owners = self._read_owners(connection)
        if not owners:
            return []
        rows_per_turn = max(1, min(MAX_ENTRIES_PER_OWNER, CLAIM_SLICE // len(owners)))
        share = -(-CLAIM_SLICE // (len(owners) * rows_per_turn)) * rows_per_turn
        queues = [connection.query(_READY_SLICE, (owner, share)) for owner in owners]
        if sum(map(len, queues)) < CLAIM_SLICE:
            # Owners with fewer entries leave part of the slice to owners with more.
            for index, owner in enumerate(owners):
                if len(queues[index]) == share:
                    queues[index] = connection.query(_READY_SLICE, (owner, CLAIM_SLICE))
        return interleave_owners(queues, rows_per_turn)[: self.slice_size]

    def _read_owners(self, connection: SqliteConnection) -> list[str]:
        """Return the next owners with ready entries, at most `CLAIM_SLICE`."""
        # The smallest string after a name is the name followed by a null character.
        first_owner = f"{self.last_owner}\0" if self.last_owner else ""
        owners = connection.query(_READY_OWNERS, {"from": first_owner, "most": CLAIM_SLICE + 1})
        if len(owners) < CLAIM_SLICE and first_owner:
            wrapped = connection.query(_READY_OWNERS, {"from": "", "most": CLAIM_SLICE + 1})
            owners += [row for row in wrapped if row not in owners]
        return [owner for (owner,) in owners[:CLAIM_SLICE]]
