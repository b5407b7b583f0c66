"""Chat groups to JSON and back: limits by their own names, durations as ISO 8601; every spelling of a duration is accepted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final

from ..choices import LANGUAGES, Language
from ..model.agents.group import AgentLimits, Group, GroupMount
from ..model.refusals import refuse
from ..model.run import Run
from ..schedule.durations import format_iso_duration, parse_duration
from ..service.groups.groups import GroupStatus, UnregisteredChat
from ..service.tasks.advisories import Advisory
from ..service.tasks.task_request import read_duration
from .fields import check_fields
from .instants import parse_instant, utc
from .runs import read_run, run_json
from .tasks.previews import warnings_json

_DURATIONS: Final = ("timeout", "idle", "max_run")
_RENAMED: Final = {"main": "is_main", "stopped": "is_stopped"}
GROUP_FIELDS: Final = (
    "chat",
    "name",
    "trigger",
    "requires_trigger",
    "main",
    "zone",
    "node",
    *AgentLimits._fields,
    "mounts",
    "stopped",
)
_WRITABLE: Final = "rw"
_MOUNT_FIELDS: Final = ("path", "name", "writable")


def group_json(group: Group) -> dict[str, Any]:
    limits = group.limits
    return {
        "folder": group.folder,
        "owner": group.owner,
        "chat": group.chat,
        "name": group.name,
        "trigger": group.trigger,
        "requires_trigger": group.requires_trigger,
        "main": group.is_main,
        "zone": group.zone,
        "node": group.node,
        "timeout": format_iso_duration(limits.timeout),
        "idle": format_iso_duration(limits.idle),
        "max_run": format_iso_duration(limits.max_run),
        "memory_megabytes": limits.memory_megabytes,
        "processes": limits.processes,
        "processors": limits.processors,
        "mounts": [{"path": each.path, "name": each.name, "writable": each.is_writable} for each in group.mounts],
        "stopped": group.is_stopped,
        "created": utc(group.created),
        "version": group.version,
    }


def unregistered_json(chat: UnregisteredChat) -> dict[str, Any]:
    return {
        "chat": chat.chat,
        "name": chat.name,
        "last_activity": utc(chat.last_activity),
        "direct": chat.is_direct,
        "folder": chat.folder,
        "command": shlex.join(registration_command(chat)),
    }


def read_unregistered(data: Mapping[str, Any]) -> UnregisteredChat:
    return UnregisteredChat(
        data["chat"], data["name"], parse_instant(data["last_activity"]), data["direct"], data["folder"]
    )


def registration_command(chat: UnregisteredChat) -> tuple[str, ...]:
    """Return the command that registers the chat; in a chat with one person every message is meant for the agent."""
    name = ("--name", chat.name) if chat.name not in (chat.chat, chat.folder) else ()
    return ("horae", "group", "add", chat.folder, chat.chat, *name, *(("--no-trigger",) if chat.is_direct else ()))


def read_group(data: Mapping[str, Any]) -> Group:
    return Group(
        folder=data["folder"],
        chat=data["chat"],
        name=data["name"],
        created=parse_instant(data["created"]),
        trigger=data["trigger"],
        requires_trigger=data["requires_trigger"],
        is_main=data["main"],
        zone=data["zone"],
        node=data["node"],
        limits=AgentLimits(
            parse_duration(data["timeout"]),
            parse_duration(data["idle"]),
            data["memory_megabytes"],
            data["processes"],
            data["processors"],
            # A server of an earlier version does not return it.
            parse_duration(data["max_run"]) if "max_run" in data else AgentLimits().max_run,
        ),
        mounts=tuple(GroupMount(each["path"], each["name"], each["writable"]) for each in data["mounts"]),
        is_stopped=data["stopped"],
        version=data["version"],
    )


def group_status_json(status: GroupStatus, language: Language) -> dict[str, Any]:
    return {
        **group_json(status.group),
        "messages": status.messages,
        "waiting": status.waiting,
        "live": _run_json(status.live, language),
        "last_turn": _run_json(status.last_turn, language),
        "warnings": warnings_json(status.warnings, language),
    }


def read_group_status(data: Mapping[str, Any]) -> GroupStatus:
    live, last_turn = data["live"], data["last_turn"]
    return GroupStatus(
        read_group(data),
        None if live is None else read_run(live),
        None if last_turn is None else read_run(last_turn),
        data["messages"],
        data["waiting"],
        tuple(Advisory(each["code"], dict.fromkeys(LANGUAGES, each["message"])) for each in data["warnings"]),
    )


def read_group_fields(body: object) -> dict[str, Any]:
    """Return the fields of a request as the service names them; null removes a zone or a node."""
    fields = dict(check_fields("group", body, GROUP_FIELDS))
    for name in ("zone", "node"):
        if name in fields and fields[name] is None:
            fields[name] = ""
    for name in fields.keys() & {"zone", "node"}:
        if not isinstance(fields[name], str):
            raise refuse("bad_policy", name=name, value=fields[name], wanted="text")
    for name, value in fields.items():
        if value is None:
            raise refuse("bad_policy", name=name, value="null", wanted="JSON")
    for name in _DURATIONS:
        if name in fields:
            fields[name] = read_duration(name, fields[name])
    if "mounts" in fields:
        fields["mounts"] = _read_mounts(fields["mounts"])
    return {_RENAMED.get(name, name): value for name, value in fields.items()}


def group_fields_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a service call as a request has them."""
    renamed = {name: other for other, name in _RENAMED.items()}
    sent = {renamed.get(name, name): value for name, value in fields.items() if value is not None}
    for name in _DURATIONS:
        if name in sent:
            sent[name] = format_iso_duration(sent[name])
    for name in ("zone", "node"):
        if sent.get(name) == "":
            sent[name] = None
    if "mounts" in sent:
        sent["mounts"] = [
            {"path": path, "name": name, "writable": is_writable} for path, name, is_writable in sent["mounts"]
        ]
    return sent


def _read_mounts(value: object) -> list[GroupMount]:
    if not isinstance(value, list):
        raise refuse("bad_policy", name="mounts", value=value, wanted="list")
    mounts: list[GroupMount] = []
    for each in value:
        fields = check_fields("mounts", each, _MOUNT_FIELDS)
        for name in ("path", "name"):
            if name not in fields:
                raise refuse("missing_field", name=f"mounts.{name}")
        mounts.append(GroupMount(fields["path"], fields["name"], fields.get("writable", False)))
    return mounts


def parse_mount(text: str) -> GroupMount:
    """Parse `/path:name` or `/path:name:rw`; without a name, the last part of the path is the name."""
    path, *rest = text.strip().split(":")
    is_writable = bool(rest) and rest[-1] == _WRITABLE
    names = rest[:-1] if is_writable else rest
    if len(names) > 1:
        raise refuse("bad_mount", value=text)
    return GroupMount(path, names[0] if names else path.rstrip("/").rpartition("/")[2], is_writable)


def mount_text(mount: GroupMount) -> str:
    return f"{mount.path}:{mount.name}{':' + _WRITABLE if mount.is_writable else ''}"


def _run_json(run: Run | None, language: Language) -> dict[str, Any] | None:
    return None if run is None else run_json(run, None, None, language)
