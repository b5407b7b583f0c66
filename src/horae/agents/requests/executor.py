"""Executor of requests: reads a claimed file, checks the rights of its group, carries it out once, and returns the answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ...clock import Clock
from ...errors import Conflict, Refusal, StoreError
from ...model.agents.group import Group
from ...service.groups.refusals import refuse as refuse_group
from ...service.service import Service
from .answers import Answer, refused
from .context import RequestContext, check_running
from .group_requests import GroupRefresh, register_group
from .inbox import Request
from .message_requests import Mask, MessageSender, keep_text
from .principals import GroupAccount, open_account
from .refusals import refuse
from .request_records import RequestRecord, is_repetition
from .task_requests import (
    cancel_task,
    explain_task,
    pause_task,
    resume_task,
    run_task,
    schedule_task,
    update_task,
)

_log: Final = logging.getLogger(__name__)
MESSAGE: Final = "message"
TASK_CHANGES: Final = frozenset(
    {"schedule_task", "pause_task", "resume_task", "cancel_task", "update_task", "run_task"}
)
_TYPE_CHARACTERS: Final = 40

_Handler = Callable[[RequestContext, Clock], Awaitable[Answer]]


async def _refresh_nothing(_folder: str) -> int:
    return 0


async def _note_nothing(_kind: str, _folder: str) -> None:
    pass


class RequestExecutor:
    """`mask` hides the secrets of an agent in its messages, `refresh` writes the list of chats of a group and returns their number,
    `on_change` is called with the type of each request that was carried out and its group, before the answer is written."""

    def __init__(
        self,
        service: Service,
        clock: Clock,
        *,
        mask: Mask = keep_text,
        refresh: Callable[[str], Awaitable[int]] = _refresh_nothing,
        on_delivery: Callable[[], None] = lambda: None,
        on_change: Callable[[str, str], Awaitable[None]] = _note_nothing,
    ) -> None:
        self._service = service
        self._clock = clock
        sender = MessageSender(clock, mask, on_delivery)
        self._on_change = on_change
        self._handlers: Mapping[str, _Handler] = {
            MESSAGE: sender.send,
            "schedule_task": schedule_task,
            "pause_task": pause_task,
            "resume_task": resume_task,
            "cancel_task": cancel_task,
            "update_task": update_task,
            "run_task": run_task,
            "why": explain_task,
            "register_group": register_group,
            "refresh_groups": GroupRefresh(refresh).refresh_groups,
        }

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self._handlers)

    async def execute(self, request: Request) -> Answer:
        """Carry out a request and return its answer. Raises `StoreError` where the store failed: it is to be repeated."""
        kind, language = _type_of(request), None
        try:
            account = await self._open_account(request)
            language = account.language
            return await self._execute(request, account)
        except StoreError:
            raise
        except Refusal as refusal:
            return refused(kind, refusal, language)
        except Exception:  # noqa: BLE001 - a defect answers one request, and does not stop the others
            _log.exception("The request %s of the group %s failed", request.name, request.folder)
            return refused(kind, refuse("request_failed"), language)

    def refuse_flood(self, request: Request, most: int) -> Answer:
        """Return the answer to a request beyond the limit of its group."""
        return refused(_type_of(request), refuse("request_flood", folder=request.folder, most=most))

    async def record(self, action: str, folder: str, detail: Mapping[str, Any]) -> None:
        """Write an audit row about the requests of a group."""
        group = await self._service.groups.find(folder)
        if group is not None:
            account = await open_account(self._service, group, group)
            row = self._service.audit.row(account.agent, action, folder, detail)
            await self._service.store.write_records(row)

    async def _open_account(self, request: Request) -> GroupAccount:
        """Return the account of the acting group. The directory of the file names it, and nothing else."""
        group: Group | None = await self._service.groups.find(request.folder)
        if group is None:
            raise refuse_group("no_such_group", folder=request.folder)
        return await open_account(self._service, group, group, request.name)

    async def _execute(self, request: Request, account: GroupAccount) -> Answer:
        if request.document is None:
            raise refuse("request_unreadable", problem=request.problem)
        await check_running(self._service, account.actor)
        kind = request.document.get("type")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if not isinstance(kind, str) or handler is None:
            raise refuse("request_unknown_type", value=kind, allowed=", ".join(self.types))
        record = RequestRecord(request, account.group.owner, self._clock)
        context = RequestContext(request, kind, request.document, account, record, self._service)
        answer = await record.load(self._service.store)
        if answer is None:
            try:
                answer = await handler(context, self._clock)
            except Conflict as conflict:
                answer = await record.load(self._service.store) if is_repetition(conflict) else None
                if answer is None:
                    raise
            else:
                await self._on_change(kind, request.folder)
                return answer
        return {**answer, "repeated": True}


def _type_of(request: Request) -> str:
    kind = (request.document or {}).get("type")
    return kind[:_TYPE_CHARACTERS] if isinstance(kind, str) else ""
