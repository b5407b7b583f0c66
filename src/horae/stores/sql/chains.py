"""Chains of the SQL stores: reads and writes of one transaction for the algorithm that all stores share, and queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ...model.chain_row import ChainRow, ChainState
from ...model.change import Change, Facts
from ...model.ids import to_microseconds
from ...model.origin import RootOccurrence
from ...model.task import Task
from ..codec.json_codecs import instant_of
from ..codec.rows import decode_chain_row, decode_task
from ..task_cache import CachedTask
from .connection import Statements, Transactions
from .load_facts import LoadedFacts

if TYPE_CHECKING:
    from .unit_of_work import UnitOfWork


class SQLChainAccess:
    """The status row of a task is locked before its chain rows are read, so these need no lock of their own."""

    def __init__(self, connection: Statements, loaded: LoadedFacts, unit: UnitOfWork) -> None:
        self._connection = connection
        self._loaded = loaded
        self._unit = unit
        self._numbers: dict[str, int] = {}
        self._rows: dict[str, dict[RootOccurrence, ChainRow]] = {}
        """Rows that this transaction changed, by task."""

    async def lock_owner(self, owner: str) -> None:
        await self._connection.query("lock_chain_owner", owner)

    async def lock_tasks(self, task_ids: Sequence[str]) -> None:
        missing = [task_id for task_id in task_ids if task_id not in self._numbers]
        if not missing:
            return
        self._numbers.update(await self._connection.query("numbers_by_id", missing))
        numbers = [self._numbers[task_id] for task_id in missing if task_id in self._numbers]
        await self._loaded.lock_more(sorted(number for number in numbers if number not in self._loaded.tasks))

    def current_facts(self, task_id: str) -> Facts | None:
        known = self._find(task_id)
        if known is None:
            return None
        return Facts(known.task, known.status, self._loaded.entries.get(known.number, ()), known.live)

    def _find(self, task_id: str) -> CachedTask | None:
        number = self._numbers.get(task_id)
        return None if number is None else self._loaded.tasks.get(number)

    async def definitions(self, task_ids: Sequence[str]) -> list[Task]:
        """Read the definitions; tasks that this transaction has changed are taken as changed."""
        rows = await self._connection.query("linked_tasks", list(task_ids))
        changed = {known.task.id: known.task for known in self._loaded.tasks.values()}
        return [changed.get(task.id, task) for task in map(decode_task, rows)]

    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None:
        changed = self._rows.get(task_id, {}).get(root)
        if changed is not None:
            return changed
        rows = await self._connection.query("chain_row", self._numbers[task_id], root.key)
        return next(map(decode_chain_row, rows), None)

    async def open_rows(self, task_id: str) -> list[ChainRow]:
        if task_id not in self._numbers:
            return []
        rows = await self._connection.query("open_chain_rows", self._numbers[task_id])
        merged = {row.root: row for row in map(decode_chain_row, rows)} | self._rows.get(task_id, {})
        return sorted((row for row in merged.values() if row.state is ChainState.OPEN), key=lambda row: row.root)

    async def last_planned(self, task_id: str) -> datetime | None:
        ((last,),) = await self._connection.query("last_chain_instant", self._numbers[task_id])
        planned = [row.planned for row in self._rows.get(task_id, {}).values() if row.planned is not None]
        return max([*planned, *(() if last is None else (instant_of[last],))], default=None)

    def apply(self, task_id: str, change: Change) -> None:
        known = self._find(task_id)
        if known is None:
            return
        for row in change.chain_rows:
            self._rows.setdefault(task_id, {})[row.root] = row
        entries = self._loaded.entries.get(known.number, ())
        self._unit.add_linked_change(known, entries, change)
        if change.put or change.dropped:
            self._loaded.update_entries(known.number, change, entries)


class SQLChainQueries:
    _database: Transactions

    async def chain(self, root: RootOccurrence) -> tuple[ChainRow, ...]:
        return tuple(map(decode_chain_row, await self._database.query("chain_rows_of_root", root.key)))

    async def chain_rows(self, task_id: str, until: datetime, limit: int) -> tuple[ChainRow, ...]:
        rows = await self._database.query("chain_rows_of_task", task_id, to_microseconds(until), limit)
        return tuple(map(decode_chain_row, rows))
