"""Index of tasks by label, for all owners and per owner, in the order in which tasks were added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ...model.task import Task
from .sorted_keys import SortedKeys

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
