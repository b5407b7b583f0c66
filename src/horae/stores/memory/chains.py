"""Chain rows of the in-memory store, and its access for the algorithm that all stores share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from ...model.chain_row import ChainRow, ChainState
from ...model.change import Change, Facts
from ...model.origin import RootOccurrence
from ...model.task import Task
from .table import Table, Transaction

if TYPE_CHECKING:
    from .data import Data

_K = TypeVar("_K")
_V = TypeVar("_V")


class ChainRows(Table[tuple[str, RootOccurrence], ChainRow]):
    """Rows by task and root."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._of_task: dict[str, dict[RootOccurrence, ChainRow]] = {}
        self._of_root: dict[RootOccurrence, dict[str, ChainRow]] = {}

    def put(self, row: ChainRow) -> None:
        self.write((row.task_id, row.root), row)

    def delete(self, row: ChainRow) -> None:
        self.write((row.task_id, row.root), None)

    def of_task(self, task_id: str) -> list[ChainRow]:
        return list(self._of_task.get(task_id, {}).values())

    def of_root(self, root: RootOccurrence) -> list[ChainRow]:
        return list(self._of_root.get(root, {}).values())

    def update_indexes(self, before: ChainRow | None, after: ChainRow | None) -> None:
        if before is not None:
            _discard(self._of_task, before.task_id, before.root)
            _discard(self._of_root, before.root, before.task_id)
        if after is not None:
            self._of_task.setdefault(after.task_id, {})[after.root] = after
            self._of_root.setdefault(after.root, {})[after.task_id] = after


def _discard(rows: dict[_K, dict[_V, ChainRow]], first: _K, second: _V) -> None:
    del rows[first][second]
    if not rows[first]:
        del rows[first]


class MemoryChainAccess:
    """The transaction holds the lock of the whole store, so there is nothing to lock."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def lock_owner(self, owner: str) -> None:
        """Do nothing."""

    async def lock_tasks(self, task_ids: Sequence[str]) -> None:
        """Do nothing."""

    def current_facts(self, task_id: str) -> Facts | None:
        return self._data.facts(task_id, lanes=False)

    async def definitions(self, task_ids: Sequence[str]) -> list[Task]:
        return [task for each in task_ids if (task := self._data.tasks.get(each)) is not None]

    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None:
        return self._data.chain_rows.get((task_id, root))

    async def open_rows(self, task_id: str) -> list[ChainRow]:
        rows = self._data.chain_rows.of_task(task_id)
        return sorted((row for row in rows if row.state is ChainState.OPEN), key=_root_of)

    async def last_planned(self, task_id: str) -> datetime | None:
        rows = self._data.chain_rows.of_task(task_id)
        return max((row.planned for row in rows if row.planned is not None), default=None)

    def apply(self, task_id: str, change: Change) -> None:
        self._data.write_linked(task_id, change)


def _root_of(row: ChainRow) -> RootOccurrence:
    return row.root
