"""Groups: an operator registers chats, changes and removes them. Each group is an owner of its own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import system_owner
from ...model.agents.group import (
    CHAT_CHARACTERS,
    CHAT_KIND,
    GROUP_KIND,
    HANDLED_READER,
    AgentLimits,
    Group,
    GroupMount,
    chat_record,
    check_group,
    group_from,
    group_record,
    is_folder,
)
from ...model.agents.known_chat import KNOWN_CHAT_KIND, MAX_KNOWN_CHATS, known_chat_from, suggest_folder
from ...model.messages import PAGE_MESSAGES
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.record import RecordWrite
from ...model.run import Run
from ...ports.chat_messages import ASSISTANT_SOURCE
from ...ports.full_store import FullStore
from ...ports.store import RunFilter
from ..accounts.audit import Audit, changed_values
from ..accounts.owners import Accounts
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_page
from ..tasks.advisories import Advisory
from .agent_stop import find_stop
from .refusals import refuse

_TRIES: Final = 20
_LIMITS: Final = frozenset(AgentLimits._fields)


async def _ignore_group(_principal: Principal, _group: Group) -> None: ...


async def _ignore_node(_principal: Principal, _group: Group, _former: str | None) -> None: ...


class GroupStatus(NamedTuple):
    """A group with what happens in it. `live` is the run of its agent, `last_turn` the newest run that answered messages.

    `messages` are stored, `waiting` come after the handled ones. `warnings` name the mounts that the operator's list does not
    permit now; the check at the start of each agent counts.
    """

    group: Group
    live: Run | None = None
    last_turn: Run | None = None
    messages: int = 0
    waiting: int = 0
    warnings: tuple[Advisory, ...] = ()


class UnregisteredChat(NamedTuple):
    """Chat that has written and has no group; `folder` is a free one for its group."""

    chat: str
    name: str
    last_activity: datetime
    is_direct: bool
    folder: str


class Groups:
    """`on_change` is called after each change, so that the router of this process reads the groups again.

    `check_mounts` returns a refusal for each mount of a group that the operator's list does not permit.
    """

    def __init__(
        self,
        store: FullStore,
        accounts: Accounts,
        audit: Audit,
        clock: Clock,
        check_mounts: Callable[[Group], Sequence[Refusal]] = lambda _group: (),
    ) -> None:
        self._store = store
        self._accounts = accounts
        self._audit = audit
        self._clock = clock
        self._check_mounts = check_mounts
        self.on_change: Callable[[], None] = lambda: None
        self.on_switch: Callable[[Principal, Group], Awaitable[object]] = _ignore_group
        """Called after a group was stopped or started: its tasks are paused or resumed, and its live runs end."""
        self.on_node: Callable[[Principal, Group, str | None], Awaitable[object]] = _ignore_node
        """Called with the former node after a group has another one: its tasks follow."""

    async def add(self, principal: Principal, folder: str, chat: str, **fields: Any) -> Group:
        """Register a chat. `fields` are those of `Group` and, by their own names, those of its limits."""
        _check_scope(principal, Scope.ADMIN)
        if not is_folder(folder):
            raise refuse("bad_folder", value=folder)
        group = _apply(Group(folder, chat, fields.get("name") or folder, self._clock.now()), fields)
        check_group(group)
        # The owner first: a group without an account could never run anything.
        owner = await self._accounts.put(principal, group.owner, zone=group.zone, note=f"group {group.name}")
        if owner.revoked is not None:
            await self._accounts.restore(principal, group.owner)
        row = self._audit.row(principal, "group.add", folder, {"chat": chat, "main": group.is_main}, owner=group.owner)
        if not await self._store.write_records(
            [RecordWrite(group_record(group)), RecordWrite(chat_record(group)), *row]
        ):
            await self._refuse_taken(group)
        if group.node is not None:
            # Tasks of an earlier group with this folder.
            await self.on_node(principal, group, None)
        self.on_change()
        return group

    async def get(self, principal: Principal, folder: str) -> Group:
        """Return a group; other owners see only the group that they are."""
        _check_scope(principal, Scope.READ)
        record = await self._store.get_record(GROUP_KIND, folder, principal.owner_filter) if is_folder(folder) else None
        if record is None:
            raise refuse("no_such_group", folder=folder)
        return group_from(record)

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Group]:
        """Return groups by folder."""
        _check_scope(principal, Scope.READ)
        check_page(after, limit)
        page = await self._store.records(GROUP_KIND, principal.owner_filter, after, limit)
        return Page(tuple(map(group_from, page.items)), page.after)

    async def unregistered(self, principal: Principal) -> tuple[UnregisteredChat, ...]:
        """Return the chats that have written and have no group, newest activity first; for admins."""
        _check_scope(principal, Scope.ADMIN)
        page = await self._store.records(KNOWN_CHAT_KIND, None, None, MAX_KNOWN_CHATS)
        newest = sorted(map(known_chat_from, page.items), key=lambda each: each.last_activity, reverse=True)
        taken = await self._folders()
        found = []
        for known in newest:
            # The host forgets a chat when it writes again after its registration.
            if await self._store.get_record(CHAT_KIND, known.chat) is None:
                folder = suggest_folder(known, taken)
                found.append(UnregisteredChat(known.chat, known.name, known.last_activity, known.is_direct, folder))
                taken.add(folder)
        return tuple(found)

    async def _folders(self) -> set[str]:
        folders: set[str] = set()
        after: str | None = None
        while True:
            page = await self._store.records(GROUP_KIND, None, after, MAX_PAGE_SIZE)
            folders |= {record.key for record in page.items}
            after = page.after
            if after is None:
                return folders

    async def status(self, principal: Principal, folder: str) -> GroupStatus:
        """Return a group with its live agent, its waiting messages and its last turn."""
        return await self.describe(principal, await self.get(principal, folder))

    async def describe(self, principal: Principal, group: Group) -> GroupStatus:
        """Return the status of a group that the caller has read or changed."""
        _check_scope(principal, Scope.READ)
        if principal.owner_filter not in (None, group.owner):
            raise refuse("no_such_group", folder=group.folder)
        stop = await find_stop(self._store, group)
        live = await self._store.lane_runs(group.owner, 1)
        turns = await self._store.runs(RunFilter(owner=system_owner(group.owner)), None, 1)
        stream = await self._store.stream(group.owner, group.stream)
        messages = waiting = 0
        if stream is not None:
            handled = next((each.number for each in stream.cursors if each.reader == HANDLED_READER), 0)
            messages = stream.stream.stored
            waiting = stream.stream.last - max(handled, stream.stream.first - 1)
            waiting -= await self._count_own(group, handled) if waiting else 0
        return GroupStatus(
            group,
            live[0] if live else None,
            turns.items[0] if turns.items else None,
            messages,
            waiting,
            tuple(map(_advisory, (*(() if stop is None else (stop,)), *self._check_mounts(group)))),
        )

    async def _count_own(self, group: Group, after: int) -> int:
        """Return how many of the next messages are the assistant's own: those wait for nothing."""
        page = await self._store.read_messages(group.owner, group.stream, after, PAGE_MESSAGES)
        return 0 if page is None else sum(each.message.source == ASSISTANT_SOURCE for each in page.messages)

    async def change(self, principal: Principal, folder: str, expected: int | None = None, **fields: Any) -> Group:
        """Change the given fields of a group; `expected` is the version that it must have."""
        _check_scope(principal, Scope.ADMIN)
        for _ in range(_TRIES):
            before = await self.get(principal, folder)
            if expected not in (None, before.version):
                raise refuse("stale_group", folder=folder, version=before.version, expected=expected)
            after = _apply(before, fields)
            check_group(after)
            if after == before:
                return before
            if await self._write(principal, before, after):
                if after.zone != before.zone:
                    await self._accounts.put(principal, after.owner, zone=after.zone or "")
                if after.is_stopped != before.is_stopped:
                    await self.on_switch(principal, after)
                if after.node != before.node:
                    await self.on_node(principal, after, before.node)
                self.on_change()
                return after._replace(version=before.version + 1)
        raise refuse("group_contested", folder=folder)

    async def remove(self, principal: Principal, folder: str) -> None:
        """Remove a group and block its owner: none of its tasks starts. Files, messages and tasks stay."""
        _check_scope(principal, Scope.ADMIN)
        for _ in range(_TRIES):
            known = await self.get(principal, folder)
            row = self._audit.row(principal, "group.remove", folder, owner=known.owner)
            writings = [RecordWrite(group_record(known), known.version, dropped=True), *row]
            chat = await self._store.get_record(CHAT_KIND, known.chat)
            if chat is not None:
                writings.append(RecordWrite(chat, chat.version, dropped=True))
            if await self._store.write_records(writings):
                await self._accounts.revoke(principal, known.owner)
                self.on_change()
                return
        raise refuse("group_contested", folder=folder)

    async def find(self, folder: str) -> Group | None:
        """Return a group without a check of rights: for the router and the target."""
        record = await self._store.get_record(GROUP_KIND, folder) if is_folder(folder) else None
        return None if record is None else group_from(record)

    async def find_by_chat(self, chat: str) -> Group | None:
        """Return the group of a chat without a check of rights."""
        record = await self._store.get_record(CHAT_KIND, chat) if len(chat) <= CHAT_CHARACTERS else None
        return None if record is None else await self.find(json.loads(record.body))

    async def _write(self, principal: Principal, before: Group, after: Group) -> bool:
        names = [name for name in Group._fields if getattr(before, name) != getattr(after, name)]
        detail = {"fields": names, **changed_values(_audited(before), _audited(after))}
        writings = [RecordWrite(group_record(after), before.version)]
        if after.chat != before.chat:
            taken = await self._store.get_record(CHAT_KIND, after.chat)
            if taken is not None:
                raise refuse("chat_taken", chat=after.chat, other=json.loads(taken.body))
            writings.append(RecordWrite(chat_record(after)))
            known = await self._store.get_record(CHAT_KIND, before.chat)
            if known is not None:
                writings.append(RecordWrite(known, known.version, dropped=True))
        row = self._audit.row(principal, "group.change", after.folder, detail, owner=after.owner)
        return await self._store.write_records([*writings, *row])

    async def _refuse_taken(self, group: Group) -> None:
        if await self._store.get_record(GROUP_KIND, group.folder) is not None:
            raise refuse("group_exists", folder=group.folder)
        taken = await self._store.get_record(CHAT_KIND, group.chat)
        if taken is not None:
            raise refuse("chat_taken", chat=group.chat, other=json.loads(taken.body))
        raise refuse("group_contested", folder=group.folder)


def _advisory(refusal: Refusal) -> Advisory:
    return Advisory(refusal.code, {language: " ".join(refusal.in_language(language)) for language in ("en", "zh")})


def _check_scope(principal: Principal, scope: Scope) -> None:
    refuse_agent(principal, "groups")
    principal.require_scope(scope)


def _apply(group: Group, fields: Mapping[str, Any]) -> Group:
    """Return the group with changed fields; those of its limits have their own names."""
    given = {name: value for name, value in fields.items() if value is not None}
    limits = {name: given.pop(name) for name in _LIMITS.intersection(given)}
    if "zone" in given:
        given["zone"] = given["zone"] or None
    if "node" in given:
        given["node"] = given["node"] or None
    if "mounts" in given:
        given["mounts"] = tuple(GroupMount(*mount) for mount in given["mounts"])
    return group._replace(**given, limits=group.limits._replace(**limits))


def _audited(group: Group) -> dict[str, Any]:
    values = group._asdict()
    del values["created"], values["version"]
    values["limits"] = {
        name: value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in group.limits._asdict().items()
    }
    values["mounts"] = [mount._asdict() for mount in group.mounts]
    return values
