"""Operations: wishes for many tasks that go on in the background of this process, one at a time for each owner."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...model.accounts.operation import (
    KEPT,
    OPERATION,
    SEAT,
    Operation,
    OperationState,
    operation_from,
    operation_record,
    seat_of,
    sitting,
)
from ...model.accounts.principal import Principal, Scope
from ...model.ids import ENTROPY, named
from ...model.limits import NOTE_CHARACTERS, shortened
from ...model.page import LARGEST_PAGE, Page
from ...model.record import Record, Writing
from ...model.refusals import refuse as refuse_task
from ...ports.records import Records
from ...ports.store import TaskFilter
from ..accounts.audit import Audit
from ..events.webhook_checks import might_be
from ..query.argument_checks import check_page, check_wanted
from ..query.id_prefix import resolve_record
from .bulk import Action, Listing
from .operation_refusals import refuse
from .operation_worker import Carrying, Permission, Work

_AT_ONCE: Final = 4
"""So many of all owners go on at the same time; the others wait for their turn."""
_GRACE: Final = 5.0
"""Seconds in which the task that is under way may end."""
_PAGES_AHEAD: Final = 50
"""At most so many pages are read for one page of a guest."""
_TRIES: Final = 20
_RUNS: Final = ("run", "skip")


class Order(NamedTuple):
    """What was asked for, as it was said."""

    action: str
    filter: Mapping[str, Any]
    arguments: Mapping[str, Any]


def _in_short(order: Order) -> Order:
    """It is written again with every note: texts as long as a task would keep them, the longest."""
    said = order.arguments.items()
    short = {name: shortened(text, NOTE_CHARACTERS) if isinstance(text, str) else text for name, text in said}
    return order._replace(arguments=short)


def scope_for(action: object) -> Scope:
    """What whoever wants this to happen must be allowed to do."""
    return Scope.RUN if action in _RUNS else Scope.WRITE


async def _always() -> bool:
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
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._carried: dict[str, Carrying] = {}
        self._going: set[asyncio.Task[None]] = set()

    async def begin(
        self, who: Principal, order: Order, wanted: TaskFilter, action: Action, allowed: Permission = _always
    ) -> Operation:
        """It is written down, and then goes on by itself; refused while another one of this owner's does."""
        who.must(scope_for(order.action))
        check_wanted(wanted)
        now = self._clock.now()
        name = named("opn", now, self._entropy(ENTROPY))
        operation = Operation(name, who.owner, who.agent, *_in_short(order), created=now, updated=now)
        row = self._audit.row(who, "operation.begin", name, {"action": order.action})
        for _ in range(_TRIES):
            seat = await self._records.get_record(SEAT, who.owner)
            await self._check_free(seat)
            if await self._records.write_records(
                [Writing(operation_record(operation)), seat_of(operation, seat), *row]
            ):
                self._carry(operation, Work(self._tasks, who, wanted, action, allowed))
                return operation
        raise refuse("operation_contested", id=name)

    async def get(self, who: Principal, name: str) -> Operation:
        who.must(Scope.READ)
        return await self._found(who, name)

    async def page(self, who: Principal, after: str | None = None, limit: int = 100) -> Page[Operation]:
        """Newest first. A guest is given its own alone, as many as were asked for where there are so many."""
        who.must(Scope.READ)
        check_page(after, limit)
        try:
            return await self._visible_page(who, after, limit)
        except (ValueError, OverflowError):
            raise refuse_task("bad_page", value=after, wanted="after", most=LARGEST_PAGE) from None

    async def _visible_page(self, who: Principal, after: str | None, limit: int) -> Page[Operation]:
        """Pages of records are read until the answer is full; beyond `_PAGES_AHEAD` the cursor leads on."""
        own: tuple[Operation, ...] = ()
        for _ in range(_PAGES_AHEAD):
            page = await self._records.records(OPERATION, who.scope, after, limit, newest=True)
            room = limit - len(own)
            found = [number for number, record in enumerate(page.items) if _sees(who, self._read(record))]
            if len(found) > room or (len(found) == room and found[-1] != len(page.items) - 1):
                page = await self._records.records(OPERATION, who.scope, after, found[room - 1] + 1, newest=True)
            own += tuple(each for each in map(self._read, page.items) if _sees(who, each))
            after = page.after
            if after is None or len(own) >= limit:
                break
        return Page(own, after)

    async def cancel(self, who: Principal, name: str) -> Operation:
        """It ends after the task that is under way, wherever it is carried; what was done stays done."""
        if Scope.RUN not in who.scopes:
            who.must(Scope.WRITE)
        for _ in range(_TRIES):
            operation = await self._found(who, name)
            who.must(scope_for(operation.action))
            if operation.state is not OperationState.RUNNING:
                raise refuse("operation_over", id=name, state=operation.state.value)
            wanted = operation._replace(cancelling=True)
            row = self._audit.row(who, "operation.cancel", operation.id, owner=operation.owner)
            if await self._records.write_records([Writing(operation_record(wanted), operation.version), *row]):
                if operation.id in self._carried:
                    self._carried[operation.id].end(OperationState.CANCELLED)
                return wanted._replace(version=operation.version + 1)
        raise refuse("operation_contested", id=name)

    async def close(self) -> None:
        """Those that go on here end after the task that is under way, and say that they were interrupted."""
        for carrying in self._carried.values():
            carrying.end(OperationState.INTERRUPTED)
        going = set(self._going)
        if going:
            _, late = await asyncio.wait(going, timeout=_GRACE)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _check_free(self, seat: Record | None) -> None:
        if seat is None:
            return
        record = await self._records.get_record(OPERATION, sitting(seat))
        if record is not None and self._read(record).state is OperationState.RUNNING:
            raise refuse("operation_going", id=record.key)

    def _carry(self, operation: Operation, work: Work) -> None:
        carrying = Carrying(self._records, self._clock, operation, work)
        self._carried[operation.id] = carrying
        going = asyncio.ensure_future(carrying.run(self._turn))
        self._going.add(going)

        def over(task: asyncio.Task[None]) -> None:
            self._going.discard(task)
            self._carried.pop(operation.id, None)

        going.add_done_callback(over)

    def _read(self, record: Record) -> Operation:
        return operation_from(record).as_of(self._clock.now())

    async def _found(self, who: Principal, name: str) -> Operation:
        found = await resolve_record(self._records, who.scope, OPERATION, "opn", name) if might_be(name) else None
        record = None if found is None else await self._records.get_record(OPERATION, found, who.scope)
        operation = None if record is None else self._read(record)
        if operation is None or not _sees(who, operation):
            raise refuse("no_such_operation", id=name, days=KEPT.days)
        return operation


def _sees(who: Principal, operation: Operation) -> bool:
    """A guest sees what it asked for itself."""
    return who.agent is None or who.agent == operation.agent
