"""Agenda port of the Redis store: claims and settlements of the engine, node leases and the next due instant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from ...model.change import FireDecision, RunDecision, SettleDecision
from ...model.ids import from_microseconds, to_microseconds
from ...model.lanes.idle import YIELD_REQUEST_KIND, YieldReason, node_prefix, yield_request_of
from ...model.outcome import Settlement
from ...model.plans.layout import PLAN_QUEUE
from ...model.reason import Reason
from ...ports.store import Admission, CancelRequest, Claim, LeaseRenewal, LinkObserver, Node, RouteQueue
from ..codec.json_codecs import decode
from ..codec.rows import duration_microseconds
from .claims.agenda_heads import head_commands, head_of
from .claims.claim import Claimer, ClaimRequest
from .claims.settle import RunUpdater
from .layout.document_cache import DocumentCache
from .layout.documents import decode_record_document, decode_task_document
from .layout.keys import SEPARATOR, Keys, due_of_member, parse_entry_member
from .layout.node_documents import decode_node_reply, encode_node_document, encode_node_state
from .transactions.runner import RedisTransactions
from .transactions.transaction import VERSION_LENGTH, Transaction, Word
from .transactions.unit_of_work import UnitOfWork

_ADMITTED_AT_ONCE: Final = 500


class RedisAgenda:
    _database: RedisTransactions
    _keys: Keys
    _cache: DocumentCache
    _claimer: Claimer
    _run_updater: RunUpdater
    _on_linked: LinkObserver
    _on_plans: Callable[[], None]

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await self._claimer.claim(ClaimRequest(now, node, room, decide))

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        if not queues:
            return Claim()
        return await self._claimer.claim(ClaimRequest(now, node, room, decide, tuple(sorted(queues))))

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        return await self._run_updater.start(tuple(claims), now) if claims else frozenset()

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._run_updater.settle(tuple(batch), decide) if batch else frozenset()

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._run_updater.release(tuple(claims), decide) if claims else frozenset()

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        return await self._run_updater.declare_idle(run_id, token, since)

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        return await self._run_updater.recover(node, renewals, decide, limit)

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        keys, client = self._keys, self._database.client

        async def work(transaction: Transaction) -> None:
            # A claim whose response was lost may still commit, unless the document of the node has another version by then.
            text = await transaction.read_one(keys.node(node))
            if text is not None:
                transaction.put(keys.node(node), text)

        await self._database.transact(work)
        run_ids = await client.call("ZRANGE", keys.node_runs(node), 0, -1)
        if not run_ids:
            return ()
        found = await client.call("HMGET", keys.live, *run_ids)
        tasks = list(dict.fromkeys(task_id for task_id in found if task_id is not None))
        values = await client.call("MGET", *map(keys.task, tasks)) if tasks else []
        documents = [decode_task_document(value[VERSION_LENGTH:]) for value in values if value is not None]
        return tuple(sorted((run.id, run.token) for each in documents for run in each.live if run.node == node))

    # --- nodes ---------------------------------------------------------------------------------------------------------

    async def join(self, node: Node) -> None:
        keys = self._keys

        async def work(transaction: Transaction) -> None:
            await transaction.read_one(keys.node(node.id))
            transaction.put(keys.node(node.id), encode_node_document(node))
            transaction.call("HSET", keys.node_state(node.id), *encode_node_state(node))
            transaction.call("ZADD", keys.nodes, 0, node.id)

        await self._database.transact(work)

    async def leave(self, node: str) -> None:
        keys = self._keys

        async def work(transaction: Transaction) -> None:
            # A node with live runs keeps its row: recovery finds those runs by it.
            if not await self._database.client.call("ZCARD", keys.node_runs(node)):
                await transaction.read_one(keys.node(node))
                transaction.require("0", "ZCARD", keys.node_runs(node))
                transaction.put(keys.node(node), None)
                transaction.call("DEL", keys.node_state(node))
                transaction.call("ZREM", keys.nodes, node)

        await self._database.transact(work)

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        keys, prefix = self._keys, node_prefix(node)
        names = (
            keys.node(node),
            keys.node_state(node),
            keys.nodes,
            keys.node_cancels(node),
            keys.timed,
            keys.ready,
            keys.wakeups,
            keys.reserved,
            keys.record_keys(YIELD_REQUEST_KIND),
            *((PLAN_QUEUE, keys.plan_rows) if keys.has_plan_layout else ()),
        )
        # The keys of the node's requests begin with its prefix, which ends with a character before "0".
        values = (
            keys.tag,
            to_microseconds(now),
            load,
            duration_microseconds(offset),
            prefix,
            f"{prefix[:-1]}0",
            YIELD_REQUEST_KIND,
        )
        answer = await self._database.client.run_script("renew", names, values)
        if answer and answer[-1]:
            self._on_plans()
        return _build_renewal(answer)

    async def next_due(self) -> datetime | None:
        return head_of(await self._database.client.call_all(head_commands(self._keys)))

    def observe_links(self, observer: LinkObserver) -> None:
        self._claimer.on_linked = self._run_updater.on_linked = self._on_linked = observer

    # --- routes --------------------------------------------------------------------------------------------------------

    async def admit(self, routes: Collection[str]) -> Admission:
        given = frozenset(routes)
        unparked = 0
        while True:
            members, *queues = await self._find_admissible(given)
            if not members:
                heads = (RouteQueue(name, from_microseconds(due_of_member(member))) for name, member in queues)
                return Admission(unparked, tuple(sorted(heads)))
            unparked += await self._unpark_routes(members, given)

    async def _find_admissible(self, routes: frozenset[str]) -> Any:
        keys = self._keys
        values: tuple[Word, ...] = (keys.tag, _ADMITTED_AT_ONCE, *sorted(routes))
        return await self._database.client.run_script("admit", (keys.parked_lanes, keys.queues), values)

    async def _unpark_routes(self, members: Sequence[str], routes: frozenset[str]) -> int:
        names = [parse_entry_member(member) for member in members]

        async def work(transaction: Transaction) -> tuple[int, UnitOfWork]:
            unit = UnitOfWork(transaction)
            await unit.load([name.task_id for name in names])
            count = sum([unit.unpark_from_route(name.task_id, name.slot, routes) for name in names])
            await unit.finish()
            return count, unit

        (count, unit), committed = await self._database.transact(work)
        unit.update_cache(self._cache, committed)
        return count


def _build_renewal(answer: Sequence[Any]) -> LeaseRenewal:
    if not answer:
        return LeaseRenewal(held=False)
    draining, cancels, nodes, heads, clock, requests, _ = answer
    orders = (member.split(SEPARATOR) for member in cancels)
    records = (decode_record_document(value[VERSION_LENGTH:]) for value in requests if value is not None)
    seconds, microseconds = clock
    return LeaseRenewal(
        held=True,
        cancel_requests=tuple([CancelRequest(run_id, Reason(reason)) for run_id, reason in orders]),
        nodes=tuple([decode_node_reply(value, fields) for value, fields in nodes]),
        next_due=head_of(heads),
        now=from_microseconds(int(seconds) * 1_000_000 + int(microseconds)),
        draining=draining == "1",
        yield_requests=tuple([yield_request_of(decode(record.body)) for record in records]),
    )
