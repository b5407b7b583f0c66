"""The store in memory, with one talent more: it can be put back to any moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model.ids import EPOCH
from ...model.task import Task
from ...ports.store import Node
from ...stores.memory import MemoryStore
from ...stores.memory.entries import key_of
from .snapshot import Snapshot

RENEWALS: Final = 1
"""Every node in a snapshot has renewed so often: only whether it has since then can matter."""


class RestorableStore(MemoryStore):
    def save(self, tasks: Sequence[Task]) -> Snapshot:
        data = self._data
        return Snapshot(
            tuple(data.standings[task.id] for task in tasks),
            tuple(sorted(data.entries, key=key_of)),
            tuple(sorted(data.runs, key=lambda run: run.id)),
            tuple(sorted(node.id for node in data.nodes)),
        )

    def restore(self, tasks: Sequence[Task], moment: Snapshot) -> None:
        """Writes only the rows that differ: most of a neighbouring moment is there already."""
        data = self._data
        runs = {run.id: run for run in moment.runs}
        entries = {key_of(entry): entry for entry in moment.entries}
        nodes = {name: Node(name, "", "", EPOCH, EPOCH, RENEWALS) for name in moment.nodes}
        with data.writing():
            for task, standing in zip(tasks, moment.standings, strict=True):
                data.standings.write(task.id, standing)
            for run_id in {*runs, *(run.id for run in data.runs)}:
                if data.runs.get(run_id) is not runs.get(run_id):
                    data.runs.write(run_id, runs.get(run_id))
            for key in {*entries, *(key_of(entry) for entry in data.entries)}:
                if data.entries.get(key) is not entries.get(key):
                    data.entries.write(key, entries.get(key))
            for name in {*nodes, *(node.id for node in data.nodes)}:
                data.nodes.write(name, nodes.get(name))
        data.token = moment.token
        data.last_turn = ""
