"""Snapshots in the directory of a group: `current_tasks.json` and `available_groups.json`, which its agent reads.

The event log says which owners have changed, also by other processes, so that only their tasks are read again. A file is
written when its content has changed, and at most every 0.2 s.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from ...clock import Clock
from ...errors import StoreError
from ...model.agents.group import Group, folder_of_owner
from ...model.change import Facts
from ...model.page import MAX_PAGE_SIZE
from ...model.task import FINISHED_STATES, TaskState
from ...ports.store import TaskFilter
from ...schedule import Cron, Every, Once, Schedule
from ...schedule.canonical import format_moment
from ...schedule.describe import describe_schedule
from ...service.service import Service
from ...wire.instants import utc
from ...wire.tasks.task import next_due
from ..target.turn_state import last_result
from .directory import UnsafeFile, open_directory, write_file
from .group_list import GroupList
from .task_requests import agent_spec
from .watcher import RunBlocking, WakeUp

TASKS_FILE: Final = "current_tasks.json"
GROUPS_FILE: Final = "available_groups.json"
COALESCE_SECONDS: Final = 0.2
POLL_SECONDS: Final = 1.0
MAX_TASKS: Final = 500
"""Tasks of one group in a snapshot."""
_EVENT_PAGE: Final = 1_000
_SHOWN_STATES: Final = frozenset(TaskState) - FINISHED_STATES
_MILLISECOND: Final = timedelta(milliseconds=1)
_log: Final = logging.getLogger(__name__)

TaskItem = Mapping[str, Any]
_File = tuple[str, str, bytes]
"""Folder, name and content."""


class KnownChat(NamedTuple):
    """Chat that a channel has seen, with or without a group."""

    chat: str
    name: str
    last_activity: datetime | None = None


class KnownChats(Protocol):
    async def chats(self) -> Sequence[KnownChat]:
        """Return the chats that the channels know, newest first."""


class NoKnownChats:
    async def chats(self) -> Sequence[KnownChat]:
        return ()


class Snapshots:
    """Files below `root/<folder>`. `chats` are those that may be registered."""

    def __init__(
        self,
        service: Service,
        groups: GroupList,
        clock: Clock,
        root: Path,
        *,
        chats: KnownChats | None = None,
        run_blocking: RunBlocking = asyncio.to_thread,
    ) -> None:
        self._service = service
        self._groups = groups
        self._clock = clock
        self._root = root
        self._chats = chats or NoKnownChats()
        self._run_blocking = run_blocking
        self._items: dict[str, Sequence[TaskItem]] = {}
        """Tasks by folder, as they were read last."""
        self._dirty: set[str] = set()
        self._written: dict[tuple[str, str], bytes] = {}
        self._position: int | None = None
        """Number of the last event that was read; None: everything is to be read."""
        self._chat_rows: Sequence[Mapping[str, Any]] = ()
        self._synced: datetime | None = None
        self._shown: tuple[Group, ...] | None = None
        """Groups of the last refresh: without another change there is nothing to write."""
        self._is_forced = False
        self._lock = asyncio.Lock()
        self._wake_up = WakeUp(clock)

    def note_change(self) -> None:
        """Look for changes at once; called after a write of this process. Several calls are one look."""
        self._wake_up.set()

    async def run(self) -> None:
        """Rewrite the files after each change until cancelled."""
        while True:
            await self._try_refresh()
            await self._clock.pause(COALESCE_SECONDS)
            await self._wake_up.wait(POLL_SECONDS - COALESCE_SECONDS)

    async def follow(self, folder: str) -> None:
        """Rewrite the files after a change of this group, also while the event log does not show it yet."""
        await self._try_refresh(folder)

    async def _try_refresh(self, *folders: str) -> None:
        try:
            await self.refresh(*folders)
        except (StoreError, OSError) as error:
            _log.warning("Snapshots of tasks wait: %s", error)

    async def refresh(self, *folders: str) -> None:
        """Rewrite the files of the groups whose tasks have changed since the last time, and of the given ones."""
        async with self._lock:
            self._dirty.update(folders)
            await self._read_events()
            groups = await self._groups.get()
            if not self._is_forced and not self._dirty and groups == self._shown:
                return
            # Until the end: files that an error leaves unwritten are written the next time.
            is_forced, self._is_forced = self._is_forced, True
            known = {group.folder for group in groups}
            stale = [group for group in groups if group.folder in self._dirty or group.folder not in self._items]
            gone = self._items.keys() - known
            for folder in gone:
                del self._items[folder]
            for group in stale:
                self._items[group.folder] = await self._read_tasks(group)
                self._dirty.discard(group.folder)
            self._dirty &= known
            files: list[_File] = []
            if stale or gone or is_forced:
                changed = known if is_forced else {group.folder for group in stale}
                files += self._task_files([each for each in groups if each.is_main or each.folder in changed])
            files += await self._chat_files(groups)
            await self._write(files)
            self._shown, self._is_forced = groups, False

    async def write_snapshots(self, folder: str) -> None:
        """Write both files of a group before its agent starts, also if they are unchanged."""
        group = await self._service.groups.find(folder)
        if group not in await self._groups.get():
            self._groups.invalidate()
        for name in (TASKS_FILE, GROUPS_FILE):
            self._written.pop((folder, name), None)
        if group is not None and group.is_main:
            await self._sync_chats()
        await self.refresh(folder)

    async def refresh_chats(self, folder: str) -> int:
        """Read the chats of the channels again and rewrite the list of a main group; return their number."""
        await self._sync_chats()
        await self.write_snapshots(folder)
        return len(self._chat_rows)

    # --- what has changed --------------------------------------------------------------------------------------------

    async def _read_events(self) -> None:
        """Note the groups whose owners have events since the last look."""
        store = self._service.store
        if self._position is None:
            self._position = await store.last_event()
            return
        while events := await store.events(self._position, _EVENT_PAGE):
            self._dirty |= {folder for each in events if (folder := folder_of_owner(each.event.owner)) is not None}
            self._position = events[-1].number
            if len(events) < _EVENT_PAGE:
                return

    async def _read_tasks(self, group: Group) -> Sequence[TaskItem]:
        wanted = TaskFilter(group.owner, _SHOWN_STATES)
        items: list[TaskItem] = []
        after: str | None = None
        while len(items) < MAX_TASKS:
            page = await self._service.store.tasks(wanted, after, MAX_PAGE_SIZE)
            items += [task_item(each, group.folder) for each in page.items]
            after = page.after
            if after is None:
                break
        return items[:MAX_TASKS]

    # --- files -------------------------------------------------------------------------------------------------------

    def _task_files(self, groups: Sequence[Group]) -> Sequence[_File]:
        """Return the tasks of each group: its own, and for a main group those of all."""
        everything = [item for folder in sorted(self._items) for item in self._items[folder]]
        return [
            (group.folder, TASKS_FILE, _encode(everything if group.is_main else self._items.get(group.folder, ())))
            for group in groups
        ]

    async def _chat_files(self, groups: Sequence[Group]) -> Sequence[_File]:
        if self._synced is None and any(group.is_main for group in groups):
            await self._sync_chats()
        registered = {group.chat for group in groups}
        rows = [{**each, "isRegistered": each["jid"] in registered} for each in self._chat_rows]
        known = {each["jid"] for each in rows}
        rows += [_chat_row(group.chat, group.name, None) for group in groups if group.chat not in known]
        shown = {
            is_main: _encode({"groups": rows if is_main else [], "lastSync": utc(self._synced)})
            for is_main in {group.is_main for group in groups}
        }
        return [(group.folder, GROUPS_FILE, shown[group.is_main]) for group in groups]

    async def _sync_chats(self) -> None:
        rows = [_chat_row(each.chat, each.name, each.last_activity) for each in await self._chats.chats()]
        known = {each["jid"] for each in rows}
        others = [group for group in await self._groups.get() if group.chat not in known]
        rows += [_chat_row(each.chat, each.name, await self._last_activity(each)) for each in others]
        self._chat_rows = rows
        self._synced = self._clock.now()

    async def _last_activity(self, group: Group) -> datetime | None:
        state = await self._service.store.stream(group.owner, group.stream)
        if state is None or not state.stream.last:
            return None
        page = await self._service.store.read_messages(group.owner, group.stream, state.stream.last - 1, 1)
        return page.messages[-1].message.at if page is not None and page.messages else None

    async def _write(self, files: Iterable[_File]) -> None:
        """Write the files whose content has changed, all in one thread."""
        changed = [each for each in files if self._written.get(each[:2]) != each[2]]
        if changed:
            await self._run_blocking(_write_snapshots, self._root, changed)
            self._written |= {(folder, name): data for folder, name, data in changed}


def _encode(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=2).encode(errors="replace")


def _write_snapshots(root: Path, files: Sequence[_File]) -> None:
    for folder, name, data in files:
        _write_snapshot(root, folder, name, data)


def _write_snapshot(root: Path, folder: str, name: str, data: bytes) -> None:
    try:
        with open_directory(root, folder) as directory:
            write_file(name, data, directory)
    except (UnsafeFile, OSError) as error:
        # The agent can write to the directory: no file there may stop the snapshots of other groups.
        _log.warning("The snapshot %s of the group %s was not written: %s", name, folder, error)


def _chat_row(chat: str, name: str, last_activity: datetime | None) -> dict[str, Any]:
    return {"jid": chat, "name": name, "lastActivity": utc(last_activity), "isRegistered": True}


def task_item(facts: Facts, folder: str) -> TaskItem:
    """Return one task with the fields of NanoClaw, its name and the meaning of its schedule."""
    task, spec = facts.task, agent_spec(facts.task) or {}
    payload = json.loads(task.payload)
    kind, value = schedule_words(task.schedule)
    return {
        "id": task.id,
        "groupFolder": folder,
        "prompt": payload.get("prompt", "") if isinstance(payload, dict) else "",
        "script": spec.get("script"),
        "schedule_type": kind,
        "schedule_value": value,
        "status": facts.status.state.value,
        "next_run": utc(next_due(facts)),
        "last_result": last_result(facts.status.last_result, has_failed=facts.status.failures > 0),
        "name": task.name,
        "key": task.key,
        "context_mode": spec.get("context_mode"),
        "description": describe_schedule(task.schedule, "en"),
        "zone": task.schedule.zone,
    }


def schedule_words(schedule: Schedule) -> tuple[str, str]:
    """Return type and value as NanoClaw writes them; for other kinds of schedules the kind and its meaning in words."""
    match schedule:
        case Cron(expression=expression):
            return "cron", expression
        case Every(interval=interval):
            return "interval", str(interval // _MILLISECOND)
        case Once(at=at):
            return "once", format_moment(at)
        case _:
            return schedule.kind, describe_schedule(schedule, "en")
