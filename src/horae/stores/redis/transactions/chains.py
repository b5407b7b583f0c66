"""Chains of the Redis store: chain rows in a transaction, and its access for the algorithm that all stores share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ....model.chain_row import ChainRow, ChainState
from ....model.change import Change, Facts
from ....model.origin import RootOccurrence
from ....model.task import Task
from ..layout.documents import decode_chain_document, decode_task_document, encode_chain_document
from ..layout.indexes import NOTHING, members_of_chain_row, update_indexes
from .transaction import Transaction

if TYPE_CHECKING:
    from .unit_of_work import UnitOfWork


class ChainRows:
    """Chain rows of tasks that this transaction has read. Each write of a row comes with one of its task, so the document of
    the task guards its rows."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._changed: dict[str, dict[RootOccurrence, ChainRow]] = {}
        """By task and root."""

    def put(self, row: ChainRow) -> None:
        self._changed.setdefault(row.task_id, {})[row.root] = row

    async def find(self, task_id: str, root: RootOccurrence) -> ChainRow | None:
        changed = self._changed.get(task_id, {}).get(root)
        if changed is not None:
            return changed
        (row,) = await self._read(task_id, [root.key])
        return row

    async def open_rows(self, task_id: str) -> list[ChainRow]:
        keys = self._transaction.keys
        roots = await self._transaction.client.call("ZRANGE", keys.open_chains(task_id), 0, -1)
        rows = [row for row in await self._read(task_id, roots) if row is not None]
        merged = {row.root: row for row in rows} | self._changed.get(task_id, {})
        return sorted((row for row in merged.values() if row.state is ChainState.OPEN), key=lambda row: row.root)

    async def last_planned(self, task_id: str) -> datetime | None:
        keys = self._transaction.keys
        roots = await self._transaction.client.call("ZRANGE", keys.planned_chains(task_id), -1, -1)
        rows = [row for row in await self._read(task_id, roots) if row is not None]
        planned = [row.planned for row in (*rows, *self._changed.get(task_id, {}).values())]
        return max((each for each in planned if each is not None), default=None)

    async def _read(self, task_id: str, roots: Sequence[str]) -> list[ChainRow | None]:
        keys = self._transaction.keys
        texts = await self._transaction.read([keys.chain(task_id, root) for root in roots])
        return [None if text is None else decode_chain_document(text) for text in texts]

    async def write(self) -> None:
        """Put the changed rows into the transaction."""
        keys = self._transaction.keys
        for task_id, rows in self._changed.items():
            before = await self._read(task_id, [root.key for root in rows])
            for old, row in zip(before, rows.values(), strict=True):
                former = NOTHING if old is None else members_of_chain_row(keys, old)
                self._transaction.put(keys.chain(task_id, row.root.key), encode_chain_document(row))
                update_indexes(self._transaction, former, members_of_chain_row(keys, row))

    async def delete_all(self, task_id: str) -> None:
        """Delete the rows of a task."""
        keys = self._transaction.keys
        self._changed.pop(task_id, None)
        roots = await self._transaction.client.call("ZRANGE", keys.task_chains(task_id), 0, -1)
        for row in await self._read(task_id, roots):
            if row is not None:
                self._transaction.put(keys.chain(task_id, row.root.key), None)
                update_indexes(self._transaction, members_of_chain_row(keys, row), NOTHING)


class RedisChainAccess:
    """Tasks are locked by their versions."""

    def __init__(self, unit: UnitOfWork) -> None:
        self._unit = unit
        self._transaction = unit.transaction

    async def lock_owner(self, owner: str) -> None:
        """Write a document of the owner: of two transactions that edit links at once, one is run again."""
        key = self._transaction.keys.chain_lock(owner)
        await self._transaction.read_one(key)
        self._transaction.put(key, "locked")

    async def lock_tasks(self, task_ids: Sequence[str]) -> None:
        await self._unit.load(task_ids)

    def current_facts(self, task_id: str) -> Facts | None:
        return self._unit.facts(task_id, with_lanes=False) if task_id in self._unit.tasks else None

    async def definitions(self, task_ids: Sequence[str]) -> list[Task]:
        """Read the definitions; tasks that this transaction has changed are taken as changed."""
        keys, known = self._transaction.keys, self._unit.tasks
        missing = [task_id for task_id in task_ids if task_id not in known]
        texts = await self._transaction.client.call("MGET", *map(keys.task, missing)) if missing else []
        read = {task_id: text for task_id, text in zip(missing, texts, strict=True) if text is not None}
        found: list[Task] = []
        for task_id in task_ids:
            document = known[task_id].after if task_id in known else None
            if document is not None:
                found.append(document.task)
            elif task_id in read:
                found.append(decode_task_document(read[task_id][16:]).task)
        return found

    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None:
        return await self._unit.chain_rows.find(task_id, root)

    async def open_rows(self, task_id: str) -> list[ChainRow]:
        return await self._unit.chain_rows.open_rows(task_id)

    async def last_planned(self, task_id: str) -> datetime | None:
        return await self._unit.chain_rows.last_planned(task_id)

    def apply(self, task_id: str, change: Change) -> None:
        if task_id in self._unit.tasks:
            self._unit.write_linked(task_id, change)
