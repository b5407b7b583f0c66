"""Claim: reads due entries with one script, decides them, and commits with another; a backlog is reserved between the two."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from ....errors import StoreError
from ....lifecycle.batch import ClaimDecision
from ....model.change import FireDecision
from ....model.ids import to_microseconds
from ....model.limits import CLAIM_SLICE
from ....ports.store import Claim, LinkObserver
from ...chains import ignore_links
from ..layout.document_cache import DocumentCache
from ..layout.documents import StoredTask, decode_task_document, parse_task_document, state_line_at
from ..layout.keys import EntryName, parse_entry_member
from ..layout.lane_documents import decode_limits
from ..transactions.runner import RedisTransactions
from ..transactions.transaction import Committed, Transaction, Word
from ..transactions.unit_of_work import UnitOfWork, read_limits
from .agenda_heads import earliest_of_queues, head_commands, head_of
from .decision_round import DecisionRound, find_entry, is_single
from .upcoming import Upcoming, UpcomingEntries

MAX_CLAIM_SLICE: Final = CLAIM_SLICE
RESERVATION_MICROSECONDS: Final = 5_000_000
_EPOCH_SHIFT: Final = 40
_MIN_RESERVED: Final = 32
"""Smallest number of entries to reserve, however little room there is: skipped occurrences use none."""
_MAX_SEEN: Final = 128
"""Most due entries that are left on the agenda until the commit. A reservation is one more write, and one more sync."""
_CONTENDED_CLAIMS: Final = 64
"""Claims that reserve after one that another claim has overtaken: nodes that wake at one instant decide the same otherwise."""


class ClaimRequest(NamedTuple):
    now: datetime
    node: str
    room: int
    decide: FireDecision
    queues: tuple[str, ...] = ()
    """Queues of routes whose entries are claimed; none: the agenda of all nodes."""


class _Taken(NamedTuple):
    """Due entries with documents as they were when they were read."""

    is_reserved: bool
    """Whether this node alone may decide them for a short time. Else the commit checks that no other claim was faster."""
    epoch: int
    counter: int
    """Of the fencing token; of the one before it, if the entries are not reserved."""
    node: str
    limits: str | None
    members: list[str]
    names: list[EntryName]
    documents: list[str | None]
    left: Upcoming | None = None
    """What the claim before has read beyond these entries, if it has read them as well: the commit checks that no others are due."""

    @property
    def token(self) -> int:
        return (self.epoch << _EPOCH_SHIFT) + self.counter + (not self.is_reserved)


class _Decided(NamedTuple):
    claim: Claim | None
    """None: the node is gone."""
    unit: UnitOfWork
    last_owner: str | None = None
    is_overtaken: bool = False
    """Whether nothing was decided, because another client has changed what was read."""
    asks_upcoming: bool = False
    """Whether the last answer of the commit is that of `UPCOMING`."""


class Claimer:
    """Claims due entries for this node."""

    def __init__(self, database: RedisTransactions, cache: DocumentCache) -> None:
        self._database = database
        self._cache = cache
        self._last_owner = ""
        self._contended = 0
        """Number of claims to come that reserve their entries in any case."""
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        """Claims of this process do not overtake each other: one waits until another has committed what it left on the agenda."""
        self._upcoming: Final = UpcomingEntries()
        self.on_linked: LinkObserver = ignore_links

    async def claim(self, request: ClaimRequest) -> Claim:
        if request.room <= 0:
            return await self._look(request)
        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            may_see = not self._contended
            self._contended = max(0, self._contended - 1)
            if may_see and not request.queues:
                claim = await self._claim_upcoming(request)
                if claim is not None:
                    return claim
            answer = await self._take(request, may_see=may_see)
            if answer[0] == "seen":
                claim = await self._claim_taken(request, answer)
                if claim is not None:
                    return claim
                self._contended = _CONTENDED_CLAIMS
                answer = await self._take(request, may_see=False)
        claim = await self._claim_taken(request, answer)
        if claim is None:
            raise AssertionError("a reservation cannot be overtaken")
        return claim

    async def _claim_taken(self, request: ClaimRequest, answer: Sequence[Any]) -> Claim | None:
        """Decide what was read, and commit; None if another claim was faster, which a reservation prevents."""
        kind, *rest = answer
        if kind == "gone":
            return Claim()
        if kind == "idle":
            return await self._idle(request, rest)
        return await self._commit_taken(request, _build_taken(rest, is_reserved=kind == "reserved"))

    async def _claim_upcoming(self, request: ClaimRequest) -> Claim | None:
        """Claim entries that the last claim has read; None if there are none, or the agenda has changed since then."""
        found = self._upcoming.take(request.now, request.node, request.room)
        if found is None:
            return None
        due, left = found
        answer = (due.epoch, due.counter, due.node, due.limits, due.members, due.documents)
        claim = await self._commit_taken(request, _build_taken(answer, is_reserved=False)._replace(left=left))
        self._upcoming.report(is_current=claim is not None)
        return claim

    async def _commit_taken(self, request: ClaimRequest, taken: _Taken) -> Claim | None:
        """Decide and commit; None if the entries were not reserved and another claim was faster."""
        try:
            decided, committed = await self._database.transact(lambda each: self._decide(each, request, taken))
        except Exception:
            if taken.is_reserved:
                await self._return(taken)
            raise
        if decided.is_overtaken:
            return None
        decided.unit.update_cache(self._cache, committed)
        if decided.asks_upcoming and committed.answers:
            self._keep_upcoming(request, taken, committed.answers[-1])
        if decided.unit.linked_changes:
            self.on_linked(decided.unit.linked_changes)
        if decided.last_owner is not None and not request.queues:
            self._last_owner = decided.last_owner
        return Claim() if decided.claim is None else self._with_head(request, decided.claim, committed)

    def _keep_upcoming(self, request: ClaimRequest, taken: _Taken, answer: Sequence[Any]) -> None:
        known = taken.left or Upcoming(request.node, 0, taken.epoch, taken.counter, taken.node, taken.limits)
        self._upcoming.put(known._replace(counter=taken.counter + 1), answer)

    async def _return(self, reservation: _Taken) -> None:
        """Put all entries back on the agenda after a failed decision; if the server is gone, they return by themselves."""
        transaction = Transaction(self._database.client, self._database.keys)
        transaction.call_with("RETURN", "", reservation.members)
        with suppress(StoreError):
            await transaction.commit()

    async def _look(self, request: ClaimRequest) -> Claim:
        """Return an empty claim with the head of the agenda."""
        keys = self._database.keys
        exists, *answers = await self._database.client.call_all(
            [("EXISTS", keys.node(request.node)), *self._head_commands(request)]
        )
        return self._with_head(request, Claim(), Committed(answers=tuple(answers))) if exists else Claim()

    async def _idle(self, request: ClaimRequest, answers: Sequence[Any]) -> Claim:
        return (
            await self._look(request)
            if request.queues
            else _build_claim(Claim(), request, head_of(answers, request.now))
        )

    def _head_commands(self, request: ClaimRequest) -> list[Any]:
        keys = self._database.keys
        if request.queues:
            return [("ZRANGE", keys.queue(name), 0, 0) for name in request.queues]
        return head_commands(keys)

    def _with_head(self, request: ClaimRequest, claim: Claim, committed: Committed) -> Claim:
        answers = committed.answers if request.queues else committed.answers[:4]
        head = earliest_of_queues(answers) if request.queues else head_of(answers, request.now)
        return _build_claim(claim, request, head)

    async def _take(self, request: ClaimRequest, *, may_see: bool) -> list[Any]:
        """Run the script that reads due entries, after lanes that have to be woken; many entries are reserved."""
        answer = await self._reserve(request, has_woken=False, may_see=may_see)
        if answer[0] != "wake":
            return answer
        await self._wake_lanes(request.now)
        return await self._reserve(request, has_woken=True, may_see=may_see)

    async def _reserve(self, request: ClaimRequest, *, has_woken: bool, may_see: bool) -> list[Any]:
        keys = self._database.keys
        names = (
            keys.timed,
            keys.ready,
            keys.ready_owners,
            keys.reserved,
            keys.tokens,
            keys.owners,
            keys.prioritised,
            keys.wakeups,
            keys.limits,
            keys.node(request.node),
        )
        values: tuple[Word, ...] = (
            keys.tag,
            to_microseconds(request.now),
            MAX_CLAIM_SLICE,
            min(MAX_CLAIM_SLICE, max(1, request.room) if request.queues else max(2 * request.room, _MIN_RESERVED)),
            self._last_owner,
            RESERVATION_MICROSECONDS,
            int(has_woken),
            _MAX_SEEN if may_see else 0,
            *request.queues,
        )
        answer: list[Any] = await self._database.client.run_script("reserve", names, values)
        return answer

    async def _wake_lanes(self, now: datetime) -> None:
        """Unpark entries of the lanes whose wake-up is due."""
        keys = self._database.keys

        async def work(transaction: Transaction) -> UnitOfWork:
            limits = await read_limits(transaction)
            unit = UnitOfWork(transaction, limits, now)
            unit.freed_lanes.update(
                await self._database.client.call("ZRANGEBYSCORE", keys.wakeups, "-inf", to_microseconds(now))
            )
            await unit.finish()
            return unit

        unit, committed = await self._database.transact(work)
        unit.update_cache(self._cache, committed)

    async def _decide(self, transaction: Transaction, request: ClaimRequest, taken: _Taken) -> _Decided:
        """Decide the entries in order until there is no room left or the time limit is reached; the rest returns to the
        agenda."""
        if not taken.is_reserved and transaction.is_retry:
            return _Decided(None, UnitOfWork(transaction), is_overtaken=True)
        if await self._take_documents(transaction, request, taken):
            return await self._decide_entries(transaction, request, taken)
        # The node was declared dead.
        transaction.call_with("RETURN", "", taken.members)
        return _Decided(None, UnitOfWork(transaction))

    async def _take_documents(self, transaction: Transaction, request: ClaimRequest, taken: _Taken) -> bool:
        """Put the documents of the reservation into the transaction, or read them again; return whether there is the node."""
        keys = transaction.keys
        tasks = [keys.task(name.task_id) for name in taken.names]
        node = keys.node(request.node)
        if transaction.is_retry:
            found, *_ = await transaction.read([node, keys.limits, *tasks])
            return found is not None
        transaction.take(node, taken.node)
        transaction.take(keys.limits, taken.limits)
        for key, value in zip(tasks, taken.documents, strict=True):
            transaction.take(key, value)
        return True

    async def _decide_entries(self, transaction: Transaction, request: ClaimRequest, taken: _Taken) -> _Decided:
        keys = transaction.keys
        limits = decode_limits(await transaction.read_one(keys.limits))
        unit = UnitOfWork(transaction, limits, request.now)
        # An attempt that has met a run of the ledger decides each entry by all facts.
        is_classed = isinstance(request.decide, ClaimDecision) and not transaction.is_retry
        singles = self._take_tasks(unit, taken, is_classed=is_classed)
        await unit.load_lanes(tasks=[stored.task for stored in singles.values()])
        await unit.follow_plans()
        round_ = DecisionRound(request, taken.token, unit, singles)
        if not await self._decide_in_order(round_, taken):
            return _Decided(None, unit, is_overtaken=True)
        await unit.finish()
        if taken.is_reserved:
            transaction.call_with("RETURN", "", round_.returned)
        else:
            transaction.require(f"{taken.epoch} {taken.counter}", "TOKEN", keys.tokens)
            transaction.call("HINCRBY", keys.tokens, "counter", 1)
        for member in round_.returned:
            round_.release_guard(parse_entry_member(member).task_id)
        if taken.left is not None:
            transaction.require(str(len(taken.members)), "AGENDA", keys.timed, str(to_microseconds(request.now)))
        for words in self._head_commands(request):
            transaction.ask(*words)
        asks_upcoming = (
            not taken.is_reserved and not request.queues and self._upcoming.ask(transaction, request.now, taken.left)
        )
        claim = Claim(tuple(round_.claimed), round_.decided)
        return _Decided(claim, unit, round_.last_owner, asks_upcoming=asks_upcoming)

    async def _decide_in_order(self, round_: DecisionRound, taken: _Taken) -> bool:
        """Decide the entries until the round is over; return whether all were there, or are not on the agenda any more."""
        transaction = round_.unit.transaction
        for member, name in zip(taken.members, taken.names, strict=True):
            if round_.is_over:
                round_.returned.append(member)
                continue
            if round_.start_single(member, name.task_id):
                continue
            entry = find_entry(round_.unit, member, name)
            if entry is None:
                if not taken.is_reserved:
                    return False
                # Another client has changed it since it was reserved.
                transaction.call("ZREM", transaction.keys.reserved, member)
            elif entry.due > round_.now:
                round_.returned.append(member)
            else:
                change = await round_.decide(entry)
                if change.put and find_entry(round_.unit, member, name) is not None:
                    round_.returned.append(member)
        return True

    def _take_tasks(self, unit: UnitOfWork, taken: _Taken, *, is_classed: bool) -> dict[str, StoredTask]:
        """Take the tasks of the entries into the unit of work; return those that may be decided by their class instead."""
        transaction = unit.transaction
        singles: dict[str, StoredTask] = {}
        for name in taken.names:
            key = transaction.keys.task(name.task_id)
            text = transaction.text_of(key)
            if text is None:
                continue
            stored = parse_task_document(text) if is_classed else None
            if stored is None:
                self._take_task(unit, key, name.task_id, text)
            elif is_single(stored) and not unit.may_be_plan(stored.task):
                singles[name.task_id] = stored
            else:
                unit.take(stored.document, stored.state_at)
        return singles

    def _take_task(self, unit: UnitOfWork, key: str, task_id: str, text: str) -> None:
        cached = self._cache.get(task_id)
        if cached is not None and cached.version == unit.transaction.version_of(key):
            unit.take(cached.document, cached.state_at)
        else:
            unit.take(decode_task_document(text), state_line_at(text))


def _build_taken(answer: Sequence[Any], *, is_reserved: bool) -> _Taken:
    epoch, counter, node, limits, members, documents = answer
    names = list(map(parse_entry_member, members))
    return _Taken(is_reserved, int(epoch), int(counter), node, limits, members, names, documents)


def _build_claim(claim: Claim, request: ClaimRequest, head: datetime | None) -> Claim:
    return claim._replace(more=head is not None and head <= request.now, next_due=head)
