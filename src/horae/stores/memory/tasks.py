"""Tasks table, indexed by id, natural key, label and creation order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ...model.task import Task
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


Label: TypeAlias = tuple[str, str]
Numbered: TypeAlias = tuple[int, str]
"""Number and id of a task."""

_NO_TASKS: Final[SortedKeys[Numbered]] = SortedKeys()


class Labels:
    def __init__(self) -> None:
        self._tasks: dict[tuple[str | None, Label], SortedKeys[Numbered]] = {}

    def tasks_with_rarest(self, owner: str | None, labels: tuple[Label, ...]) -> SortedKeys[Numbered]:
        """Return the tasks with the rarest of these labels."""
        return min((self._tasks.get((owner, label), _NO_TASKS) for label in labels), key=len)

    def add(self, number: int, task: Task) -> None:
        for key in _keys(task):
            self._tasks.setdefault(key, SortedKeys()).add((number, task.id))

    def remove(self, number: int, task: Task) -> None:
        for key in _keys(task):
            tasks = self._tasks[key]
            tasks.remove((number, task.id))
            if not len(tasks):
                del self._tasks[key]

    def all_rows(self) -> set[tuple[str | None, Label, str]]:
        return {(owner, label, each) for (owner, label), tasks in self._tasks.items() for _, each in tasks.ascending()}


def _keys(task: Task) -> Iterator[tuple[str | None, Label]]:
    for label in dict.fromkeys(task.labels):
        yield None, label
        yield task.owner, label
