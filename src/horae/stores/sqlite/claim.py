"""Claiming: what is due leaves the agenda as runs, a slice at a time, owners in turn when there is more than that."""

from __future__ import annotations

from datetime import datetime
from time import thread_time
from typing import Final, NamedTuple

import apsw

from ...errors import StoreError
from ...model.change import Change, FireDecision
from ...model.entry import Entry
from ...model.ids import microseconds
from ...model.run import LIVE
from ...ports.store import Claim, Claimed
from ..codec.json_codecs import instants
from ..codec.rows import ENTRY_WIDTH, entry_from, new
from ..task_cache import Familiar
from .claim_order import Turns
from .connection import Link, Row
from .load_facts import Gathered
from .statements import sql
from .unit_of_work import Pending

_HEAD: Final = sql("head")
_NEXT_TOKEN: Final = sql("next_token")

_DECIDING_SECONDS: Final = 0.005
"""Of work, not of waiting: a thread that had to wait for the processor gains nothing by stopping early."""
_BETWEEN_LOOKS: Final = 16
_VERSION: Final = ENTRY_WIDTH
_ENTRIES: Final = ENTRY_WIDTH + 1


class _Asked(NamedTuple):
    """Who claims, when, how much, and who decides."""

    now: datetime
    node: str
    room: int
    decide: FireDecision


class Claimer:
    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar
        self._turns = Turns()

    def glance(self, link: Link, now: datetime, node: str, room: int) -> Claim | None:
        """The answer when there is nothing to write: an idle node must not cost a write."""
        joined, timed, ready = link.query(_HEAD, {"node": node})[0]
        self._turns.backlog = ready is not None
        if not joined:
            return Claim()
        if room > 0 and any(due is not None and due <= microseconds(now) for due in (timed, ready)):
            return None
        return _answer([], 0, now, timed, ready)

    def claim(self, link: Link, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        nothing = self.glance(link, now, node, room)
        if nothing is not None:
            return nothing
        rows = self._turns.slice(link, microseconds(now))
        claimed: list[Claimed] = []
        decided = self._fire(link, rows, _Asked(now, node, room, decide), claimed) if rows else 0
        if decided:
            self._turns.last = rows[decided - 1][5]
        _, timed, ready = link.query(_HEAD, {"node": node})[0]
        return _answer(claimed, decided, now, timed, ready)

    def _fire(self, link: Link, rows: list[Row], asked: _Asked, claimed: list[Claimed]) -> int:
        """Decide and write. If the ledger has some of it already, all is decided again, and each birth is looked up."""
        token: int = link.query(_NEXT_TOKEN)[0][0]
        link.query("SAVEPOINT slice")
        try:
            decided = self._decide(link, rows, asked, token, claimed, careful=False)
        except apsw.ConstraintError:
            link.query("ROLLBACK TO slice")
            self._familiar.forget()
            claimed.clear()
            decided = self._decide(link, rows, asked, token, claimed, careful=True)
        link.query("RELEASE slice")
        return decided

    def _decide(
        self, link: Link, rows: list[Row], asked: _Asked, token: int, claimed: list[Claimed], *, careful: bool
    ) -> int:
        """One after the other, until there is no room or it has taken too long; how many were decided."""
        gathered = Gathered(link, self._familiar, {row[0]: row[_VERSION] for row in rows})
        gathered.read_entries([row[0] for row in rows if row[_ENTRIES] > 1])
        pending = Pending(link, self._familiar)
        until = thread_time() + _DECIDING_SECONDS
        room, decide = asked.room, asked.decide
        decided = 0
        for row in rows:
            if len(claimed) >= room:
                break
            if decided % _BETWEEN_LOOKS == 0 and thread_time() > until:
                self._turns.took(decided, len(rows))
                break
            number = row[0]
            known = gathered.known[number]
            task = known[2]
            entry = entry_from(row, task[0])
            entries = gathered.entries.get(number) or (entry,)
            facts = gathered.facts(known, entries)
            change = decide(facts, entry, token)
            if careful:
                if made := pending.made(number, change):
                    change = decide(facts._replace(made=made), entry, token)
                change = pending.only_new(number, change)
            if row[1] not in change.dropped:
                _must_move(entry, change)
            pending.note(known, entries, change, gathered)
            for run in change.born:
                if run.state in LIVE:
                    claimed.append(new(Claimed, (change.task or task, run)))  # noqa: PERF401 - there is one
            decided += 1
        else:
            self._turns.took(decided, decided)
        pending.finish()
        return decided


def _answer(claimed: list[Claimed], decided: int, now: datetime, timed: int | None, ready: int | None) -> Claim:
    heads = [due for due in (timed, ready) if due is not None]
    head = instants[min(heads)] if heads else None
    return Claim(tuple(claimed), decided, head is not None and head <= now, head)


def _must_move(entry: Entry, change: Change) -> None:
    if not change.deleted and not any(put.slot == entry.slot for put in change.put):
        raise StoreError(f"The entry {entry.slot} of {entry.task_id} was decided, but would come due for ever.")
