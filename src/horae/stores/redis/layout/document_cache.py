"""Cache of task documents at their versions: a settlement of this node's own claims reads nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final, NamedTuple

from ....model.task import TaskState
from .documents import TaskDocument
from .lane_documents import OwnerLimits

_ENDED_STATES: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class CachedDocument(NamedTuple):
    version: str
    document: TaskDocument
    state_at: int
    """Where the second line of the stored text begins."""


class DocumentCache:
    """Thread-safe. What it returns may be out of date: the commit checks the version."""

    _MAX_TASKS: Final = 4_096
    _MAX_CHARACTERS: Final = 8_000_000

    def __init__(self) -> None:
        self._documents: dict[str, CachedDocument] = {}
        self._task_of_run: dict[str, str] = {}
        self._size = 0
        self._lock = threading.Lock()
        self.limits: tuple[str, OwnerLimits] | None = None
        """Version and content of the limits of owners."""

    def get(self, task_id: str) -> CachedDocument | None:
        return self._documents.get(task_id)

    def tasks_of_runs(self, run_ids: Iterable[str]) -> dict[str, str]:
        """Return the task of each run that was live in the cached document of its task."""
        task_of_run = self._task_of_run
        return {run_id: task_id for run_id in run_ids if (task_id := task_of_run.get(run_id)) is not None}

    def put(self, version: str, document: TaskDocument, state_at: int) -> None:
        """Store the document of a task; one that has ended and has no live run is removed instead."""
        task_id = document.task.id
        with self._lock:
            self._discard(task_id)
            if not document.live and document.status.state in _ENDED_STATES:
                return
            self._size += _size_of(document)
            if len(self._documents) >= self._MAX_TASKS or self._size >= self._MAX_CHARACTERS:
                self._clear()
                self._size = _size_of(document)
            self._documents[task_id] = CachedDocument(version, document, state_at)
            for run in document.live:
                self._task_of_run[run.id] = task_id

    def discard(self, task_ids: Iterable[str]) -> None:
        with self._lock:
            for task_id in task_ids:
                self._discard(task_id)

    def _discard(self, task_id: str) -> None:
        cached = self._documents.pop(task_id, None)
        if cached is not None:
            self._size -= _size_of(cached.document)
            for run in cached.document.live:
                self._task_of_run.pop(run.id, None)

    def clear(self) -> None:
        with self._lock:
            self._clear()
            self.limits = None

    def _clear(self) -> None:
        self._documents.clear()
        self._task_of_run.clear()
        self._size = 0


def _size_of(document: TaskDocument) -> int:
    return len(document.task.payload) + len(document.task.target.spec) + 200 * len(document.entries)
