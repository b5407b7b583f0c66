"""In-process cache of tasks, keyed by version: a claim re-reads only tasks that changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from ..model.change import Change
from ..model.run import LIVE_STATES, Origin, Run
from ..model.task import Task, TaskState, TaskStatus

_NO_RUNS: Final[frozenset[str]] = frozenset()
_ENDED_STATES: Final = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


class CachedTask(NamedTuple):
    """A task, its status and its live runs, at one version."""

    number: int
    version: int
    task: Task
    status: TaskStatus
    live: tuple[Run, ...] = ()

    def find_run(self, run_id: str) -> Run | None:
        """Return a live run; None if it is not live."""
        for run in self.live:
            if run.id == run_id:
                return run
        return None


class TaskCache:
    """Thread-safe cache, because recovery of lost runs has a thread of its own.

    An entry is used only if its version is the one in the store. It is written after the commit, and cleared with each new
    connection to a server, which may lead to another server that lacks the last commits.
    """

    _MAX_TASKS: Final = 4_096
    _MAX_CHARACTERS: Final = 8_000_000
    """Bound on the characters of payloads and targets, so that a few thousand large tasks do not fill the memory."""

    def __init__(self) -> None:
        self._entries: dict[int, CachedTask] = {}
        self._task_of_run: dict[str, int] = {}
        self._never_ordinary: set[str] = set()
        """Those of `_task_of_run` whose settlement takes the general path."""
        self._empty_at_version: dict[int, int] = {}
        """By task number, the version at which the task was left with no agenda entry; that write raises the version."""
        self._size = 0
        self._lock = threading.Lock()

    def get_current(self, versions: Mapping[int, int]) -> dict[int, CachedTask]:
        """Return the cached tasks whose version is the given, current one; by task number."""
        matches: dict[int, CachedTask] = {}
        entries = self._entries
        for number, version in versions.items():
            cached = entries.get(number)
            if cached is not None and cached.version == version:
                matches[number] = cached
        return matches

    def task_numbers_of_runs(self, run_ids: Iterable[str]) -> dict[str, int]:
        """Return the task number of each run that was live in the cached version of its task."""
        task_of_run = self._task_of_run
        return {run_id: number for run_id in run_ids if (number := task_of_run.get(run_id)) is not None}

    def never_ordinary_runs(self, run_ids: Iterable[str]) -> AbstractSet[str]:
        """Return the runs of cached tasks whose end is never an `OrdinarySuccess`: of tasks with successors, in a lane, also
        that of an owner with a limit, those that no schedule caused, and several of one task: these stay together."""
        return self._never_ordinary.intersection(run_ids) if self._never_ordinary else _NO_RUNS

    def successors_of(self, numbers: Iterable[int]) -> list[str]:
        """Return the ids of the tasks that run after the cached ones among these."""
        found = (self._entries.get(number) for number in numbers)
        return sorted({each for cached in found if cached is not None for each in cached.task.successors})

    def get_with_empty_agenda(self, numbers: Iterable[int]) -> dict[int, CachedTask]:
        """Return the cached tasks that had no agenda entry at the cached version."""
        matches: dict[int, CachedTask] = {}
        entries, empty_versions = self._entries, self._empty_at_version
        for number in numbers:
            cached = entries.get(number)
            if cached is not None and empty_versions.get(number) == cached.version:
                matches[number] = cached
        return matches

    def _put(self, cached: CachedTask) -> None:
        """Store a task; one that has ended and has no live run is removed instead, to leave room for active tasks."""
        number, _, task, status, live = cached
        task_of_run = self._task_of_run
        before = self._entries.get(number)
        if before is None:
            if not live and status.state in _ENDED_STATES:
                return
            size = len(task.payload) + len(task.target.spec)
            self._size += size
            if len(self._entries) >= self._MAX_TASKS or self._size >= self._MAX_CHARACTERS:
                self._clear()
                self._size = size
        else:
            if before.task is not task:
                self._size += _payload_size(task) - _payload_size(before.task)
            for run in before.live:
                task_of_run.pop(run.id, None)
            if self._never_ordinary:
                self._never_ordinary.difference_update([run.id for run in before.live])
            if not live and status.state in _ENDED_STATES:
                del self._entries[number]
                self._empty_at_version.pop(number, None)
                self._size -= len(task.payload) + len(task.target.spec)
                return
        self._entries[number] = cached
        for run in live:
            task_of_run[run.id] = number
            if run.lanes or task.successors or task.lane or len(live) > 1 or run.origin is not Origin.SCHEDULED:
                self._never_ordinary.add(run.id)

    def update(self, updates: Mapping[int, CachedTask | None], empty_agendas: Iterable[int] = ()) -> None:
        """Store many tasks by number (None removes one); `empty_agendas` are the numbers of tasks without an agenda entry."""
        with self._lock:
            for number, cached in updates.items():
                if cached is None:
                    self._discard(number)
                else:
                    self._put(cached)
            for number in empty_agendas:
                if number in self._entries:
                    self._empty_at_version[number] = self._entries[number].version

    def _discard(self, number: int) -> None:
        cached = self._entries.pop(number, None)
        self._empty_at_version.pop(number, None)
        if cached is not None:
            self._size -= _payload_size(cached.task)
            for run in cached.live:
                self._task_of_run.pop(run.id, None)
                self._never_ordinary.discard(run.id)

    def clear(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self._entries.clear()
        self._empty_at_version.clear()
        self._task_of_run.clear()
        self._never_ordinary.clear()
        self._size = 0


def _payload_size(task: Task) -> int:
    return len(task.payload) + len(task.target.spec)


def apply_change(cached: CachedTask, change: Change) -> CachedTask:
    """Return the cached task as it is after the change is written."""
    number, version, task, status, live = cached
    if change.new_runs or change.updated_runs or change.cancelled:
        live = _update_live_runs(live, change)
    return CachedTask(number, version + 1, change.task or task, change.status or status, live)


def _update_live_runs(live: tuple[Run, ...], change: Change) -> tuple[Run, ...]:
    updated_runs = {run.id: run for run in change.updated_runs}
    cancel_reasons = dict(change.cancelled)
    runs = [*(updated_runs.get(run.id, run) for run in live), *change.new_runs]
    if cancel_reasons:
        runs = [run._replace(cancel=cancel_reasons.get(run.id, run.cancel)) for run in runs]
    return tuple(sorted([run for run in runs if run.state in LIVE_STATES], key=_run_id))


def _run_id(run: Run) -> str:
    return run.id
