"""Group: a registered chat with the folder, the trigger and the limits of its agent, as a value and as stored records; pure."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...schedule.zones import find_zone
from ..lanes.node_labels import check_node_name
from ..limits import KEY_CHARACTERS
from ..record import Record
from ..refusals import refuse
from ..text.field_checks import check_duration, check_flag, check_number, check_text

GROUP_KIND: Final = "agent.group"
CHAT_KIND: Final = "group.chat"
"""Record under the address of a chat: a chat belongs to one group."""
GROUP_OWNER_PREFIX: Final = "group:"
SHARED_FOLDER: Final = "global"
"""Folder that every group reads and no group owns."""
DEFAULT_TRIGGER: Final = "@Andy"
TRIGGER_CHARACTERS: Final = 100
CHAT_CHARACTERS: Final = 150
MAX_MOUNTS: Final = 16
MAX_AGENT_TIME: Final = timedelta(days=1)
LONGEST_MAX_RUN: Final = timedelta(days=7)
HANDLED_READER: Final = "handled"
"""Reader of the stream of a chat: its cursor is at the last message that a turn has answered."""
_LIMIT_DURATIONS: Final = ("timeout", "idle", "max_run")
_MOUNT_PATH_CHARACTERS: Final = 1_000
_MOUNT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CHAT: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}:[^\s/]+")
"""Without a slash: the address is part of the name of a stream."""


class AgentLimits(NamedTuple):
    """Limits of the process of an agent. `timeout` is the longest time without output, `idle` that without a new message.

    `max_run` is the longest time of a run, which nothing extends.
    """

    timeout: timedelta = timedelta(minutes=30)
    idle: timedelta = timedelta(minutes=30)
    memory_megabytes: int = 1_024
    processes: int = 256
    processors: float = 1.0
    max_run: timedelta = timedelta(hours=4)


class GroupMount(NamedTuple):
    """Directory of the host that the agent of a group sees under `name`. The operator's list of permitted directories decides."""

    path: str
    name: str
    is_writable: bool = False


class Group(NamedTuple):
    """`chat` is the address `channel:id` of its chat. `is_main`: its agent manages the tasks of all groups, and needs no
    trigger. `node` pins its runs to the node that has its files."""

    folder: str
    chat: str
    name: str
    created: datetime
    trigger: str = DEFAULT_TRIGGER
    requires_trigger: bool = True
    is_main: bool = False
    zone: str | None = None
    node: str | None = None
    limits: AgentLimits = AgentLimits()
    mounts: tuple[GroupMount, ...] = ()
    is_stopped: bool = False
    version: int = 1

    @property
    def owner(self) -> str:
        return GROUP_OWNER_PREFIX + self.folder

    @property
    def channel(self) -> str:
        return self.chat.partition(":")[0]

    @property
    def stream(self) -> str:
        """Stream of the messages of its chat."""
        return f"chat:{self.chat}"

    @property
    def assistant_name(self) -> str:
        """Name under which its agent writes: the trigger without the sign before it."""
        return self.trigger.lstrip("@＠").strip() or self.trigger

    @property
    def needs_trigger(self) -> bool:
        return self.requires_trigger and not self.is_main


def is_folder(name: object) -> bool:
    """Return whether a group can have this folder; it becomes a path, the name of an owner and part of container names."""
    return isinstance(name, str) and _FOLDER.fullmatch(name) is not None and name.casefold() != SHARED_FOLDER


def folder_of_owner(owner: str) -> str | None:
    """Return the folder of the group that is this owner; None for any other owner."""
    folder = owner.removeprefix(GROUP_OWNER_PREFIX)
    return folder if folder != owner and is_folder(folder) else None


def _is_chat_address(value: object) -> bool:
    is_short = isinstance(value, str) and len(value) <= CHAT_CHARACTERS and value.isprintable()
    return is_short and _CHAT.fullmatch(str(value)) is not None


def check_chat_address(chat: object) -> None:
    """Refuse a text that is not the address `channel:id` of a chat."""
    if not _is_chat_address(chat):
        raise refuse("bad_chat_address", value=chat, most=CHAT_CHARACTERS)


def check_group(group: Group) -> None:
    """Refuse fields that no group can have; folder and chat have refusals of their own."""
    check_chat_address(group.chat)
    check_text("name", group.name, KEY_CHARACTERS)
    check_text("trigger", group.trigger, TRIGGER_CHARACTERS)
    for name in ("requires_trigger", "is_main", "is_stopped"):
        check_flag(name.removeprefix("is_"), getattr(group, name))
    if group.zone is not None:
        find_zone(group.zone)
    if group.node is not None:
        check_text("node", group.node, KEY_CHARACTERS)
        check_node_name(group.node)
    _check_limits(group.limits)
    if len(group.mounts) > MAX_MOUNTS:
        raise refuse("bad_number", name="mounts", value=len(group.mounts), least=0, most=MAX_MOUNTS)
    for mount in group.mounts:
        _check_mount(mount)
    if len({mount.name for mount in group.mounts}) < len(group.mounts):
        raise refuse("mount_name_twice")


def _check_mount(mount: GroupMount) -> None:
    """Refuse a mount that no node could have; the operator's list of permitted directories is read for each run."""
    check_text("mounts", mount.path, _MOUNT_PATH_CHARACTERS)
    check_text("mounts", mount.name, KEY_CHARACTERS)
    check_flag("mounts", mount.is_writable)
    is_absolute = mount.path.startswith("/") and ".." not in mount.path.split("/")
    if not is_absolute or _MOUNT_NAME.fullmatch(mount.name) is None:
        raise refuse("bad_mount", value=f"{mount.path}:{mount.name}")


def _check_limits(limits: AgentLimits) -> None:
    check_duration("timeout", limits.timeout, MAX_AGENT_TIME, timedelta(seconds=1))
    check_duration("idle", limits.idle, MAX_AGENT_TIME, timedelta(seconds=1))
    check_duration("max_run", limits.max_run, LONGEST_MAX_RUN, timedelta(seconds=1))
    check_number("memory_megabytes", limits.memory_megabytes, 16, 1_048_576)
    check_number("processes", limits.processes, 4, 100_000)
    processors: object = limits.processors
    if isinstance(processors, bool) or not isinstance(processors, int | float) or not 0.05 <= processors <= 1_024:
        raise refuse("bad_number", name="processors", value=limits.processors, least="0.05", most=1_024)


def group_record(group: Group) -> Record:
    body = group._asdict()
    for name in ("folder", "version"):
        del body[name]
    body["created"] = group.created.isoformat()
    limits = group.limits._asdict()
    body["limits"] = limits | {name: limits[name].total_seconds() for name in _LIMIT_DURATIONS}
    body["mounts"] = [mount._asdict() for mount in group.mounts]
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Record(GROUP_KIND, group.folder, group.owner, text, group.version)


def group_from(record: Record) -> Group:
    body: dict[str, Any] = json.loads(record.body)
    limits = body.pop("limits")
    limits |= {name: timedelta(seconds=limits[name]) for name in _LIMIT_DURATIONS if name in limits}
    return Group(
        folder=record.key,
        created=datetime.fromisoformat(body.pop("created")),
        limits=AgentLimits(**limits),
        mounts=tuple(GroupMount(**mount) for mount in body.pop("mounts")),
        version=record.version,
        **body,
    )


def chat_record(group: Group) -> Record:
    """Return the record that reserves the chat for its group."""
    return Record(CHAT_KIND, group.chat, group.owner, json.dumps(group.folder))
