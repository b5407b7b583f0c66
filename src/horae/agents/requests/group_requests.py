"""Requests of the main group about groups: register one, and refresh the list of chats."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from ...clock import Clock
from ...errors import Conflict
from ...model.agents.group import Group
from ...model.refusals import refuse as refuse_field
from ...model.text.field_checks import check_flag, check_number
from ...wire.fields import check_fields
from .answers import Answer, accepted
from .context import RequestContext, optional_text, text_of
from .principals import operator_of
from .refusals import refuse

_DAY_MS: Final = 86_400_000


async def register_group(context: RequestContext, _clock: Clock) -> Answer:
    """Register a chat as a group; one that is registered with this folder and chat gets the new name and trigger.

    No request sets the main flag.
    """
    context.require_main()
    fields = context.fields("jid", "name", "folder", "trigger", "requiresTrigger", "containerConfig")
    if context.document.get("isMain"):
        raise refuse("request_main_flag")
    folder, chat = text_of(fields, "folder"), text_of(fields, "jid")
    values: dict[str, Any] = {"name": text_of(fields, "name"), "trigger": optional_text(fields, "trigger")}
    if "requiresTrigger" in fields:
        check_flag("requiresTrigger", fields["requiresTrigger"])
        values["requires_trigger"] = fields["requiresTrigger"]
    values |= _read_container_config(fields.get("containerConfig", {}))
    group = await _put_group(context, folder, chat, values)
    return accepted(context.kind, "Group registered", group=_group_fields(group))


async def _put_group(context: RequestContext, folder: str, chat: str, values: Mapping[str, Any]) -> Group:
    groups, operator = context.service.groups, operator_of(context.actor, context.request.name)
    try:
        return await groups.add(operator, folder, chat, **values)
    except Conflict as conflict:
        known = await groups.find(folder) if conflict.code == "group_exists" else None
        if known is None or known.chat != chat:
            raise
        return await groups.change(operator, folder, **values)


def _read_container_config(value: object) -> dict[str, Any]:
    """Return the fields of the group for NanoClaw's `containerConfig`. The operator's list decides about mounts at each start."""
    config = check_fields("containerConfig", value, ("additionalMounts", "timeout"))
    values: dict[str, Any] = {}
    if config.get("timeout") is not None:
        check_number("containerConfig.timeout", config["timeout"], 1_000, _DAY_MS)
        values["timeout"] = timedelta(milliseconds=config["timeout"])
    mounts = config.get("additionalMounts")
    if mounts is not None:
        if not isinstance(mounts, list):
            raise refuse_field("bad_policy", name="containerConfig.additionalMounts", value=mounts, wanted="list")
        values["mounts"] = [_read_mount(each) for each in mounts]
    return values


def _read_mount(value: object) -> tuple[str, str, bool]:
    mount = check_fields("additionalMounts", value, ("hostPath", "containerPath", "readonly"))
    path = text_of(mount, "hostPath")
    name = optional_text(mount, "containerPath") or path.rstrip("/").rpartition("/")[2]
    readonly = mount.get("readonly", True)
    check_flag("readonly", readonly)
    return path, name, not readonly


def _group_fields(group: Group) -> dict[str, Any]:
    return {
        "folder": group.folder,
        "jid": group.chat,
        "name": group.name,
        "trigger": group.trigger,
        "requiresTrigger": group.needs_trigger,
    }


class GroupRefresh:
    """Carries out `refresh_groups`: `refresh` asks the channels for their chats and writes the list of the acting group."""

    def __init__(self, refresh: Callable[[str], Awaitable[int]]) -> None:
        self._refresh = refresh

    async def refresh_groups(self, context: RequestContext, _clock: Clock) -> Answer:
        context.require_main()
        context.fields()
        number = await self._refresh(context.actor.folder)
        return accepted(context.kind, "Groups refreshed", groups=number)
