"""Shape of a file of tasks, and of the fields of a task in a file or a request body."""

from __future__ import annotations

from typing import Final

from ...model.lanes.node_labels import MAX_WHERE
from ...model.policy import (
    DESTINATION_CHARACTERS,
    MAX_NOTIFIED,
    MISSED_MODES,
    NOTICE_TEXT_CHARACTERS,
    OCCASIONS,
    OVERLAPS,
)
from ...schedule.after import MAX_PREDECESSORS, MODE_CHOICES, ON_CHOICES
from ...schedule.any_of import MAX_SCHEDULES
from .agent_safety import BUDGET_LIMITS
from .notation import (
    BOOLEAN,
    INSTANT,
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
_LIMIT: Final = INTEGER | {"minimum": 0, "maximum": 1_000_000}
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
        "jitter": choice("full", "none") | {"description": "full: a random share of the wait; none: exactly the wait."},
        "superseded_by_next": BOOLEAN
        | {
            "description": "The next occurrence ends a waiting retry. false: the retry counts as running, and the overlap "
            "policy decides."
        },
    },
    required=(),
)
_NOTIFY: Final = nullable(
    closed(
        {
            "to": list_of(TEXT | {"maxLength": DESTINATION_CHARACTERS})
            | {
                "minItems": 1,
                "maxItems": MAX_NOTIFIED,
                "uniqueItems": True,
                "description": "Names of destinations (horae notify add).",
            },
            "on": list_of(choice(*OCCASIONS))
            | {
                "minItems": 1,
                "uniqueItems": True,
                "description": "When a message is sent; without it, failed and recovered.",
            },
            "text": nullable(TEXT | {"maxLength": NOTICE_TEXT_CHARACTERS})
            | {"description": "Text of the messages, with {horae.result}; without it, the result or the error."},
        },
        required=("to",),
    )
) | {"description": "Messages to people; null: none."}
_GATE: Final = nullable(
    closed(
        {
            "target": {"type": "object", "description": "The check in full, with its kind."},
            "command": {"type": ["array", "object"], "description": "Program and arguments."},
            "http": {"type": ["string", "object"], "description": "URL."},
            "function": {"type": ["string", "object"], "description": "Name of a task function."},
            "timeout": _DURATION,
            "state": BOOLEAN | {"description": "Keeps what the check returns as state, for its next call."},
        },
        required=(),
    )
) | {"description": 'A check before each run: it answers {"run": true} or {"run": false}; null: none.'}
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
            "notify": _NOTIFY,
            "gate": _GATE,
            "lanes": nullable(list_of(TEXT))
            | {"description": "Lanes besides `lane`, 8 in all: a run starts when all of them have a free slot."},
            "timeout": {"type": ["string", "number", "null"]},
            "max_duration": {"type": ["string", "number", "null"]},
            "start_within": {"type": ["string", "number", "null"]}
            | {"description": "A run that has not started that long after it was due is skipped; null: no limit."},
            "where": nullable(OBJECT)
            | {
                "maxProperties": MAX_WHERE,
                "additionalProperties": TEXT,
                "description": "Labels that a node must have to run it, such as gpu: a100.",
            },
            "guarantee": choice("at_least_once", "at_most_once", None),
            "priority": nullable(INTEGER) | {"minimum": -100, "maximum": 100},
        },
        required=(),
    )
)
_PAST: Final = closed(
    {
        "created": nullable(INSTANT) | {"description": "Anchor of its schedule; null: now."},
        "counted": INTEGER | {"minimum": 0, "description": "Occurrences that count against the schedule's repeat."},
        "last_end": nullable(INSTANT) | {"description": "When its last scheduled occurrence ended."},
        "missed_since": nullable(INSTANT)
        | {"description": "The missed policy decides about occurrences from this instant on; null: none was missed."},
    },
    required=(),
)
SCHEDULE: Final[Schema] = {
    "type": ["string", "object", "array"],
    "minItems": 1,
    "maxItems": MAX_SCHEDULES,
    "items": _TEXT_OR_OBJECT,
    "description": "The schedule language, canonical JSON, or a list of these: it fires whenever one of them does.",
}
_AGENT: Final = closed(
    {
        "group": text(64, 1),
        "prompt": TEXT,
        "context_mode": choice("group", "isolated", "series"),
        "script": nullable(TEXT),
        "budget": nullable(BUDGET_LIMITS) | {"description": "Limits of the task for each day; null: none."},
    },
    required=("group",),
) | {"type": ["string", "object"], "description": "A prompt to the agent of a chat group; its owner is the group."}
_TARGETS: Final[Properties] = {
    "target": extensible({"kind": TEXT}),
    "http": _TEXT_OR_OBJECT,
    "command": {"type": ["array", "object"], "items": TEXT},
    "function": _TEXT_OR_OBJECT,
    "say": TEXT,
    "event": _TEXT_OR_OBJECT,
    "agent": _AGENT,
}
_AFTER: Final = list_of(
    closed({"task": TEXT, "on": choice(*ON_CHOICES)}, required=("task",)) | {"type": ["string", "object"]}
) | {
    "type": ["string", "object", "array"],
    "minItems": 1,
    "maxItems": MAX_PREDECESSORS,
    "description": "Tasks that this one runs after, in place of `when`: by name, key or id. `on`: succeeded, failed or ended.",
}
EDITABLE_FIELDS: Final[Properties] = {
    "name": text(200, 1),
    "when": SCHEDULE,
    "after": _AFTER,
    "mode": choice(*MODE_CHOICES) | {"description": "any: after each of them, once; all: when all have ended so."},
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
        "past": nullable(_PAST)
        | {"description": "Past of a task that began elsewhere; only for admins, and only when the task is made."},
    },
    required=("name",),
) | {"oneOf": [{"required": [name]} for name in _TARGETS], "anyOf": [{"required": ["when"]}, {"required": ["after"]}]}
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
                "additionalProperties": {
                    "anyOf": [
                        _LIMIT,
                        closed({"limit": nullable(_LIMIT), "rate": nullable(TEXT)}, required=()),
                    ]
                },
                "description": "How many runs of each lane go on at once, or start within a period: {rate: 100/1s}.",
            },
            "tasks": list_of(_TASK_OF_A_FILE),
        },
        required=("tasks",),
    )
    | {"title": "A file of tasks"},
    "NewTask": NEW_TASK,
}
