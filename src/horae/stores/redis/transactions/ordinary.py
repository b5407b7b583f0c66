"""Ordinary starts and successes of a transaction: kept as the parts in which they differ, and written at its end from these.

A task that has one of them and is looked at again in the same transaction becomes a task like all others, with all of its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ....model.change import Start, Success
from ....model.run import Run
from ..layout.document_cache import DocumentCache
from ..layout.documents import StoredTask, TaskDocument
from ..layout.indexes import IndexChanges
from ..layout.ordinary_texts import (
    document_after_start,
    run_after_success,
    start_event_text,
    start_state_line,
    success_event_texts,
    success_run_text,
    success_state_line,
)
from .transaction import Transaction

if TYPE_CHECKING:
    from .unit_of_work import KnownTask


class _Started(NamedTuple):
    stored: StoredTask
    member: str
    """Of the entry that became the run."""
    start: Start

    @property
    def after(self) -> TaskDocument:
        return document_after_start(self.stored.number, self.stored.task, self.start)


class _Succeeded(NamedTuple):
    known: KnownTask
    run: Run
    success: Success
    after: TaskDocument


class OrdinaryWrites:
    """The starts and successes of one transaction, by task."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction: Final = transaction
        self._started: dict[str, _Started] = {}
        self._succeeded: dict[str, _Succeeded] = {}

    def add_start(self, stored: StoredTask, member: str, start: Start) -> None:
        run = start.run
        self._transaction.require_absent(self._transaction.keys.run(run.id))
        self._transaction.add_event(run.owner, start_event_text(run))
        self._started[run.task_id] = _Started(stored, member, start)

    def add_success(self, known: KnownTask, document: TaskDocument, run: Run, success: Success) -> None:
        """Add the success of the only live run of a task; `document` is the task before it."""
        number, task, _, entries, _ = document
        known.after = TaskDocument(number, task, success.status, entries, ())
        self._succeeded[run.task_id] = _Succeeded(known, run, success, known.after)
        for owner, text in success_event_texts(task, run, success):
            self._transaction.add_event(owner, text)

    def take_start(self, task_id: str) -> _Started | None:
        """Remove the start of a task, which is looked at again."""
        return self._started.pop(task_id, None) if self._started else None

    def end_success(self, task_id: str) -> None:
        """Make the success of a task like all others, because the task changes again."""
        found = self._succeeded.pop(task_id, None) if self._succeeded else None
        if found is not None:
            found.known.ended[found.run.id] = run_after_success(found.run, found.success)

    def has_success(self, task_id: str) -> bool:
        return task_id in self._succeeded

    def write(self, changes: IndexChanges) -> None:
        """Write documents and indexes."""
        transaction = self._transaction
        keys = transaction.keys
        for task_id, (stored, member, start) in self._started.items():
            transaction.put_tail(keys.task(task_id), stored.state_at, start_state_line(stored.number, start))
            changes.add_start(stored.number, member, start)
        for task_id, (known, run, success, after) in self._succeeded.items():
            key = keys.run(run.id)
            transaction.require_absent(key)
            transaction.put(key, success_run_text(run, success))
            transaction.put_tail(keys.task(task_id), known.state_at, success_state_line(after))
            changes.add_success(after.number, run, success.status)

    def update_cache(self, cache: DocumentCache, version: str) -> None:
        """Cache the tasks of the starts; call it after the commit."""
        for started in self._started.values():
            cache.put(version, started.after, started.stored.state_at)
