"""Stores with a defect in their label index, and the contract tests that must fail on each."""

from __future__ import annotations

from typing import Final

from horae.model.task import Task
from horae.stores.memory import MemoryStore
from horae.stores.memory.sorted_keys import SortedKeys
from horae.stores.memory.tasks import Label, Labels, Numbered


class _WriteOnceLabels(Labels):
    """Labels that stay as they were at the first write."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def add(self, number: int, task: Task) -> None:
        if task.id not in self._seen:
            self._seen.add(task.id)
            super().add(number, task)

    def remove(self, number: int, task: Task) -> None:
        """Remove nothing."""


class _NeverRemovedLabels(Labels):
    def remove(self, number: int, task: Task) -> None:
        """Remove nothing."""


class _LabelsOfAnyOwner(Labels):
    def tasks_with_rarest(self, owner: str | None, labels: tuple[Label, ...]) -> SortedKeys[Numbered]:
        """Return the tasks of the first owner with the label."""
        others = [each for (whose, label), each in self._tasks.items() if label == labels[0] and whose is not None]
        return super().tasks_with_rarest(owner, labels) if owner is None or not others else others[0]


class NeverUpdatesLabels(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.tasks.labels = _WriteOnceLabels()


class NeverRemovesLabels(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.tasks.labels = _NeverRemovedLabels()


class FindsLabelsOfOtherOwners(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self._data.tasks.labels = _LabelsOfAnyOwner()


LABELS_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    NeverUpdatesLabels: (
        "test_an_edit_updates_the_labels_that_find_a_task",
        "test_an_upsert_updates_labels",
        "test_an_imported_task_is_found_by_its_labels",
    ),
    NeverRemovesLabels: (
        "test_a_deleted_task_is_found_by_no_label",
        "test_a_task_deleted_by_retention_is_found_by_no_label",
        "test_a_failed_change_leaves_the_labels_unchanged",
    ),
    FindsLabelsOfOtherOwners: ("test_a_label_finds_no_task_of_another_owner",),
}
