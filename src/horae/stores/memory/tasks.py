"""Tasks table, indexed by id, natural key, label and creation order."""

from __future__ import annotations

from ...model.task import Task
from .labels import Labels
from .sorted_keys import SortedKeys
from .table import Table, Transaction


class Numbers(Table[str, int]):
    """Task numbers by id; a new task gets the next higher number."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self.order: SortedKeys[tuple[int, str]] = SortedKeys()
        self._ids: dict[int, str] = {}

    def write(self, key: str, row: int | None) -> None:
        if row is not None:
            self._ids[row] = key
        super().write(key, row)

    def update_indexes(self, before: int | None, after: int | None) -> None:
        if before is not None:
            self.order.remove((before, self._ids[before]))
        if after is not None:
            self.order.add((after, self._ids[after]))


class Tasks(Table[str, Task]):
    def __init__(self, transaction: Transaction, numbers: Numbers) -> None:
        super().__init__(transaction)
        self.labels = Labels()
        self._numbers = numbers
        self.order: SortedKeys[str] = SortedKeys()
        self._by_key: dict[tuple[str, str], str] = {}

    def with_key(self, owner: str, key: str) -> str | None:
        return self._by_key.get((owner, key))

    def update_indexes(self, before: Task | None, after: Task | None) -> None:
        if before is not None and before.key is not None:
            del self._by_key[before.owner, before.key]
        if after is not None and after.key is not None:
            self._by_key[after.owner, after.key] = after.id
        if before is not None:
            self.labels.remove(self._numbers[before.id], before)
        if after is not None:
            self.labels.add(self._numbers[after.id], after)
        if before is None and after is not None:
            self.order.add(after.id)
        elif after is None and before is not None:
            self.order.remove(before.id)
