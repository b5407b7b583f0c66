"""Shapes of target specifications by kind: the fields that a task of this kind may set, with their defaults."""

from __future__ import annotations

from typing import Final

from ...model.agents.group import CHAT_CHARACTERS
from ...model.limits import LOG_BYTES, LOG_LINE_CHARACTERS
from .agent_safety import BUDGET_LIMITS
from .notation import INTEGER, TEXT, Schema, choice, closed, list_of, nullable, or_null, text

SECRET: Final = closed({"secret": text(100, 1)})
"""Reference to a secret, which is replaced by its value when a run starts."""
SECRET_TEXT: Final[Schema] = {"type": ["string", "object", "array"]}
"""A text, a reference to a secret, or a list of both that is joined."""
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_MEBIBYTE: Final = 1_048_576

TARGET_SPECS: Final[dict[str, Schema]] = {
    "event": closed(
        {
            "say": nullable(text(LOG_LINE_CHARACTERS))
            | {"default": None, "description": "Text of the event; it is also written to the run's log."},
            "topic": text(100)
            | {"default": "task.triggered", "description": "Listeners choose events by their topic."},
        },
        required=(),
    ),
    "http": closed(
        {
            "url": text(2_048, 1) | {"description": "https:// or http://; without a user name or a secret."},
            "method": choice(*_METHODS) | {"default": "POST"},
            "headers": {
                "type": "object",
                "additionalProperties": SECRET_TEXT,
                "default": {},
                "description": "One header per line: Name: value. @secret:name stands for a secret.",
            },
            "body": {"description": "Any JSON, instead of the payload; null: no body."},
            "success": list_of({"type": ["integer", "string"]})
            | {"default": ["2xx"], "description": "Status codes and ranges that count as success: 2xx, 404, 300-302."},
            "redirects": INTEGER
            | {"minimum": 0, "maximum": 5, "default": 0, "description": "How many redirects are followed."},
            "sign": or_null(SECRET) | {"default": None, "description": "Secret with which the request is signed."},
            "preset": choice("orchestrator", None)
            | {"default": None, "description": "Builds method and body for an agent orchestrator."},
            "answer_limit": INTEGER
            | {
                "minimum": 1,
                "maximum": 16 * _MEBIBYTE,
                "default": _MEBIBYTE,
                "description": "Bytes of the answer that are read.",
            },
        },
        required=("url",),
    ),
    "function": closed({"name": text(200, 1) | {"description": "Name under which the function is registered."}}),
    "command": closed(
        {
            "argv": list_of(TEXT)
            | {"minItems": 1, "description": "The program, then one argument per line; no shell is involved."},
            "directory": nullable(TEXT)
            | {"default": None, "description": "Working directory, inside the folder that the operator has set."},
            "environment": {
                "type": "object",
                "additionalProperties": SECRET_TEXT,
                "default": {},
                "description": "One variable per line: NAME: value. @secret:name stands for a secret.",
            },
            "stdin": {"default": None, "description": 'JSON for its standard input; "payload": the task\'s payload.'},
            "output": INTEGER
            | {
                "minimum": 0,
                "maximum": LOG_BYTES,
                "default": 65_536,
                "description": "Bytes of its output that are kept.",
            },
            "limits": closed(
                {
                    "memory": INTEGER | {"minimum": 16 * _MEBIBYTE, "description": "Bytes of memory."},
                    "cpu": INTEGER | {"minimum": 1, "description": "Seconds of processor time."},
                    "files": INTEGER | {"minimum": 8, "description": "Open files."},
                    "processes": INTEGER | {"minimum": 1, "description": "Processes of the node's user."},
                    "file_size": INTEGER | {"minimum": 0, "description": "Bytes of the largest file that it writes."},
                },
                required=(),
            )
            | {"default": {}},
            "success": list_of(INTEGER) | {"default": [0], "description": "Exit codes that count as success."},
        },
        required=("argv",),
    ),
    "station": closed(
        {
            "station": text(63, 1) | {"description": "Name of a station of the task's owner."},
            "command": text(100, 1) | {"description": "Name of the API that is called, or the topic of a publication."},
            "title": nullable(text(100))
            | {"default": None, "description": "Title of the results; the name of the task if it is null."},
            "plan": nullable(TEXT) | {"default": None, "description": "Id of a plan, sixteen hexadecimal digits."},
            "frames": or_null(list_of(list_of(TEXT)))
            | {"default": None, "description": "Pairs of a frame type and Base64, in place of the payload."},
        },
        required=("station", "command"),
    ),
    "agent": closed(
        {
            "group": text(64, 1) | {"description": "Folder of a chat group."},
            "context_mode": choice("isolated", "group", "series")
            | {
                "default": "isolated",
                "description": "The session that the prompt continues: none, that of the chat, that of the task.",
            },
            "script": nullable(text(16_384))
            | {"default": None, "description": "Shell script that decides whether the agent starts."},
            "budget": BUDGET_LIMITS | {"default": {}, "description": "Limits of the task for each day."},
            "chat": nullable(text(CHAT_CHARACTERS))
            | {"default": None, "description": "Chat in the system that the task was imported from."},
        },
        required=("group",),
    ),
}
"""By kind. A kind that is not listed here, such as that of a plug-in, is written as JSON."""

SHAPES: Final[dict[str, Schema]] = {
    f"target-{kind}": {"title": f"Specification of a target of the kind {kind}", **shape}
    for kind, shape in TARGET_SPECS.items()
}
