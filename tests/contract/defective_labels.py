"""Stores that go wrong about labels, and the tests of the contract that must notice it."""

from __future__ import annotations

from typing import Final

from horae.model.task import Task
from horae.stores.memory import MemoryStore
from horae.stores.memory.sorted_keys import SortedKeys
from horae.stores.memory.tasks import Label, Labels, Numbered


class _Kept(Labels):
    """As they were when a task was first seen."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def add(self, number: int, task: Task) -> None:
        if task.id not in self._seen:
            self._seen.add(task.id)
            super().add(number, task)

    def remove(self, number: int, task: Task) -> None:
        """Nothing is forgotten."""


class _Added(Labels):
    def remove(self, number: int, task: Task) -> None:
        """Nothing is forgotten."""


class _FirstOfAll(Labels):
    def tasks_with_rarest(self, owner: str | None, labels: tuple[Label, ...]) -> SortedKeys[Numbered]:
        """Of one owner, what the first who had the label has."""
        others = [each for (whose, label), each in self._tasks.items() if label == labels[0] and whose is not None]
        return super().tasks_with_rarest(owner, labels) if owner is None or not others else others[0]


class LabelsOnce(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.tasks.labels = _Kept()


class NeverUnlabels(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.tasks.labels = _Added()


class LooksAmongAnothersLabels(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.tasks.labels = _FirstOfAll()


LABELS_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    LabelsOnce: (
        "test_an_edit_updates_the_labels_that_find_a_task",
        "test_an_upsert_updates_labels",
        "test_an_imported_task_is_found_by_its_labels",
    ),
    NeverUnlabels: (
        "test_a_deleted_task_is_found_by_no_label",
        "test_a_task_deleted_by_retention_is_found_by_no_label",
        "test_a_failed_change_leaves_the_labels_unchanged",
    ),
    LooksAmongAnothersLabels: ("test_a_label_finds_no_task_of_another_owner",),
}
