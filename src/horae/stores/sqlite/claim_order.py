"""Which of the entries that are due come next: in order of their instants, or owners in turn when there are too many."""

from __future__ import annotations

from typing import Final

from ...model.limits import CLAIM_SLICE
from ..owner_rotation import LONGEST_TURN, by_priority, one_of_each_task, taking_turns
from .connection import Link, Row
from .statements import sql

_TIMED_SLICE: Final = sql("timed_slice")
_READY_SLICE: Final = sql("ready_slice")
_QUEUE_OLDEST: Final = sql("queue_oldest")
_QUEUE_NEWEST: Final = sql("queue_newest")
_NOT_YET: Final = sql("not_yet")
_OWNERS_IN_TURN: Final = sql("owners_in_turn")
_ONE_ORDER: Final = sql("one_order")

_QUEUED_AT_ONCE: Final = 500
"""From each end of a backlog: who is on time must not wait until the oldest are done."""


class Turns:
    """`last` is whose turn it was last, `backlog` whether entries stand in their owners' queues.

    `reach` is the size of a slice: less than usual while decisions take so long that the rest would be read for nothing.
    """

    def __init__(self) -> None:
        self.last = ""
        self.backlog = False
        self.reach = CLAIM_SLICE

    def took(self, decided: int, offered: int) -> None:
        """So many of those that were offered could be decided in the time that there is for it."""
        self.reach = min(CLAIM_SLICE, 2 * self.reach) if decided == offered else max(LONGEST_TURN, decided)

    def slice(self, link: Link, now: int) -> list[Row]:
        """Rows of entries that are due, at most one of a task, best first."""
        rows = [] if self.backlog else link.query(_TIMED_SLICE, (now, self.reach + 1))
        if self.backlog or (len(rows) > self.reach and not link.query(_ONE_ORDER)[0][0]):
            rows = self._in_turn(link, now)
        else:
            rows = rows[: self.reach]
            if any(row[6] for row in rows):
                rows.sort(key=by_priority)
        return one_of_each_task(rows)

    def _in_turn(self, link: Link, now: int) -> list[Row]:
        """More of what is due goes to its owners' queues, and owners have their turns, from the one after the last."""
        link.query(_QUEUE_OLDEST, (now, _QUEUED_AT_ONCE))
        link.query(_QUEUE_NEWEST, (now, _QUEUED_AT_ONCE))
        link.query(_NOT_YET, (now,))
        owners = self._owners(link)
        if not owners:
            return []
        turn = max(1, min(LONGEST_TURN, CLAIM_SLICE // len(owners)))
        share = -(-CLAIM_SLICE // (len(owners) * turn)) * turn
        queues = [link.query(_READY_SLICE, (owner, share)) for owner in owners]
        if sum(map(len, queues)) < CLAIM_SLICE:
            # Some have less than their share: what they leave is for those who have more.
            for place, owner in enumerate(owners):
                if len(queues[place]) == share:
                    queues[place] = link.query(_READY_SLICE, (owner, CLAIM_SLICE))
        return taking_turns(queues, turn)[: self.reach]

    def _owners(self, link: Link) -> list[str]:
        """Whose turn it is, at most as many as a slice has places."""
        # No name lies between a name and the same with this character behind it.
        after_the_last = f"{self.last}\0" if self.last else ""
        found = link.query(_OWNERS_IN_TURN, {"from": after_the_last, "most": CLAIM_SLICE + 1})
        if len(found) < CLAIM_SLICE and after_the_last:
            first = link.query(_OWNERS_IN_TURN, {"from": "", "most": CLAIM_SLICE + 1})
            found += [row for row in first if row not in found]
        return [owner for (owner,) in found[:CLAIM_SLICE]]
