"""Claiming: what is due leaves the agenda as runs, a slice at a time, owners in turn when there is more than that."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from time import perf_counter
from typing import Final

from ...errors import StoreError
from ...model.change import Change, Facts, FireDecision
from ...model.entry import Entry
from ...model.ids import microseconds
from ...model.limits import CLAIM_SLICE
from ...model.run import LIVE
from ...ports.store import Claim, Claimed
from .gather import Definitions, Gathered
from .link import Link, Row
from .pending import Known, Pending
from .rows import ENTRY_WIDTH, STANDING_WIDTH, entry_from, standing_from
from .statements import sql
from .texts import instants

_HEAD: Final = sql("head")
_TIMED_SLICE: Final = sql("timed_slice")
_READY_SLICE: Final = sql("ready_slice")
_QUEUE_OLDEST: Final = sql("queue_oldest")
_QUEUE_NEWEST: Final = sql("queue_newest")
_NOT_YET: Final = sql("not_yet")
_OWNERS_IN_TURN: Final = sql("owners_in_turn")
_NEXT_TOKEN: Final = sql("next_token")

_QUEUED_AT_ONCE: Final = 1_000
"""From each end of a backlog: who is on time must not wait until the oldest are done."""
_LONGEST_TURN: Final = 16
"""So many entries of one owner, and the next owner has its turn."""
_DECIDING_SECONDS: Final = 0.005
_BETWEEN_LOOKS: Final = 16
_ENTRIES: Final = ENTRY_WIDTH + STANDING_WIDTH
_LIVE: Final = _ENTRIES + 1


class Claimer:
    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._last_turn = ""

    def glance(self, link: Link, now: datetime, node: str, room: int) -> Claim | None:
        """The answer when there is nothing to write: an idle node must not cost a write."""
        joined, timed, ready = link.query(_HEAD, {"node": node})[0]
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
        return _answer(tuple(claimed), decided, now, timed, ready)

    def _slice(self, link: Link, now: int) -> list[Row]:
        """At most one entry of a task, best first."""
        rows = self._in_turn(link, now)
        if rows is None:
            rows = link.query(_TIMED_SLICE, (now, CLAIM_SLICE + 1))
            if len(rows) > CLAIM_SLICE:
                self._queue_up(link, now)
                rows = self._in_turn(link, now) or []
            else:
                rows.sort(key=_by_priority)
        first_of_task: dict[int, Row] = {}
        for row in rows:
            first_of_task.setdefault(row[0], row)
        return list(first_of_task.values())

    def _queue_up(self, link: Link, now: int) -> None:
        link.query(_QUEUE_OLDEST, (now, _QUEUED_AT_ONCE))
        link.query(_QUEUE_NEWEST, (now, _QUEUED_AT_ONCE))

    def _in_turn(self, link: Link, now: int) -> list[Row] | None:
        """Ready entries, from the owner after the last one; None when there is no backlog."""
        owners = self._owners(link)
        if not owners:
            return None
        self._queue_up(link, now)
        link.query(_NOT_YET, (now,))
        owners = self._owners(link)
        turn = max(1, min(_LONGEST_TURN, CLAIM_SLICE // max(1, len(owners))))
        rounds = -(-CLAIM_SLICE // max(1, len(owners) * turn))
        queues = [link.query(_READY_SLICE, (owner, rounds * turn)) for owner in owners]
        return _taking_turns(queues, turn)

    def _owners(self, link: Link) -> list[str]:
        """Whose turn it is, at most as many as a slice has places."""
        found = [row[0] for row in link.query(_OWNERS_IN_TURN, {"after": self._last_turn, "most": CLAIM_SLICE + 1})]
        if len(found) < CLAIM_SLICE and self._last_turn:
            first = link.query(_OWNERS_IN_TURN, {"after": "", "most": CLAIM_SLICE + 1})
            found.extend(row[0] for row in first if row[0] not in found)
        return found[:CLAIM_SLICE]

    def _fire(self, link: Link, rows: Sequence[Row], room: int, decide: FireDecision, claimed: list[Claimed]) -> int:
        """Decide on one after the other, until there is no room or it has taken too long; how many were decided."""
        token: int = link.query(_NEXT_TOKEN)[0][0]
        gathered = Gathered(link, self._definitions, {row[0]: row[ENTRY_WIDTH] for row in rows})
        gathered.read_entries([row[0] for row in rows if row[_ENTRIES] > 1])
        gathered.read_live([row[0] for row in rows if row[_LIVE]])
        pending = Pending()
        until = perf_counter() + _DECIDING_SECONDS
        decided = 0
        for row in rows:
            if len(claimed) >= room or (decided % _BETWEEN_LOOKS == 0 and perf_counter() > until):
                break
            facts, entry = _seen(gathered, row)
            change = decide(facts, entry, token)
            _must_move(entry, change)
            pending.note(Known(row[0], row[ENTRY_WIDTH], facts), change, gathered)
            task = facts.task if change.task is None else change.task
            claimed.extend([Claimed(task, run) for run in change.born if run.state in LIVE])
            decided += 1
        pending.finish(link)
        return decided


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


def _seen(gathered: Gathered, row: Row) -> tuple[Facts, Entry]:
    number = row[0]
    task = gathered.tasks[number]
    entry = entry_from(row, task.id)
    return Facts(
        task,
        standing_from(row[ENTRY_WIDTH:_ENTRIES]),
        gathered.entries.get(number) or (entry,),
        gathered.live.get(number, ()),
        gathered.surroundings.lanes_of(task),
        gathered.surroundings.barred.get(task.owner),
    ), entry


def _must_move(entry: Entry, change: Change) -> None:
    slot = entry.slot
    if slot in change.dropped or change.deleted or any(put.slot == slot for put in change.put):
        return
    raise StoreError(f"The entry {slot} of {entry.task_id} was decided, but would come due for ever.")
