"""Worker of one operation: applies the action task by task, records progress every second, and stops between two tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

from ....clock import Clock
from ....errors import HoraeError, Refusal, Sentence
from ....model.accounts.operation import (
    HEARTBEAT_TIMEOUT,
    MAX_REFUSALS,
    OPERATION_KIND,
    Operation,
    OperationState,
    RefusedTask,
    operation_from,
    operation_record,
)
from ....model.accounts.principal import Principal
from ....model.page import MAX_PAGE_SIZE
from ....model.task import partial_task
from ....ports.records import Records
from ....ports.store import TaskFilter
from .bulk import Action, BulkReport, Listing, RefusedAction, apply_to_each
from .refusals import refuse
from .undo_log import UndoLog

LOG: Final = logging.getLogger("horae")
Permission: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether the requester still has the right; checked again while the operation runs."""
_PROGRESS_SECONDS: Final = 1.0
_MAX_SILENCE: Final = HEARTBEAT_TIMEOUT - timedelta(seconds=3)
"""A worker that could not write for so long must stop: other processes take it for dead."""
_TRIES: Final = 20
REVOKED: Final = "revoked"
INTERNAL_ERROR: Final = "internal_error"


class Work(NamedTuple):
    """The action of an operation, its filter, the principal that requested it, and the log of its changes."""

    tasks: Listing
    principal: Principal
    task_filter: TaskFilter
    action: Action
    is_allowed: Permission
    log: UndoLog | None = None


class OperationWorker:
    """Runs one operation. Only this worker writes its progress; other processes can only ask it to end."""

    def __init__(self, records: Records, clock: Clock, operation: Operation, work: Work) -> None:
        self.operation = operation
        self._records = records
        self._clock = clock
        self._work = work
        self._end_state: OperationState | None = None

    def stop(self, state: OperationState, problem: str | None = None) -> None:
        """End the operation after its current task; the first reason counts."""
        if self._end_state is None:
            self._end_state = state
            self.operation = self.operation._replace(problem=problem)

    async def run(self, slots: asyncio.Semaphore) -> None:
        """Run the operation to its end and record the result; never raises."""
        progress = asyncio.ensure_future(self._record_progress())
        try:
            async with slots:
                await self._count()
                await self._apply_all()
            self.stop(OperationState.FINISHED)
        except asyncio.CancelledError:
            # Only `Operations.close` cancels and awaits this task: the end is recorded below before it returns.
            self.stop(OperationState.INTERRUPTED)
        except HoraeError as error:
            self.stop(OperationState.INTERRUPTED, error.code if isinstance(error, Refusal) else "store_error")
            LOG.warning("operation %s was interrupted: %s", self.operation.id, error)
        except Exception:
            self.stop(OperationState.INTERRUPTED, INTERNAL_ERROR)
            LOG.exception("operation %s was interrupted", self.operation.id)
        finally:
            progress.cancel()
            await asyncio.gather(progress, return_exceptions=True)
        await self._conclude()

    async def _count(self) -> None:
        total = 0
        after: str | None = None
        while not self._should_stop():
            page = await self._work.tasks.page(self._work.principal, self._work.task_filter, after, MAX_PAGE_SIZE)
            total, after = total + len(page.items), page.after
            await self._clock.pause(0)
            if after is None:
                self.operation = self.operation._replace(total=total)
                return

    async def _apply_all(self) -> None:
        if self._should_stop():
            return
        async for refused in apply_to_each(
            self._work.tasks, self._work.principal, self._work.task_filter, self._work.action
        ):
            self.operation = _with_result(self.operation, refused)
            # Yield to the event loop, because some stores answer without suspending.
            await self._clock.pause(0)
            if self._should_stop():
                return

    async def _record_progress(self) -> None:
        """Write progress as a heartbeat, and check the right to go on; a short outage of the store is ignored."""
        while True:
            await self._clock.pause(_PROGRESS_SECONDS)
            if self._is_silent():
                return
            with suppress(HoraeError):
                if not await self._work.is_allowed():
                    self.stop(OperationState.INTERRUPTED, REVOKED)
                await self._write()

    def _should_stop(self) -> bool:
        return self._is_silent() or self._end_state is not None

    def _is_silent(self) -> bool:
        is_silent = self._clock.now() - self.operation.updated > _MAX_SILENCE
        if is_silent:
            self.stop(OperationState.INTERRUPTED)
        return is_silent

    async def _conclude(self) -> None:
        state = self._end_state or OperationState.INTERRUPTED
        self.operation = self.operation._replace(state=state, ended=self._clock.now())
        try:
            await self._write()
        except HoraeError as error:
            # Without further writes, other processes take the operation for ended.
            LOG.warning("the end of operation %s could not be written: %s", self.operation.id, error)

    async def _write(self) -> None:
        for _ in range(_TRIES):
            updated = self.operation._replace(updated=self._clock.now(), changed=self._count_changed())
            if await self._records.put_record(operation_record(updated), replacing=updated.version):
                self.operation = self.operation._replace(
                    updated=updated.updated, changed=updated.changed, version=updated.version + 1
                )
                return
            record = await self._records.get_record(OPERATION_KIND, updated.id)
            if record is None:
                return
            stored = operation_from(record)
            self.operation = self.operation._replace(version=stored.version, cancelling=stored.cancelling)
            if stored.cancelling:
                self.stop(OperationState.CANCELLED)

    def _count_changed(self) -> int:
        return 0 if self._work.log is None else self._work.log.changed


def _with_result(operation: Operation, refused: RefusedAction | None) -> Operation:
    if refused is None:
        return operation._replace(done=operation.done + 1)
    number = operation.refused + 1
    if len(operation.refusals) >= MAX_REFUSALS:
        return operation._replace(refused=number)
    return operation._replace(refused=number, refusals=(*operation.refusals, refused_task(refused)))


def report_of(operation: Operation) -> BulkReport:
    """Return the report of an operation that has ended; refused if it ended before its last task."""
    if operation.state is not OperationState.FINISHED:
        raise refuse(
            "operation_ended_early",
            id=operation.id,
            state=operation.state.value,
            done=operation.done,
            total=operation.total or 0,
        )
    undo = None if operation.undo_until is None else operation.id
    return BulkReport(operation.total or 0, operation.done, tuple(map(_refused_action, operation.refusals)), undo)


def _refused_action(refused: RefusedTask) -> RefusedAction:
    refusal = Refusal(refused.code, {"en": Sentence(refused.en, ""), "zh": Sentence(refused.zh, "")})
    return RefusedAction(partial_task(refused.task_id, refused.task), refusal)


def refused_task(refused: RefusedAction) -> RefusedTask:
    task, refusal = refused
    return RefusedTask(
        task.id, task.name, refusal.code, refusal.in_language("en").message, refusal.in_language("zh").message
    )
