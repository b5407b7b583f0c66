"""Shape of a file of tasks, and of the fields of a task in a file or a request body."""

from __future__ import annotations

from typing import Final

from ...model.policy import MISSED_MODES, OVERLAPS
from .notation import (
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    Properties,
    Schema,
    choice,
    closed,
    extensible,
    list_of,
    nullable,
    text,
)

_DURATION: Final[Schema] = {
    "type": ["string", "number"],
    "description": "Seconds, or a text such as 90s, 2m, PT5M.",
}
_TEXT_OR_OBJECT: Final[Schema] = {"type": ["string", "object"]}
_LABELS: Final = nullable(OBJECT) | {"maxProperties": 32, "additionalProperties": TEXT}
_MISSED: Final = closed(
    {"mode": choice(*MISSED_MODES), "within": {"type": ["string", "number", "null"]}, "limit": INTEGER}, required=()
) | {
    "type": ["string", "object", "null"],
    "description": "skip, latest, all or merge; with a bound: latest within 1h.",
}
_RETRY: Final = closed(
    {
        "attempts": nullable(INTEGER),
        "backoff": _DURATION,
        "factor": NUMBER,
        "max": _DURATION,
        "jitter": choice("full", "none"),
    },
    required=(),
)
_POLICIES: Final = nullable(
    closed(
        {
            "missed": _MISSED,
            "overlap": choice(*OVERLAPS, None),
            "retry": nullable(_RETRY),
            "retries": nullable(INTEGER)
            | {"minimum": 0, "description": "Attempts after the first; null: without end."},
            "give_up_after": nullable(INTEGER) | {"minimum": 1},
            "notify_after": nullable(INTEGER)
            | {"minimum": 0, "description": "Failed occurrences in a row before one notification; 0 or null: never."},
            "timeout": {"type": ["string", "number", "null"]},
            "max_duration": {"type": ["string", "number", "null"]},
            "guarantee": choice("at_least_once", "at_most_once", None),
            "priority": nullable(INTEGER) | {"minimum": -100, "maximum": 100},
        },
        required=(),
    )
)
SCHEDULE: Final = _TEXT_OR_OBJECT | {"description": "The schedule language, or canonical JSON."}
_TARGETS: Final[Properties] = {
    "target": extensible({"kind": TEXT}),
    "http": _TEXT_OR_OBJECT,
    "command": {"type": ["array", "object"], "items": TEXT},
    "function": _TEXT_OR_OBJECT,
    "say": TEXT,
    "event": _TEXT_OR_OBJECT,
}
EDITABLE_FIELDS: Final[Properties] = {
    "name": text(200, 1),
    "when": SCHEDULE,
    "zone": nullable(TEXT),
    "lane": nullable(TEXT),
    "labels": _LABELS,
    "policies": _POLICIES,
    "payload": {"description": "Whatever the target takes, as JSON."},
    **_TARGETS,
}
NEW_TASK: Final = closed(
    {
        **EDITABLE_FIELDS,
        "key": nullable(TEXT)
        | {"maxLength": 200, "description": "Its natural key; apply:<name> by default in a file."},
        "owner": nullable(TEXT),
    },
    required=("name", "when"),
) | {"oneOf": [{"required": [name]} for name in _TARGETS]}
_TASK_OF_A_FILE: Final = NEW_TASK | {
    "properties": {
        **NEW_TASK["properties"],
        "takes": _DURATION | {"description": "Duration of one run; used only by simulations."},
    }
}

SHAPES: Final[dict[str, Schema]] = {
    "tasks-file": closed(
        {
            "zone": nullable(TEXT) | {"description": "The IANA zone of tasks that name none."},
            "owner": nullable(TEXT)
            | {"description": "Owner of the tasks; by default the caller who applies the file."},
            "defaults": nullable(
                closed(
                    {"policies": _POLICIES, "labels": _LABELS, "lane": nullable(TEXT), "zone": nullable(TEXT)},
                    required=(),
                )
            ),
            "lanes": nullable(OBJECT)
            | {
                "additionalProperties": INTEGER | {"minimum": 0, "maximum": 1_000_000},
                "description": "How many runs of each lane go on at once.",
            },
            "tasks": list_of(_TASK_OF_A_FILE),
        },
        required=("tasks",),
    )
    | {"title": "A file of tasks, as horae apply and horae simulate read it"},
    "NewTask": NEW_TASK,
}
