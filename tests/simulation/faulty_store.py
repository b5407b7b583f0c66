"""Store behind a faulty link: every call passes the link, and calls that the checks need are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextvars import Context
from datetime import datetime
from typing import Any, TypeVar, cast

from horae.model.change import Change, ControlDecision, Facts, FireDecision, RunDecision, SettleDecision
from horae.model.outcome import Settlement
from horae.model.run import Origin, Run
from horae.ports.full_store import FullStore
from horae.ports.store import Claim
from horae.virtual_time import VirtualLoop
from tests.simulation.faults import Link
from tests.simulation.frozen_nodes import FreezingLoop
from tests.simulation.history import AgendaSnapshot, History, SettlementRecord

_T = TypeVar("_T")


class FaultyStore:
    """One party's view of a store that all of them share."""

    def __init__(
        self, inner: FullStore, link: Link, history: History, *, probing: bool = False, placing: bool = False
    ) -> None:
        self._placing = placing
        self._inner = inner
        self._link = link
        self._history = history
        self._probing = probing
        self.last_change: Change | None = None
        self.place: tuple[int, int] | None = None
        """The last events around the last commit; None as long as nothing was committed."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Whatever a store can do goes through the link."""
        method = getattr(self._inner, name)

        def through(*arguments: Any, **named: Any) -> Awaitable[Any]:
            return self._link.carry(lambda: self._placed(lambda: method(*arguments, **named)))

        return through

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await self._claim(lambda: self._inner.claim_due(now, node, room, decide), now, room)

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        return await self._claim(lambda: self._inner.claim_queued(now, node, room, decide, queues), now, room)

    async def _claim(self, claim_some: Callable[[], Awaitable[Claim]], now: datetime, room: int) -> Claim:
        async def work() -> Claim:
            claim = await _at_work(claim_some)
            if len(claim.runs) > room:
                self._history.overfull.append((self._link.who, room, len(claim.runs)))
            for _, run in claim.runs:
                self._history.claimed(run, self._link.who, now)
            # Only then: a store with threads lets others claim while it is looked at.
            for _, run in claim.runs:
                await self._snapshot_agenda(run)
            return claim

        return await self._link.carry(work)

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        claims = [(each.run_id, each.token) for each in batch]
        return await self._fenced("settle", claims, lambda: self._inner.settle(batch, decide))

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._fenced("release", claims, lambda: self._inner.release(claims, decide))

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        def seen(facts: Facts) -> Change:
            self.last_change = decide(facts)
            return self.last_change

        return await self._link.carry(lambda: self._placed(lambda: self._inner.change(task_id, owner, seen)))

    async def _snapshot_agenda(self, run: Run) -> None:
        """The number is read last: whatever the agenda then said goes back to an event that is not younger."""
        if run.origin is Origin.SCHEDULED and run.attempt == 1:
            facts = await _at_work(lambda: self._inner.facts(run.task_id, None))
            number = await _at_work(self._inner.last_event)
            if facts is not None:
                self._history.glimpses.append(AgendaSnapshot(run.task_id, number, facts.entries))

    async def _placed(self, work: Callable[[], Awaitable[_T]]) -> _T:
        if not self._placing:
            return await _at_work(work)
        before = await _at_work(self._inner.last_event)
        answer = await _at_work(work)
        self.place = before, await _at_work(self._inner.last_event)
        return answer

    async def _fenced(
        self, kind: str, claims: Iterable[tuple[str, int]], work: Callable[[], Awaitable[frozenset[str]]]
    ) -> frozenset[str]:
        async def noted() -> frozenset[str]:
            stale = await _at_work(work)
            for run_id, token in claims:
                self._history.writings.append(SettlementRecord(kind, run_id, token, run_id in stale, self._probing))
            return stale

        return await self._link.carry(noted)


def behind(inner: FullStore, link: Link, history: History) -> FullStore:
    """The same store, as one party sees it."""
    return cast("FullStore", FaultyStore(inner, link, history))


class _TimelessStore:
    """A store whose calls take no virtual time, without a link."""

    def __init__(self, inner: FullStore) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._inner, name)
        return lambda *arguments, **named: _at_work(lambda: method(*arguments, **named))


def timeless(inner: FullStore) -> FullStore:
    return cast("FullStore", _TimelessStore(inner))


async def _at_work(work: Callable[[], Awaitable[_T]]) -> _T:
    """A store may use threads of its own: until it has answered, no virtual time passes, not even if its caller froze."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, FreezingLoop) or not loop.threaded:
        return await work()
    return await loop.create_task(_outside(loop, work), context=Context())


async def _outside(loop: VirtualLoop, work: Callable[[], Awaitable[_T]]) -> _T:
    with loop.outside():
        return await work()
