"""Claiming: what is due leaves the agenda as runs, a slice at a time, owners in turn when there is more than that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from time import thread_time
from typing import Final

from ...errors import StoreError
from ...model.change import Change, FireDecision
from ...model.entry import Entry
from ...model.ids import microseconds
from ...model.limits import CLAIM_SLICE
from ...model.run import LIVE
from ...ports.store import Claim, Claimed
from .familiar import Familiar
from .gather import Gathered
from .link import Link, Row
from .pending import Pending
from .rows import ENTRY_WIDTH, entry_from
from .statements import sql
from .texts import instants

_HEAD: Final = sql("head")
_TIMED_SLICE: Final = sql("timed_slice")
_READY_SLICE: Final = sql("ready_slice")
_QUEUE_OLDEST: Final = sql("queue_oldest")
_QUEUE_NEWEST: Final = sql("queue_newest")
_NOT_YET: Final = sql("not_yet")
_OWNERS_IN_TURN: Final = sql("owners_in_turn")
_ONE_ORDER: Final = sql("one_order")
_NEXT_TOKEN: Final = sql("next_token")

_QUEUED_AT_ONCE: Final = 500
"""From each end of a backlog: who is on time must not wait until the oldest are done."""
_LONGEST_TURN: Final = 16
"""So many entries of one owner, and the next owner has its turn."""
_DECIDING_SECONDS: Final = 0.005
"""Of work, not of waiting: a thread that had to wait for the processor gains nothing by stopping early."""
_BETWEEN_LOOKS: Final = 16
_VERSION: Final = ENTRY_WIDTH
_ENTRIES: Final = ENTRY_WIDTH + 1


class Claimer:
    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar
        self._last_turn = ""
        self._backlog = False

    def glance(self, link: Link, now: datetime, node: str, room: int) -> Claim | None:
        """The answer when there is nothing to write: an idle node must not cost a write."""
        joined, timed, ready = link.query(_HEAD, {"node": node})[0]
        self._backlog = ready is not None
        if not joined:
            return Claim()
        if room > 0 and any(due is not None and due <= microseconds(now) for due in (timed, ready)):
            return None
        return _answer((), 0, now, timed, ready)

    def claim(self, link: Link, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        nothing = self.glance(link, now, node, room)
        if nothing is not None:
            return nothing
        rows = self._slice(link, microseconds(now))
        claimed: list[Claimed] = []
        decided = self._fire(link, rows, room, decide, claimed) if rows else 0
        if decided:
            self._last_turn = rows[decided - 1][5]
        _, timed, ready = link.query(_HEAD, {"node": node})[0]
        self._backlog = ready is not None
        return _answer(tuple(claimed), decided, now, timed, ready)

    def _slice(self, link: Link, now: int) -> list[Row]:
        """At most one entry of a task, best first."""
        rows = [] if self._backlog else link.query(_TIMED_SLICE, (now, CLAIM_SLICE + 1))
        if self._backlog or (len(rows) > CLAIM_SLICE and not link.query(_ONE_ORDER)[0][0]):
            rows = self._in_turn(link, now)
        else:
            rows = sorted(rows[:CLAIM_SLICE], key=_by_priority)
        first_of_task: dict[int, Row] = {}
        for row in rows:
            first_of_task.setdefault(row[0], row)
        return list(first_of_task.values())

    def _in_turn(self, link: Link, now: int) -> list[Row]:
        """More of what is due goes to its owners' queues, and owners have their turns, the one after the last one first."""
        link.query(_QUEUE_OLDEST, (now, _QUEUED_AT_ONCE))
        link.query(_QUEUE_NEWEST, (now, _QUEUED_AT_ONCE))
        link.query(_NOT_YET, (now,))
        owners = self._owners(link)
        if not owners:
            return []
        turn = max(1, min(_LONGEST_TURN, CLAIM_SLICE // len(owners)))
        share = -(-CLAIM_SLICE // (len(owners) * turn)) * turn
        queues = [link.query(_READY_SLICE, (owner, share)) for owner in owners]
        if sum(map(len, queues)) < CLAIM_SLICE:
            # Some have less than their share: what they leave is for those who have more.
            for place, owner in enumerate(owners):
                if len(queues[place]) == share:
                    queues[place] = link.query(_READY_SLICE, (owner, CLAIM_SLICE))
        return _taking_turns(queues, turn)

    def _owners(self, link: Link) -> list[str]:
        """Whose turn it is, at most as many as a slice has places."""
        # No name lies between a name and the same with this character behind it.
        after_the_last = f"{self._last_turn}\0" if self._last_turn else ""
        found = link.query(_OWNERS_IN_TURN, {"from": after_the_last, "most": CLAIM_SLICE + 1})
        if len(found) < CLAIM_SLICE and after_the_last:
            found += [
                row for row in link.query(_OWNERS_IN_TURN, {"from": "", "most": CLAIM_SLICE + 1}) if row not in found
            ]
        return [owner for (owner,) in found[:CLAIM_SLICE]]

    def _fire(self, link: Link, rows: Sequence[Row], room: int, decide: FireDecision, claimed: list[Claimed]) -> int:
        """How many were decided. What was made already according to the ledger is decided again without it."""
        made: set[str] = set()
        while True:
            link.query("SAVEPOINT slice")
            token: int = link.query(_NEXT_TOKEN)[0][0]
            changes = self._decide(link, rows, room, _only_new(decide, made), token, claimed)
            try:
                self._pending.finish()
            except apsw.ConstraintError:
                link.query("ROLLBACK TO slice")
        
def _answer(claimed: tuple[Claimed, ...], decided: int, now: datetime, timed: int | None, ready: int | None) -> Claim:
    heads = [due for due in (timed, ready) if due is not None]
    head = instants[min(heads)] if heads else None
    return Claim(claimed, decided, head is not None and head <= now, head)


def _by_priority(row: Row) -> tuple[int, int, int, str]:
    return -row[6], row[3], row[0], row[1]


def _taking_turns(queues: list[list[Row]], turn: int) -> list[Row]:
    taken: list[Row] = []
    start = 0
    while len(taken) < CLAIM_SLICE and any(len(queue) > start for queue in queues):
        for queue in queues:
            taken.extend(queue[start : start + turn])
        start += turn
    return taken[:CLAIM_SLICE]


def _must_move(entry: Entry, change: Change) -> None:
    slot = entry.slot
    if slot in change.dropped or change.deleted or any(put.slot == slot for put in change.put):
        return
    raise StoreError(f"The entry {slot} of {entry.task_id} was decided, but would come due for ever.")
