"""Shapes of chat groups."""

from __future__ import annotations

from typing import Final

from ...model.agents.group import CHAT_CHARACTERS, MAX_MOUNTS, TRIGGER_CHARACTERS
from ...model.limits import KEY_CHARACTERS
from .notation import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    NULL,
    NUMBER,
    TEXT,
    Schema,
    answer_of,
    closed,
    extend,
    list_of,
    nullable,
    or_null,
    page_of,
    ref,
    text,
)
from .tasks import WARNING

_CHAT: Final = {"description": "Address of its chat: the name of a channel, a colon, the chat's id."}
_MAIN: Final = {"description": "Its agent manages the tasks of all groups, and needs no trigger."}
_NODE: Final = {"description": "Its agent runs on the node of this name only."}
_TIMEOUT: Final = {"description": "Longest time without output."}
_IDLE: Final = {"description": "Longest time without a new message."}
_MAX_RUN: Final = {"description": "Longest time of a run of its agent; nothing extends it."}
_GROUP: Final = closed(
    {
        "folder": TEXT,
        "owner": TEXT | {"pattern": "^group:"},
        "chat": TEXT | _CHAT,
        "name": TEXT,
        "trigger": TEXT,
        "requires_trigger": BOOLEAN,
        "main": BOOLEAN | _MAIN,
        "zone": nullable(TEXT),
        "node": nullable(TEXT) | _NODE,
        "timeout": TEXT | _TIMEOUT,
        "idle": TEXT | _IDLE,
        "max_run": TEXT | _MAX_RUN,
        "memory_megabytes": INTEGER,
        "processes": INTEGER,
        "processors": NUMBER,
        "mounts": list_of(closed({"path": TEXT, "name": TEXT, "writable": BOOLEAN})),
        "stopped": BOOLEAN | {"description": "No turn and no task of it starts."},
        "created": INSTANT,
        "version": INTEGER,
    }
)
_STATUS: Final = extend(
    _GROUP,
    {
        "messages": INTEGER | {"description": "Stored messages of its chat."},
        "waiting": INTEGER | {"description": "Messages after the last one that a turn has answered."},
        "live": or_null(ref("run")) | {"description": "The run of its agent that is live now."},
        "last_turn": or_null(ref("run")) | {"description": "The newest run that answered messages."},
        "warnings": list_of(WARNING) | {"description": "Mounts that the operator's list does not permit now."},
    },
)
_MOUNT_FIELDS: Final = closed(
    {"path": text(1_000, 1), "name": text(64, 1), "writable": BOOLEAN}, required=("path", "name")
)
_FIELDS: Final[dict[str, Schema]] = {
    "chat": text(CHAT_CHARACTERS, 1) | _CHAT,
    "name": text(KEY_CHARACTERS, 1),
    "trigger": text(TRIGGER_CHARACTERS, 1),
    "requires_trigger": BOOLEAN,
    "main": BOOLEAN | _MAIN,
    "zone": nullable(TEXT),
    "node": nullable(text(KEY_CHARACTERS)) | _NODE,
    "timeout": {"type": ["string", "number"]} | _TIMEOUT,
    "idle": {"type": ["string", "number"]} | _IDLE,
    "max_run": {"type": ["string", "number"]} | _MAX_RUN,
    "memory_megabytes": INTEGER | {"minimum": 16},
    "processes": INTEGER | {"minimum": 4},
    "processors": NUMBER | {"minimum": 0.05},
    "mounts": list_of(_MOUNT_FIELDS) | {"maxItems": MAX_MOUNTS},
    "stopped": BOOLEAN,
}

_UNREGISTERED: Final = closed(
    {
        "chat": TEXT | {"description": "Its address: the name of a channel, a colon, the chat's id."},
        "name": TEXT,
        "last_activity": INSTANT,
        "direct": BOOLEAN | {"description": "A chat with one person."},
        "folder": TEXT | {"description": "A free folder for its group."},
        "command": TEXT | {"description": "The command that registers it."},
    }
)

SHAPES: Final[dict[str, Schema]] = {
    "group": _GROUP | {"title": "A chat group"},
    "groups": list_of(ref("group")) | answer_of("group ls", "group stop", "group start"),
    "group-status": _STATUS | answer_of("group add", "group set", "group show"),
    "GroupPage": page_of("group"),
    "unregistered-chat": _UNREGISTERED | {"title": "A chat without a group"},
    "unregistered-chats": list_of(ref("unregistered-chat")) | answer_of("group unregistered"),
    "UnregisteredChatList": closed({"items": list_of(ref("unregistered-chat")), "next_cursor": NULL}),
    "GroupFields": closed(_FIELDS, required=()),
    "NewGroup": closed({"folder": text(64, 1), **_FIELDS}, required=("folder", "chat")),
}
