"""Claiming: what is due leaves the agenda as runs, a slice at a time, while other nodes take theirs beside it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from time import thread_time
from typing import Final, NamedTuple

from ...errors import StoreError
from ...model.change import Change, Facts, FireDecision
from ...model.entry import Entry
from ...model.ids import microseconds
from ...model.run import LIVE
from ...ports.store import Claim, Claimed
from ..codec.json_codecs import instants
from ..codec.rows import ENTRY_WIDTH, Row, entry_from, new
from ..task_cache import Familiar
from .claim_order import Turns
from .connection import AlreadyMadeError, Link
from .load_facts import Gathered
from .transactions import Session
from .unit_of_work import Draft

_DECIDING_SECONDS: Final = 0.010
_BETWEEN_LOOKS: Final = 16
_OTHERS_ARE_AT_IT: Final = timedelta(milliseconds=50)
"""What is due and held by another node is looked at again after so long: it may have died in the middle."""
_VERSION: Final = ENTRY_WIDTH


class Asked(NamedTuple):
    """Who claims, when, how much, and who decides."""

    now: datetime
    node: str
    room: int
    decide: FireDecision


class _Begun(NamedTuple):
    """What the first look of a transaction says: the token of this claim, and the heads of the agenda. `alone`: there is
    no lane with a limit, and nobody is barred."""

    token: int
    timed: int | None
    ready: int | None
    alone: bool


class Claimer:
    def __init__(self, session: Session, familiar: Familiar, most: int) -> None:
        self._session = session
        self._familiar = familiar
        self._turns = Turns(most)
        self._head: datetime | None = None

    async def claim(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        """An idle node must not cost a write, so it looks first, unless it knows that something is due."""
        if room <= 0 or self._head is None or self._head > now:
            found = await self._session.ask("glance", node)
            if not found:
                return Claim()
            timed, ready = found[0]
            head = earlier(timed, ready)
            if room <= 0 or head is None or head > now:
                self._head = head
                return Claim((), 0, head is not None and head <= now, head)
        return await self._thoroughly(Asked(now, node, room, decide))

    async def _thoroughly(self, asked: Asked) -> Claim:
        try:
            return await self._claimed(asked, careful=False)
        except AlreadyMadeError:
            return await self._claimed(asked, careful=True)

    async def _claimed(self, asked: Asked, *, careful: bool) -> Claim:
        claim, draft = await self._session.transact(lambda link: self._claim(link, asked, careful=careful))
        if draft is not None:
            draft.learnt_by(self._familiar)
        self._head = claim.next_due
        return claim

    async def _claim(self, link: Link, asked: Asked, *, careful: bool) -> tuple[Claim, Draft | None]:
        """And what was written: of a transaction that is tried again, only the last try is."""
        found = await link.query("begin_claim", asked.node)
        if not found:
            return Claim(), None
        begun = _Begun(*found[0])
        now = microseconds(asked.now)
        self._turns.backlog = begun.ready is not None
        rows = await self._turns.slice(link, now, asked.room)
        claimed: list[Claimed] = []
        decided, draft = 0, None
        if rows:
            decided, draft = await self._decide(link, rows, asked, begun, claimed, careful=careful)
            await draft.finish(link)
        if decided:
            self._turns.last = rows[decided - 1][5]
        timed, ready = (await link.query("heads"))[0]
        return answer(claimed, decided, asked.now, earlier(timed, ready)), draft

    async def _gather(self, link: Link, rows: list[Row], begun: _Begun) -> Gathered:
        gathered = Gathered(self._familiar, {row[0]: row[_VERSION] for row in rows})
        await gathered.read_tasks(link)
        crowded = [number for number, queued in gathered.queued.items() if queued > 1]
        if familiar := [row[0] for row in rows if row[0] not in gathered.queued]:
            crowded += [number for (number,) in await link.query("crowded_agendas", familiar)]
        await gathered.read_entries(link, crowded)
        for row in rows:
            if row[0] not in gathered.entries:
                gathered.entries[row[0]] = (entry_from(row, gathered.known[row[0]].task.id),)
        await gathered.read_surroundings(link, alone=begun.alone)
        return gathered

    async def _decide(
        self, link: Link, rows: list[Row], asked: Asked, begun: _Begun, claimed: list[Claimed], *, careful: bool
    ) -> tuple[int, Draft]:
        """One after the other, until there is no room or it has taken too long; how many were decided."""
        gathered = await self._gather(link, rows, begun)
        draft = Draft(gathered)
        until = thread_time() + _DECIDING_SECONDS
        token, decide = begun.token, asked.decide
        decided = 0
        for row in rows:
            if len(claimed) >= asked.room:
                break
            if decided % _BETWEEN_LOOKS == 0 and thread_time() > until:
                self._turns.took(decided, len(rows))
                break
            number = row[0]
            known = gathered.known[number]
            entries = gathered.entries[number]
            entry = entries[0] if len(entries) == 1 else next(e for e in entries if e.slot == row[1])
            facts = gathered.facts(known, entries)
            if careful:
                change = await _only_new(link, draft, number, partial(_again, decide, entry, token), facts)
            else:
                change = decide(facts, entry, token)
                if facts.live and _is_born_again(change, facts):
                    raise AlreadyMadeError
            if row[1] not in change.dropped:
                _must_move(entry, change)
            draft.note(known, entries, change)
            for run in change.born:
                if run.state in LIVE:
                    claimed.append(new(Claimed, (change.task or known.task, run)))  # noqa: PERF401 - there is one
            decided += 1
        else:
            self._turns.took(decided, decided)
        return decided, draft


async def _only_new(link: Link, draft: Draft, number: int, decide: Callable[[Facts], Change], facts: Facts) -> Change:
    """Decided again, knowing which of its runs the ledger has; and those are not written again, whatever was said."""
    change = decide(facts)
    if made := await draft.made(link, number, change):
        change = decide(facts._replace(made=made))
    return await draft.only_new(link, number, change)


def _is_born_again(change: Change, facts: Facts) -> bool:
    """One that goes on, and that this same change may end: the ledger alone would not tell."""
    going = {run.id for run in facts.live}
    return any(run.id in going for run in change.born)


def _again(decide: FireDecision, entry: Entry, token: int, facts: Facts) -> Change:
    return decide(facts, entry, token)


def earlier(timed: int | None, ready: int | None) -> datetime | None:
    heads = [due for due in (timed, ready) if due is not None]
    return instants[min(heads)] if heads else None


def answer(claimed: list[Claimed], decided: int, now: datetime, head: datetime | None) -> Claim:
    if not decided and head is not None and head <= now:
        # Everything that is due is being taken by others just now.
        return Claim((), 0, more=False, next_due=now + _OTHERS_ARE_AT_IT)
    return Claim(tuple(claimed), decided, head is not None and head <= now, head)


def _must_move(entry: Entry, change: Change) -> None:
    if not change.deleted and not any(put.slot == entry.slot for put in change.put):
        raise StoreError(f"The entry {entry.slot} of {entry.task_id} was decided, but would come due for ever.")
