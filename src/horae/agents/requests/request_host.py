"""Requests of all groups in one process: inbox, executor, watcher and snapshots, composed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ...clock import Clock
from ...model.agents.group import GROUP_OWNER_PREFIX
from ...service.service import Service
from ..workspace import Workspace
from .executor import TASK_CHANGES, RequestExecutor
from .group_list import GroupList
from .inbox import Inbox
from .message_requests import Mask, keep_text
from .snapshots import KnownChats, Snapshots
from .watcher import REQUESTS_PER_MINUTE, RequestWatcher


class RequestHost:
    """One per host; several may share a directory, and each request is claimed by one of them. `mask` hides the secrets of an
    agent in its messages, `chats` are those that the channels know, and `on_delivery` wakes the sender of deliveries."""

    def __init__(
        self,
        service: Service,
        clock: Clock,
        workspace: Workspace,
        *,
        mask: Mask = keep_text,
        chats: KnownChats | None = None,
        on_delivery: Callable[[], None] = lambda: None,
    ) -> None:
        self._service = service
        self._groups = GroupList(service, clock)
        self.inbox = Inbox(workspace.ipc, workspace.claimed, workspace.quarantine, clock)
        self.snapshots = Snapshots(service, self._groups, clock, workspace.ipc, chats=chats)
        self.executor = RequestExecutor(
            service,
            clock,
            mask=mask,
            refresh=self.snapshots.refresh_chats,
            on_delivery=on_delivery,
            on_change=self._follow_request,
        )
        self.watcher = RequestWatcher(
            self._groups, clock, self.inbox, self.executor, load_limit=self._load_request_limit
        )

    async def _load_request_limit(self, folder: str) -> int:
        """Return the quota `requests_per_minute` of the group's agent; one without a limit has the usual one, too."""
        quotas = await self._service.agents.quotas(GROUP_OWNER_PREFIX + folder, folder)
        limit = quotas.requests_per_minute
        return REQUESTS_PER_MINUTE if limit is None else limit

    async def run(self) -> None:
        """Serve requests and write snapshots until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.watcher.run())
            tasks.create_task(self.snapshots.run())

    def note_groups_changed(self) -> None:
        """Read the groups again; called after a change of this process."""
        self._note_change()

    def note_tasks_changed(self) -> None:
        """Look for changed tasks at once; called after a write of this process."""
        self.snapshots.note_change()

    async def write_snapshots(self, folder: str) -> None:
        """Write the snapshots of a group before its agent starts."""
        await self.snapshots.write_snapshots(folder)

    async def _follow_request(self, kind: str, folder: str) -> None:
        """Write the snapshots before the answer to a request that has changed tasks: an agent often lists them next."""
        self._note_change()
        if kind in TASK_CHANGES:
            await self.snapshots.follow(folder)

    def _note_change(self) -> None:
        self._groups.invalidate()
        self.snapshots.note_change()
