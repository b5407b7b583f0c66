"""Operations: bulk actions that run in the background of this process, one at a time for each owner."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ....clock import Clock
from ....model.accounts.operation import (
    OPERATION_KIND,
    OPERATION_RETENTION,
    SLOT_KIND,
    UNDO_ACTION,
    UNDOABLE_ACTIONS,
    Operation,
    OperationState,
    operation_from,
    operation_in_slot,
    operation_record,
    take_slot,
)
from ....model.accounts.principal import Principal, Scope
from ....model.ids import ENTROPY_BYTES, make_id
from ....model.limits import NOTE_CHARACTERS, shorten
from ....model.page import MAX_PAGE_SIZE, Page
from ....model.record import Record, RecordWrite
from ....model.refusals import refuse as refuse_task
from ....ports.records import Records
from ....ports.store import TaskFilter
from ...accounts.audit import Audit
from ...events.webhook_checks import is_possible_id
from ...query.argument_checks import check_filter, check_page
from ...query.id_prefix import resolve_record
from ..controls import TaskControls
from .bulk import Action, Bulk, BulkReport, Listing
from .refusals import refuse
from .undo_log import ChangedTasks, UndoLog
from .worker import OperationWorker, Permission, Work, refused_task

_MAX_CONCURRENT: Final = 4
"""Operations of all owners that run at the same time; the others wait."""
_SHUTDOWN_SECONDS: Final = 5.0
"""At shutdown, seconds in which the current task may end."""
_MAX_PAGES: Final = 50
"""Pages that are read at most for one page of an agent."""
_TRIES: Final = 20
_RUN_ACTIONS: Final = ("run", "skip")


class OperationRequest(NamedTuple):
    """A requested bulk action."""

    action: str
    filter: Mapping[str, Any]
    arguments: Mapping[str, Any]


def _shorten(order: OperationRequest) -> OperationRequest:
    """Shorten texts to the longest note of a task, because the order is written again with every progress record."""
    arguments = order.arguments.items()
    short = {name: shorten(text, NOTE_CHARACTERS) if isinstance(text, str) else text for name, text in arguments}
    return order._replace(arguments=short)


def scope_for(action: object) -> Scope:
    """Return the scope that this action requires."""
    return Scope.RUN if action in _RUN_ACTIONS else Scope.WRITE


async def _always_allowed() -> bool:
    return True


class Operations:
    def __init__(
        self,
        records: Records,
        tasks: TaskControls,
        audit: Audit,
        clock: Clock,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._records = records
        self._tasks = tasks
        self._audit = audit
        self._clock = clock
        self._entropy = entropy
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)
        self._workers: dict[str, OperationWorker] = {}
        self._background_tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(  # noqa: PLR0913 - optional parts, each by its name
        self,
        principal: Principal,
        order: OperationRequest,
        task_filter: TaskFilter,
        action: Action,
        allowed: Permission = _always_allowed,
        *,
        log: UndoLog | None = None,
        tasks: Listing | None = None,
    ) -> Operation:
        """Write the operation and start it in the background; refused while another one of this owner runs.

        `tasks` lists the tasks if they were selected before; `log` is the log in which the action records its changes.
        """
        principal.require_scope(scope_for(order.action))
        check_filter(task_filter)
        operation = self._new_operation(principal, order, log)
        row = self._audit.row(principal, "operation.begin", operation.id, {"action": order.action})
        work = Work(tasks or self._tasks, principal, task_filter, action, allowed, log)

        async def attach() -> Sequence[RecordWrite]:
            return row

        return await self._begin(operation, work, attach)

    async def _begin(
        self, operation: Operation, work: Work, attach: Callable[[], Awaitable[Sequence[RecordWrite]]]
    ) -> Operation:
        """Write a new operation with attached records, and start it; both are read again if another writer was faster."""
        for _ in range(_TRIES):
            owner_record = await self._records.get_record(SLOT_KIND, operation.owner)
            await self._check_none_running(owner_record)
            attached = await attach()
            if await self._records.write_records(
                [RecordWrite(operation_record(operation)), take_slot(operation, owner_record), *attached]
            ):
                self._start_worker(operation, work)
                return operation
        raise refuse("operation_contested", id=operation.id)

    def new_log(self, principal: Principal, action: object) -> UndoLog | None:
        """Return the log in which a bulk action records its changes; None for actions that cannot be undone."""
        principal.require_scope(scope_for(action))
        if action not in UNDOABLE_ACTIONS:
            return None
        return UndoLog(self._new_id(), principal.owner, self._clock)

    async def act(  # noqa: PLR0913 - optional parts, each by its name
        self,
        principal: Principal,
        order: OperationRequest,
        task_filter: TaskFilter,
        action: Action,
        *,
        log: UndoLog | None = None,
        tasks: Listing | None = None,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> BulkReport:
        """Apply an action to all tasks before this call returns. If it recorded changes, it is kept as an operation that
        has ended, so that it can be undone; also if an error or a cancelled call ends it early."""
        principal.require_scope(scope_for(order.action))
        check_filter(task_filter)
        operation = self._new_operation(principal, order, log)._replace(state=OperationState.INTERRUPTED)
        report: BulkReport | None = None
        try:
            report = await Bulk(tasks or self._tasks).each(principal, task_filter, action, progress=progress)
        finally:
            if log is not None and log.changed:
                await self._keep_ended(operation._replace(done=log.changed, changed=log.changed), report)
        return report if log is None or not log.changed else report._replace(undo=operation.id)

    async def _keep_ended(self, operation: Operation, report: BulkReport | None) -> None:
        """Write the operation of an action that has ended; without a report it was interrupted."""
        if report is not None:
            operation = operation._replace(
                state=OperationState.FINISHED,
                total=report.matched,
                done=report.done,
                refused=report.matched - report.done,
                refusals=tuple(map(refused_task, report.refused)),
            )
        now = self._clock.now()
        await self._records.put_record(operation_record(operation._replace(updated=now, ended=now)), replacing=None)

    async def undo(self, principal: Principal, name: str, allowed: Permission = _always_allowed) -> Operation:
        """Restore the pauses that an operation changed, as an operation of its own, which is returned.

        A task that was changed since is refused and stays as it is. An undo that was cancelled or interrupted can be
        repeated: it restores the rest.
        """
        principal.require_scope(Scope.WRITE)
        undone = await self._get_undoable(principal, name)
        operation = self._new_operation(principal, OperationRequest(UNDO_ACTION, {"operation": undone.id}, {}))
        changed = ChangedTasks(self._records, self._tasks, principal, undone.id)
        row = self._audit.row(principal, "operation.undo", undone.id, {"operation": operation.id}, owner=undone.owner)

        async def attach() -> Sequence[RecordWrite]:
            current = await self._get_undoable(principal, undone.id)
            marked = current._replace(undone_by=operation.id)
            return RecordWrite(operation_record(marked), current.version), *row

        return await self._begin(operation, Work(changed, principal, TaskFilter(), changed.restore, allowed), attach)

    async def preview_undo(self, principal: Principal, name: str) -> BulkReport:
        """Return which pauses an undo would restore now, with the same refusals as the undo; nothing is written."""
        principal.require_scope(Scope.WRITE)
        undone = await self._get_undoable(principal, name)
        changed = ChangedTasks(self._records, self._tasks, principal, undone.id, dry_run=True)
        return await Bulk(changed).each(principal, TaskFilter(), changed.restore)

    async def wait(self, principal: Principal, name: str, seconds: float | None = None) -> Operation:
        """Return an operation when it has ended in this process, or after so many seconds as it is then."""
        principal.require_scope(Scope.READ)
        operation = await self._get_operation(principal, name)
        running = self._background_tasks.get(operation.id)
        if running is not None:
            await asyncio.wait([running], timeout=seconds)
        return await self._get_operation(principal, operation.id)

    def _new_id(self) -> str:
        return make_id("opn", self._clock.now(), self._entropy(ENTROPY_BYTES))

    def _new_operation(self, principal: Principal, order: OperationRequest, log: UndoLog | None = None) -> Operation:
        now = self._clock.now()
        name = self._new_id() if log is None else log.operation
        return Operation(name, principal.owner, principal.agent, *_shorten(order), created=now, updated=now)

    async def _get_undoable(self, principal: Principal, name: str) -> Operation:
        """Return an operation that can be undone now, or refuse."""
        operation = await self._get_operation(principal, name)
        if operation.state is OperationState.RUNNING:
            raise refuse("operation_going", id=operation.id)
        if operation.undone_by is not None:
            raise refuse("already_undone", id=operation.id, by=operation.undone_by)
        if operation.undo_until is None:
            raise refuse("nothing_to_undo", id=operation.id)
        if not operation.can_undo(self._clock.now()):
            raise refuse("undo_expired", id=operation.id, until=f"{operation.undo_until:%Y-%m-%d %H:%M:%S}Z")
        return operation

    async def get(self, principal: Principal, name: str) -> Operation:
        principal.require_scope(Scope.READ)
        return await self._get_operation(principal, name)

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Operation]:
        """Return operations, newest first. An agent gets only its own, up to `limit` of them if there are so many."""
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        try:
            return await self._visible_page(principal, after, limit)
        except (ValueError, OverflowError):
            raise refuse_task("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE) from None

    async def _visible_page(self, principal: Principal, after: str | None, limit: int) -> Page[Operation]:
        """Read pages of records until the result is full; after `_MAX_PAGES` the cursor leads on."""
        own: tuple[Operation, ...] = ()
        for _ in range(_MAX_PAGES):
            page = await self._records.records(OPERATION_KIND, principal.owner_filter, after, limit, newest=True)
            missing = limit - len(own)
            visible = [number for number, record in enumerate(page.items) if _sees(principal, self._read(record))]
            if len(visible) > missing or (len(visible) == missing and visible[-1] != len(page.items) - 1):
                page = await self._records.records(
                    OPERATION_KIND, principal.owner_filter, after, visible[missing - 1] + 1, newest=True
                )
            own += tuple(each for each in map(self._read, page.items) if _sees(principal, each))
            after = page.after
            if after is None or len(own) >= limit:
                break
        return Page(own, after)

    async def cancel(self, principal: Principal, name: str) -> Operation:
        """End an operation after its current task, on any process; completed actions stay."""
        if Scope.RUN not in principal.scopes:
            principal.require_scope(Scope.WRITE)
        for _ in range(_TRIES):
            operation = await self._get_operation(principal, name)
            principal.require_scope(scope_for(operation.action))
            if operation.state is not OperationState.RUNNING:
                raise refuse("operation_over", id=name, state=operation.state.value)
            cancelling = operation._replace(cancelling=True)
            row = self._audit.row(principal, "operation.cancel", operation.id, owner=operation.owner)
            if await self._records.write_records([RecordWrite(operation_record(cancelling), operation.version), *row]):
                if operation.id in self._workers:
                    self._workers[operation.id].stop(OperationState.CANCELLED)
                return cancelling._replace(version=operation.version + 1)
        raise refuse("operation_contested", id=name)

    async def close(self) -> None:
        """End the operations of this process after their current task, as interrupted."""
        for worker in self._workers.values():
            worker.stop(OperationState.INTERRUPTED)
        running = set(self._background_tasks.values())
        if running:
            _, late = await asyncio.wait(running, timeout=_SHUTDOWN_SECONDS)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _check_none_running(self, owner_record: Record | None) -> None:
        if owner_record is None:
            return
        record = await self._records.get_record(OPERATION_KIND, operation_in_slot(owner_record))
        if record is not None and self._read(record).state is OperationState.RUNNING:
            raise refuse("operation_going", id=record.key)

    def _start_worker(self, operation: Operation, work: Work) -> None:
        worker = OperationWorker(self._records, self._clock, operation, work)
        self._workers[operation.id] = worker
        running = asyncio.ensure_future(worker.run(self._slots))
        self._background_tasks[operation.id] = running

        def remove(_task: asyncio.Task[None]) -> None:
            self._background_tasks.pop(operation.id, None)
            self._workers.pop(operation.id, None)

        running.add_done_callback(remove)

    def _read(self, record: Record) -> Operation:
        return operation_from(record).as_of(self._clock.now())

    async def _get_operation(self, principal: Principal, name: str) -> Operation:
        whole_id = (
            await resolve_record(self._records, principal.owner_filter, OPERATION_KIND, "opn", name)
            if is_possible_id(name)
            else None
        )
        record = (
            None
            if whole_id is None
            else await self._records.get_record(OPERATION_KIND, whole_id, principal.owner_filter)
        )
        operation = None if record is None else self._read(record)
        if operation is None or not _sees(principal, operation):
            raise refuse("no_such_operation", id=name, days=OPERATION_RETENTION.days)
        return await self._without_interrupted_undo(operation)

    async def _without_interrupted_undo(self, operation: Operation) -> Operation:
        """Return the operation as not undone if its undo ended early: the rest can still be restored."""
        if operation.undone_by is None:
            return operation
        record = await self._records.get_record(OPERATION_KIND, operation.undone_by)
        if record is None or self._read(record).state in (OperationState.RUNNING, OperationState.FINISHED):
            return operation
        return operation._replace(undone_by=None)


def _sees(principal: Principal, operation: Operation) -> bool:
    """Whether the principal sees the operation: an agent sees only its own."""
    return principal.agent is None or principal.agent == operation.agent
