"""In-memory store that can be restored to any snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, TypeVar

from horae.model.chain_row import ChainRow
from horae.model.change import Change
from horae.model.counts import counter_deltas
from horae.model.ids import EPOCH
from horae.model.origin import RootOccurrence
from horae.model.task import Task
from horae.ports.store import Node
from horae.stores.memory import MemoryStore
from horae.stores.memory.entries import key_of
from horae.stores.memory.table import Table
from tests.simulation.explorer.snapshot import Snapshot

_K = TypeVar("_K")
_V = TypeVar("_V")

RENEWALS: Final = 1
"""Every node in a snapshot has renewed so often: only whether it has since then can matter."""


class RestorableStore(MemoryStore):
    def save(self, tasks: Sequence[Task]) -> Snapshot:
        data = self._data
        return Snapshot(
            tuple(data.statuses[task.id] for task in tasks),
            tuple(sorted(data.entries, key=key_of)),
            tuple(sorted(data.runs, key=lambda run: run.id)),
            tuple(sorted(node.id for node in data.nodes)),
            tuple(sorted(data.chain_rows, key=_chain_key)),
        )

    def restore(self, tasks: Sequence[Task], moment: Snapshot) -> None:
        """Writes only the rows that differ: most of a neighbouring moment is there already."""
        data = self._data
        with data.transaction():
            for task, standing in zip(tasks, moment.standings, strict=True):
                before = data.statuses[task.id]
                if before is not standing:
                    data.statuses.write(task.id, standing)
                    # A move from one moment to another is counted as the change that it is.
                    data.counters.add(task.owner, counter_deltas(before, Change(status=standing)))
            _put_back(data.entries, moment.entries, key_of)
            _put_back(data.runs, moment.runs, lambda run: run.id)
            _put_back(data.chain_rows, moment.chain_rows, _chain_key)
            _put_back(data.nodes, (a_node(name) for name in moment.nodes), lambda node: node.id)
        data.token = moment.token
        data.last_owner = ""


def _chain_key(row: ChainRow) -> tuple[str, RootOccurrence]:
    return row.task_id, row.root


@cache
def a_node(name: str) -> Node:
    return Node(name, "", "", EPOCH, EPOCH, RENEWALS)


def _put_back(table: Table[_K, _V], rows: Iterable[_V], key: Callable[[_V], _K]) -> None:
    wanted = {key(row): row for row in rows}
    for row in [row for row in table if wanted.get(key(row)) is not row]:
        table.write(key(row), wanted.get(key(row)))
    if len(table) < len(wanted):
        for missing, row in wanted.items():
            if missing not in table:
                table.write(missing, row)
