"""Which of the entries that are due come next: in order of their instants, or owners in turn when there are too many.

Every node has its own turn, and skips what another is just taking: nobody waits for anybody.
"""

from __future__ import annotations

from typing import Final

from ...model.limits import CLAIM_SLICE
from ..codec.rows import Row
from ..owner_rotation import LONGEST_TURN, by_priority, one_of_each_task, taking_turns
from .connection import Link

_QUEUED_AT_ONCE: Final = 500
"""From each end of a backlog: who is on time must not wait until the oldest are done."""

_CROWD: Final = 256
"""With more than so many that are due, owners have their turns, however many of them a slice could take."""
_AT_LEAST: Final = 32
"""So many are held, however little room there is."""


class Turns:
    """`last` is whose turn it was last, `backlog` whether entries stand in their owners' queues.

    `reach` is the size of a slice: less than usual while decisions take so long that the rest would be held for nothing.
    """

    def __init__(self, most: int = CLAIM_SLICE) -> None:
        self.last = ""
        self.backlog = False
        self.most = most
        self.reach = most

    def took(self, decided: int, offered: int) -> None:
        """So many of those that were offered could be decided in the time that there is for it."""
        self.reach = min(self.most, 2 * self.reach) if decided == offered else max(LONGEST_TURN, decided)

    async def slice(self, link: Link, now: int, room: int) -> list[Row]:
        """Rows of entries that are due, at most one of a task, best first; nobody else can take them meanwhile."""
        few = room < self.reach
        rows = [] if self.backlog else await link.query("peek" if few else "timed_slice", now, self.reach + 1)
        if self.backlog or (len(rows) > min(self.reach, _CROWD) and not (await link.query("one_order"))[0][0]):
            return one_of_each_task(await self._in_turn(link, now))
        rows = rows[: self.reach]
        if any(row[6] for row in rows):
            rows.sort(key=by_priority)
        rows = one_of_each_task(rows)
        # What there is no room for is left to others; but what is only skipped takes none.
        return await self._held(link, now, rows[: max(2 * room, _AT_LEAST)]) if few else rows

    async def _in_turn(self, link: Link, now: int) -> list[Row]:
        """More of what is due goes to its owners' queues, and owners have their turns, from the one after the last."""
        await link.query("queue_oldest", now, _QUEUED_AT_ONCE)
        await link.query("queue_newest", now, _QUEUED_AT_ONCE)
        await link.query("not_yet", now)
        owners = await self._owners(link)
        if not owners:
            return []
        turn = max(1, min(LONGEST_TURN, CLAIM_SLICE // len(owners)))
        share = -(-CLAIM_SLICE // (len(owners) * turn)) * turn
        queues = await self._queues(link, owners, share)
        if sum(map(len, queues)) < CLAIM_SLICE and any(len(queue) == share for queue in queues):
            # Some have less than their share: what they leave is for those who have more.
            longer = [owner for owner, queue in zip(owners, queues, strict=True) if len(queue) == share]
            more = dict(zip(longer, await self._queues(link, longer, CLAIM_SLICE), strict=True))
            queues = [more.get(owner, queue) for owner, queue in zip(owners, queues, strict=True)]
        wanted = taking_turns(queues, turn)[: self.reach]
        return await self._held(link, now, wanted)

    async def _queues(self, link: Link, owners: list[str], share: int) -> list[list[Row]]:
        found: dict[str, list[Row]] = {owner: [] for owner in owners}
        for row in await link.query("ready_slices", owners, share):
            found[row[5]].append(row)
        return list(found.values())

    async def _held(self, link: Link, now: int, wanted: list[Row]) -> list[Row]:
        """What was chosen, as far as nobody else has taken it or moved it on meanwhile, in the order in which it was chosen."""
        rows = await link.query("hold_entries", [row[0] for row in wanted], [row[1] for row in wanted], now)
        by_slot = {(row[0], row[1]): row for row in rows}
        return [by_slot[row[0], row[1]] for row in wanted if (row[0], row[1]) in by_slot]

    async def _owners(self, link: Link) -> list[str]:
        """Whose turn it is, at most as many as a slice has places."""
        found = [owner for (owner,) in await link.query("owners_in_turn", self.last, CLAIM_SLICE + 1)]
        if len(found) < CLAIM_SLICE and self.last:
            first = await link.query("owners_in_turn", "", CLAIM_SLICE + 1)
            found += [owner for (owner,) in first if owner not in found]
        return found[:CLAIM_SLICE]
