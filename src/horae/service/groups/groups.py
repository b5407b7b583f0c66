"""Groups: an operator registers chats, changes and removes them. Each group is an owner of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.agents.group import (
    CHAT_CHARACTERS,
    CHAT_KIND,
    GROUP_KIND,
    AgentLimits,
    Group,
    GroupMount,
    chat_record,
    check_group,
    group_from,
    group_record,
    is_folder,
)
from ...model.page import Page
from ...model.record import RecordWrite
from ...ports.full_store import FullStore
from ..accounts.audit import Audit, changed_values
from ..accounts.owners import Accounts
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_page
from .refusals import refuse

_TRIES: Final = 20
_LIMITS: Final = frozenset(AgentLimits._fields)


class Groups:
    """`on_change` is called after each change, so that the router of this process reads the groups again."""

    def __init__(self, store: FullStore, accounts: Accounts, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._accounts = accounts
        self._audit = audit
        self._clock = clock
        self.on_change: Callable[[], None] = lambda: None

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

    async def change(self, principal: Principal, folder: str, **fields: Any) -> Group:
        """Change the given fields of a group."""
        _check_scope(principal, Scope.ADMIN)
        for _ in range(_TRIES):
            before = await self.get(principal, folder)
            after = _apply(before, fields)
            check_group(after)
            if after == before:
                return before
            if await self._write(principal, before, after):
                if after.zone != before.zone:
                    await self._accounts.put(principal, after.owner, zone=after.zone or "")
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
