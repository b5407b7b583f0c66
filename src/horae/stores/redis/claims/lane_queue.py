"""Queue of a lane: chooses the parked entries that get its free slots, owners in turn."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest

from ....model.entry import MAX_REPARKS, EntryState
from ..layout.documents import TaskDocument
from ..layout.keys import EntryName, entry_member, parse_entry_member, priority_of_member
from ..transactions.transaction import Transaction


class _Changes:
    """Parked entries of a lane that this transaction has added or removed: the sets have them after the commit alone."""

    def __init__(self, lane: str, documents: Iterable[tuple[TaskDocument | None, TaskDocument | None]]) -> None:
        before: set[str] = set()
        after: set[str] = set()
        self._reparked: set[str] = set()
        for old, new in documents:
            before |= _parked_members(lane, old)
            after |= _parked_members(lane, new)
            self._reparked |= _parked_members(lane, new, MAX_REPARKS)
        self.removed = before - after
        self.added = after - before

    def correct(self, members: Iterable[str], *, reparked: bool, owner: str | None = None) -> list[str]:
        """Return members that were read, as they are after this transaction, in their order."""
        added = self.added & self._reparked if reparked else self.added
        mine = {each for each in added if owner in (None, parse_entry_member(each).owner)}
        return sorted({*members} - self.removed | mine)


def _parked_members(lane: str, document: TaskDocument | None, reparks: int = 0) -> set[str]:
    if document is None:
        return set()
    return {
        entry_member(document.number, entry)
        for entry in document.entries
        if entry.lane == lane and entry.state is EntryState.PARKED and entry.reparks >= reparks
    }


async def choose_parked(
    transaction: Transaction,
    lane: str,
    count: int,
    last_owner: str,
    documents: Iterable[tuple[TaskDocument | None, TaskDocument | None]],
) -> list[EntryName]:
    """Return the entries that get the next slots: first those that were parked again too often, then owners in turn after
    the last one, within an owner by priority, then due. `documents` are those of this transaction, before and after it.

    The document of the lane was read, so the commit fails if another client changes the queue meanwhile.
    """
    keys, client = transaction.keys, transaction.client
    changes = _Changes(lane, documents)
    spare = len(changes.removed)
    reparked, known_owners = await client.call_all(
        [
            ("ZRANGE", keys.reparked(lane), 0, count + spare - 1),
            ("ZRANGE", keys.lane_owners(lane), 0, -1),
        ]
    )
    first = changes.correct(reparked, reparked=True)[:count]
    if len(first) == count:
        return [parse_entry_member(member) for member in first]
    owners = sorted({*known_owners, *(parse_entry_member(member).owner for member in changes.added)})
    start = bisect_right(owners, last_owner)
    in_turn = (owners[start:] + owners[:start])[: count + spare]
    each = (1 if len(in_turn) > count else count) + len(first) + spare
    found = await client.call_all([("ZRANGE", keys.parked(lane, owner), 0, each - 1) for owner in in_turn])
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for owner, members in zip(in_turn, found, strict=True):
        corrected = changes.correct(members, reparked=False, owner=owner)
        waiting[owner] = [member for member in corrected if member not in first]
    turns = [member for turn in zip_longest(*waiting.values()) for member in turn if member is not None]
    return [parse_entry_member(member) for member in [*first, *turns][:count]]


async def read_waiters(transaction: Transaction, lane: str) -> list[tuple[str, int]]:
    """Return owner and priority of the first entry of each owner that waits in a lane: none of its others is higher."""
    keys, client = transaction.keys, transaction.client
    owners = await client.call("ZRANGE", keys.lane_owners(lane), 0, -1)
    first = await client.call_all([("ZRANGE", keys.parked(lane, owner), 0, 0) for owner in owners])
    return [(owner, priority_of_member(members[0])) for owner, members in zip(owners, first, strict=True) if members]
