"""Undo log: records how a bulk pause, resume or cancel changes each task, and reads these records back to restore them."""

from __future__ import annotations

from collections.abc import Sequence

from ....clock import Clock
from ....lifecycle.control.restore import restorable_change
from ....model.accounts.pause_change import PAUSE_CHANGE_KIND, first_key, pause_change_from, pause_change_record
from ....model.accounts.principal import Principal
from ....model.change import Change, Facts
from ....model.page import Page
from ....model.record import RecordWrite
from ....model.task import NEW_TASK_STATUS, Task, partial_task
from ....ports.records import Records
from ....ports.store import TaskFilter
from ..controls import TaskControls
from .bulk import Action


class UndoLog:
    """Log of one operation: each pause, resume or cancel is recorded in the transaction of its task."""

    def __init__(self, operation: str, owner: str, clock: Clock) -> None:
        self.operation = operation
        self.changed = 0
        self._owner = owner
        self._clock = clock
        self._has_change = False

    def writes(self, facts: Facts, change: Change) -> Sequence[RecordWrite]:
        """Return the record of a change, to be written with it."""
        recorded = restorable_change(self.operation, facts, change)
        self._has_change = recorded is not None
        if recorded is None:
            return ()
        return (RecordWrite(pause_change_record(recorded, self._owner, self._clock.now())),)

    def record(self, action: Action) -> Action:
        """Return an action that also counts the changes that were committed."""

        async def apply(task: Task) -> None:
            self._has_change = False
            await action(task)
            self.changed += self._has_change

        return apply


class ChangedTasks:
    """Listing of the tasks that an operation has changed, and the action that restores one of them.

    A dry run only checks whether it could be restored.
    """

    def __init__(
        self, records: Records, tasks: TaskControls, principal: Principal, operation: str, *, dry_run: bool = False
    ) -> None:
        self._records = records
        self._tasks = tasks
        self._principal = principal
        self._prefix = first_key(operation)
        self._dry_run = dry_run

    async def page(self, _principal: Principal, _filter: TaskFilter, after: str | None, limit: int) -> Page[Facts]:
        """Return tasks of which only the id and the name are known: some may have been deleted."""
        found = await self._records.records(PAUSE_CHANGE_KIND, None, after or self._prefix, limit)
        own = [record for record in found.items if record.key.startswith(self._prefix)]
        tasks = (partial_task(change.task_id, change.task) for change in map(pause_change_from, own))
        after = found.after if len(own) == len(found.items) else None
        return Page(tuple(Facts(task, NEW_TASK_STATUS) for task in tasks), after)

    async def restore(self, task: Task) -> None:
        """Restore a task and drop its record in one transaction: a repeated undo finds only the remaining records."""
        record = await self._records.get_record(PAUSE_CHANGE_KIND, self._prefix + task.id)
        if record is None:
            return
        drop = RecordWrite(record, record.version, dropped=True)
        tasks = self._tasks.with_attached(lambda _facts, change: () if change == Change() else (drop,))
        await tasks.restore(self._principal, pause_change_from(record), dry_run=self._dry_run)
