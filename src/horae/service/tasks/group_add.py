"""Group admission of new tasks: concurrent requests of one caller with quotas share one quota check and one transaction.

The quota record of an owner orders its writes, so without groups each of them would wait for the commit before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from typing import Final, NamedTuple, TypeAlias

from ...errors import Refusal
from ...model.accounts.principal import Principal, Quotas
from ...model.change import Change, Facts
from ...model.record import RecordWrite
from .task_quota import QuotaCheck, TaskQuota

MAX_GROUPED: Final = 32
"""Tasks of one group. A larger group would make other processes wait for the file, and a bulk request is a group by itself."""


AttachRecords: TypeAlias = Callable[[Sequence[Facts]], Sequence[RecordWrite]]
"""Returns records to write with new tasks, all or nothing; it gets the tasks as they will be."""


class NewTasks(NamedTuple):
    """The new tasks of one request, all or none, with the records to write with them."""

    principal: Principal
    changes: Sequence[Change]
    attach_records: AttachRecords


GroupWrite: TypeAlias = Callable[[QuotaCheck, Sequence[NewTasks]], Awaitable[None]]


class _Waiting(NamedTuple):
    request: NewTasks
    written: asyncio.Future[None]


_Caller: TypeAlias = tuple[str, str | None, Quotas]
"""What the quota check of a request depends on: owner, agent, quotas."""


class GroupAdd:
    """`write` adds the tasks of all given requests in one transaction; a refusal is about at least one of them."""

    def __init__(self, quota: TaskQuota, write: GroupWrite) -> None:
        self._quota = quota
        self._write = write
        self._waiting: dict[_Caller, list[_Waiting]] = {}
        self._writing: set[asyncio.Task[None]] = set()
        """Running groups; the event loop itself keeps only weak references to tasks."""

    async def add(self, request: NewTasks) -> None:
        """Add the tasks of a request with those of other requests that wait for the same quota record."""
        principal = request.principal
        if not self._quota.is_limited(principal):
            await self._write_alone(request)
            return
        caller = principal.owner, principal.agent, principal.quotas
        each = _Waiting(request, asyncio.get_running_loop().create_future())
        waiting = self._waiting.setdefault(caller, [])
        waiting.append(each)
        if len(waiting) == 1:
            self._start_group(caller, principal)
        await each.written

    async def _write_alone(self, request: NewTasks) -> None:
        async def write(quota_check: QuotaCheck) -> None:
            await self._write(quota_check, (request,))

        await self._quota.write_within(request.principal, write)

    def _start_group(self, caller: _Caller, principal: Principal) -> None:
        """Write the waiting requests of a caller in a task of their own, which no cancelled request ends."""
        task = asyncio.get_running_loop().create_task(self._write_group(caller, principal))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write_group(self, caller: _Caller, principal: Principal) -> None:
        group: list[_Waiting] | None = None

        async def write(quota_check: QuotaCheck) -> None:
            nonlocal group
            if group is None:
                # Only now: what arrived while the owner's last write was under way belongs to this group.
                group = self._take_group(caller, principal)
            if group:
                await self._write(quota_check, [each.request for each in group])

        try:
            await self._quota.write_within(principal, write)
        except BaseException as error:  # noqa: BLE001 - raised in each request
            members = self._take_group(caller, principal) if group is None else group
            if isinstance(error, Refusal) and len(members) > 1:
                await self._write_each(members)
            else:
                _fail(members, error)
        else:
            for each in group or ():
                _resolve(each)

    def _take_group(self, caller: _Caller, principal: Principal) -> list[_Waiting]:
        """Return the first waiting requests, as many as form one group; the next group begins with the others."""
        waiting = self._waiting.pop(caller)
        size = count = 0
        for each in waiting:
            size += len(each.request.changes)
            if count and size > MAX_GROUPED:
                break
            count += 1
        if count < len(waiting):
            self._waiting[caller] = waiting[count:]
            self._start_group(caller, principal)
        return [each for each in waiting[:count] if not each.written.done()]

    async def _write_each(self, members: Sequence[_Waiting]) -> None:
        """Write each request on its own, so that a refusal meets only those that deserve it."""
        for each in members:
            try:
                await self._write_alone(each.request)
            except BaseException as error:  # noqa: BLE001 - raised in the request
                _fail([each], error)
            else:
                _resolve(each)


def _resolve(each: _Waiting) -> None:
    if not each.written.done():
        each.written.set_result(None)


def _fail(members: Sequence[_Waiting], error: BaseException) -> None:
    """Raise the error in every request. Each gets its own: a shared one would collect all tracebacks."""
    for number, each in enumerate(members):
        if each.written.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            each.written.cancel()
        else:
            each.written.set_exception(copy(error) if number else error)
