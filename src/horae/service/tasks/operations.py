"""Operations: bulk actions that run in the background of this process, one at a time for each owner."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...errors import Conflict, NotFound
from ...model.accounts.operation import (
    OPERATION_KIND,
    OPERATION_RETENTION,
    SLOT_KIND,
    Operation,
    OperationState,
    operation_from,
    operation_in_slot,
    operation_record,
    take_slot,
)
from ...model.accounts.principal import Principal, Scope
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.limits import NOTE_CHARACTERS, shorten
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...ports.records import Records
from ...ports.store import TaskFilter
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry
from ..accounts.audit import Audit
from ..events.webhook_checks import is_possible_id
from ..query.argument_checks import check_filter, check_page
from ..query.id_prefix import resolve_record
from .bulk import Action, Listing
from .operation_worker import OperationWorker, Permission, Work

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_such_operation": RefusalEntry(
            NotFound,
            "There is no operation '{id}'.",
            "List them with GET /v1/operations; they are kept for {days} days.",
            "没有操作“{id}”。",
            "可用 GET /v1/operations 列出;操作记录保留 {days} 天。",
        ),
        "operation_going": RefusalEntry(
            Conflict,
            "The operation '{id}' is still running, and an owner can have one at a time.",
            "Wait until it has ended, or cancel it: POST /v1/operations/{id}/cancel.",
            "操作“{id}”仍在进行,每个所有者同时只能有一个。",
            "请等它结束,或取消它:POST /v1/operations/{id}/cancel。",
        ),
        "operation_over": RefusalEntry(
            Conflict,
            "The operation has already ended as {state}.",
            "What it has done stays done; look at it with GET /v1/operations/{id}.",
            "该操作已以 {state} 结束。",
            "已完成的部分保持不变;可用 GET /v1/operations/{id} 查看。",
        ),
        "operation_contested": RefusalEntry(
            Conflict,
            "The operation '{id}' is being changed by other requests at the same time.",
            "Look at it, and try again.",
            "操作“{id}”同时被他人反复更改。",
            "请查看后重试。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


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
        tasks: Listing,
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
        self._background_tasks: set[asyncio.Task[None]] = set()

    async def begin(
        self,
        principal: Principal,
        order: OperationRequest,
        task_filter: TaskFilter,
        action: Action,
        allowed: Permission = _always_allowed,
    ) -> Operation:
        """Write the operation and start it in the background; refused while another one of this owner runs."""
        principal.require_scope(scope_for(order.action))
        check_filter(task_filter)
        now = self._clock.now()
        name = make_id("opn", now, self._entropy(ENTROPY_BYTES))
        operation = Operation(name, principal.owner, principal.agent, *_shorten(order), created=now, updated=now)
        row = self._audit.row(principal, "operation.begin", name, {"action": order.action})
        for _ in range(_TRIES):
            owner_record = await self._records.get_record(SLOT_KIND, principal.owner)
            await self._check_none_running(owner_record)
            if await self._records.write_records(
                [RecordWrite(operation_record(operation)), take_slot(operation, owner_record), *row]
            ):
                self._start_worker(operation, Work(self._tasks, principal, task_filter, action, allowed))
                return operation
        raise refuse("operation_contested", id=name)

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
        """End an operation after its current task, on whatever process it runs; completed actions stay."""
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
        running = set(self._background_tasks)
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
        self._background_tasks.add(running)

        def remove(task: asyncio.Task[None]) -> None:
            self._background_tasks.discard(task)
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
        return operation


def _sees(principal: Principal, operation: Operation) -> bool:
    """Whether the principal sees the operation: an agent sees only its own."""
    return principal.agent is None or principal.agent == operation.agent
