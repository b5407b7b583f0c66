"""Writes of the Book port on Redis: tasks, lanes, blocked owners and the drain of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....errors import StoreError
from ....lifecycle.lanes.rate import next_start
from ....model.accounts.system_owner import is_readable
from ....model.change import Change, ControlDecision, Facts
from ....model.lanes.lane import DEFAULT_LIMIT, OWNER_LANE_PREFIX, LaneUse, block_reason, owner_lane
from ....model.lanes.rate import RateChange
from ....model.reason import Reason
from ....model.record import RecordWrite
from ....ports.store import LinkObserver
from ...chains import ignore_links
from ..layout.document_cache import DocumentCache
from ..layout.documents import TaskDocument, decode_task_document
from ..layout.keys import Keys, key_field
from ..layout.lane_documents import LaneDocument, decode_lane, decode_limits, encode_limits
from .record_writes import write_attached_records
from .runner import RedisTransactions
from .transaction import VERSION_LENGTH, Transaction
from .unit_of_work import UnitOfWork, read_limits


class RedisBookWrites:
    _database: RedisTransactions
    _keys: Keys
    _cache: DocumentCache
    _on_linked: LinkObserver = staticmethod(ignore_links)

    async def add(self, changes: Sequence[Change]) -> None:
        given = tuple(changes)
        if not given:
            return

        async def work(transaction: Transaction) -> UnitOfWork:
            unit = await self._begin(transaction)
            for number, change in enumerate(given, await self._new_numbers(len(given))):
                await unit.create(number, change)
            await unit.finish()
            return unit

        await self._database.transact(work)

    async def _begin(self, transaction: Transaction) -> UnitOfWork:
        limits = await read_limits(transaction, self._cache)
        return UnitOfWork(transaction, limits)

    async def _new_numbers(self, count: int) -> int:
        """Return the first of so many new task numbers."""
        last = await self._database.client.call("INCRBY", self._keys.last_number, count)
        return int(last) - count + 1

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        async def work(transaction: Transaction) -> tuple[Facts | None, UnitOfWork]:
            unit = await self._begin(transaction)
            await unit.load([task_id])
            await unit.follow_plans()
            before = unit.facts(task_id)
            if before is None or not is_readable(owner, before.task.owner):
                return None, unit
            await unit.apply(task_id, decide(before))
            await unit.finish()
            # For a deleted task, return its last facts.
            return unit.facts(task_id) or before, unit

        (facts, unit), _ = await self._database.transact(work)
        self._report_links(unit)
        return facts

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        field = key_field(owner, key)

        async def work(transaction: Transaction) -> tuple[Facts, UnitOfWork]:
            unit = await self._begin(transaction)
            task_id = await self._database.client.call("HGET", self._keys.task_keys, field)
            before = None
            if task_id is not None:
                await unit.load([task_id])
                await unit.follow_plans()
                before = unit.facts(task_id)
            if before is None:
                change = decide(None)
                if change.task is None:
                    raise StoreError(f"There is no task with the key {key}, and no new one was made.")
                await unit.create(await self._new_numbers(1), change)
                task_id = change.task.id
            else:
                await unit.apply(task_id, decide(before))
            await unit.finish()
            after = unit.facts(task_id)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after, unit

        (facts, unit), _ = await self._database.transact(work)
        self._report_links(unit)
        return facts

    def _report_links(self, unit: UnitOfWork) -> None:
        if unit.linked_changes:
            self._on_linked(unit.linked_changes)

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        value = await self._database.client.call("GET", self._keys.task(task_id))
        if value is None:
            return None
        document = decode_task_document(value[VERSION_LENGTH:])
        return await self._facts_with_lanes(document) if is_readable(owner, document.task.owner) else None

    async def find(self, owner: str, key: str) -> Facts | None:
        task_id = await self._database.client.call("HGET", self._keys.task_keys, key_field(owner, key))
        return None if task_id is None else await self.facts(task_id, None)

    async def _facts_with_lanes(self, document: TaskDocument) -> Facts:
        """Return the facts of a task with the use of its lanes, as readers get it."""
        task = document.task
        names = list(dict.fromkeys((*task.lanes, owner_lane(task.owner))))
        limits_value, *values = await self._database.client.call(
            "MGET", self._keys.limits, *map(self._keys.lane, names)
        )
        limits = decode_limits(_text_of(limits_value))
        uses = [
            lane_use_of(name, decode_lane(_text_of(value)))
            for name, value in zip(names, values, strict=True)
            if name in task.lanes or name in limits.lanes
        ]
        reason = block_reason(task.owner, task.lane, limits.blocked.get)
        return document.facts._replace(lanes=tuple(uses), block_reason=reason)

    # --- lanes, owners and nodes ---------------------------------------------------------------------------------------

    async def set_lane(
        self,
        name: str,
        limit: int | None,
        *,
        rate: RateChange = "keep",
        attached_records: Sequence[RecordWrite] = (),
    ) -> None:
        async def work(transaction: Transaction) -> UnitOfWork:
            limits = decode_limits(await transaction.read_one(self._keys.limits))
            unit = UnitOfWork(transaction, limits)
            await unit.lanes.load((), [name])
            unit.lanes.set_limit(name, limit)
            if rate != "keep":
                unit.lanes.set_rate(name, rate)
            if name.startswith(OWNER_LANE_PREFIX) and name not in limits.lanes:
                after = limits._replace(lanes=limits.lanes | {name})
                transaction.put(self._keys.limits, encode_limits(after))
            unit.freed_lanes.add(name)
            unit.attached += attached_records
            await unit.finish()
            return unit

        unit, committed = await self._database.transact(work)
        unit.update_cache(self._cache, committed)

    async def block_owner(
        self, owner: str, reason: Reason | None, *, attached_records: Sequence[RecordWrite] = ()
    ) -> None:
        async def work(transaction: Transaction) -> None:
            limits = decode_limits(await transaction.read_one(self._keys.limits))
            blocked = {name: why for name, why in limits.blocked.items() if name != owner}
            if reason is not None:
                blocked[owner] = reason
            if blocked != limits.blocked:
                transaction.put(self._keys.limits, encode_limits(limits._replace(blocked=blocked)))
            await write_attached_records(transaction, attached_records)

        await self._database.transact(work)

    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        async def work(transaction: Transaction) -> bool:
            if await transaction.read_one(self._keys.node(node)) is None:
                return False
            transaction.call("HSET", self._keys.node_state(node), "draining", int(draining))
            await write_attached_records(transaction, attached_records)
            return True

        drained, _ = await self._database.transact(work)
        return drained


def lane_use_of(name: str, lane: LaneDocument) -> LaneUse:
    """Return the use of a lane as readers get it: with the earliest instant of its next start."""
    limit = DEFAULT_LIMIT if lane.limit is None else lane.limit
    if lane.rate is None:
        return LaneUse(name, limit, lane.taken)
    return LaneUse(name, limit, lane.taken, rate=lane.rate, next_start=next_start(lane.rate, lane.starts))


def _text_of(value: str | None) -> str | None:
    return None if value is None else value[VERSION_LENGTH:]
