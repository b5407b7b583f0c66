"""Shapes of tasks: the task itself, receipts, previews, explanations, bulk reports, operations and functions."""

from __future__ import annotations

from typing import Final

from ...lifecycle.explain.explanation import Verdict
from ...model.policy import MISSED_MODES, NOTICE_TEXT_CHARACTERS, OCCASIONS, OVERLAPS
from ...model.task import PauseCause, TaskState
from .notation import (
    ANY,
    BOOLEAN,
    DATE_TIME,
    INSTANT,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    answer_of,
    choice,
    closed,
    extend,
    extensible,
    list_of,
    nullable,
    omit,
    or_null,
    page_of,
    ref,
    text,
)
from .runs import REASON, RUN_ID, TASK_ID

TASK_STATE: Final = choice(*TaskState)
_BULK_ACTIONS: Final = ("pause", "resume", "run", "skip", "cancel", "delete")
ACTION: Final = choice(*_BULK_ACTIONS)


_DECLARED: Final = list_of(TEXT) | {"description": "Fields that came from the declaration of the task's function."}
_REFUSED: Final = list_of(closed({"task_id": TEXT, "task": TEXT, "code": TEXT, "detail": TEXT}))
FIRE_TIME: Final = closed({"at": INSTANT, "at_local": DATE_TIME})

WARNING: Final = closed({"code": TEXT, "message": TEXT})

TASK: Final = closed(
    {
        "id": TASK_ID,
        "name": TEXT,
        "when": extensible({"kind": choice("now", "once", "every", "cron", "calendar", "rrule", "any_of", "after")})
        | {"description": "The canonical schedule."},
        "zone": nullable(TEXT),
        "target": extensible({"kind": TEXT})
        | {"description": "Where the work goes; every kind has fields of its own."},
        "payload": {"description": "Any JSON."},
        "key": nullable(TEXT),
        "lane": nullable(TEXT),
        "labels": OBJECT | {"additionalProperties": TEXT},
        "policies": closed(
            {
                "missed": closed({"mode": choice(*MISSED_MODES), "within": nullable(TEXT), "limit": INTEGER}),
                "overlap": choice(*OVERLAPS),
                "retry": closed(
                    {
                        "attempts": nullable(INTEGER),
                        "backoff": TEXT,
                        "factor": NUMBER,
                        "max": TEXT,
                        "jitter": TEXT | {"enum": ["full", "none"]},
                        "superseded_by_next": BOOLEAN,
                    }
                ),
                "give_up_after": nullable(INTEGER),
                "timeout": TEXT,
                "max_duration": nullable(TEXT),
                "guarantee": choice("at_least_once", "at_most_once"),
                "priority": INTEGER,
                "notify_after": INTEGER,
                "start_within": nullable(TEXT),
                "notify": nullable(
                    closed(
                        {
                            "to": list_of(TEXT),
                            "on": list_of(choice(*OCCASIONS)),
                            "text": text(NOTICE_TEXT_CHARACTERS),
                        },
                        optional=("text",),
                    )
                ),
                "gate": nullable(closed({"target": OBJECT, "timeout": TEXT, "state": BOOLEAN})),
                "where": OBJECT | {"additionalProperties": TEXT},
                "lanes": list_of(TEXT) | {"description": "Lanes besides `lane`: a run starts when all have room."},
            }
        ),
        "owner": TEXT,
        "state": TASK_STATE,
        "means": TEXT,
        "version": INTEGER,
        "successors": list_of(TASK_ID) | {"description": "Tasks that run after this one."},
        "created": INSTANT,
        "next": nullable(INSTANT),
        "next_local": nullable(DATE_TIME),
        "counted": INTEGER,
        "failures": INTEGER,
        "skips_left": INTEGER,
        "pause": nullable(
            closed({"since": INSTANT, "cause": choice(*PauseCause), "note": TEXT, "until": nullable(INSTANT)})
        ),
        "reason": REASON,
        "ended": nullable(INSTANT),
        "last_result": nullable(TEXT),
        "running": INTEGER,
        "waiting_for": nullable(TEXT) | {"pattern": "^(lane:|node:|owner:|run$)"},
        "last": or_null(ref("run")),
        "missed_24h": nullable(INTEGER),
    }
)

RECEIPT: Final = closed(
    {
        "task": ref("task"),
        "fires": list_of(FIRE_TIME),
        "warnings": list_of(WARNING),
        "dry_run": BOOLEAN,
        "change": choice("new", "changed", "same")
        | {"description": "Of a task with a key: made, edited, or left as it is."},
        "removed": list_of(FIRE_TIME),
        "added": list_of(FIRE_TIME),
        "declared": _DECLARED,
    }
)

WHY: Final = closed(
    {
        "task": TEXT,
        "at": INSTANT,
        "verdict": choice(*Verdict),
        "sentence": TEXT,
        "reason": REASON,
        "outage": nullable(closed({"since": INSTANT, "until": INSTANT, "clean": BOOLEAN})),
        "lane": or_null(
            closed(
                {
                    "name": TEXT,
                    "limit": INTEGER,
                    "taken": INTEGER,
                    "runs": list_of(TEXT) | {"description": "Runs in the lane that the caller may see, up to 20."},
                    "others": INTEGER | {"description": "Number of the other runs in the lane."},
                    "ahead": INTEGER | {"description": "Entries that get a slot before it, if no other one is added."},
                    "more_ahead": BOOLEAN | {"description": "More than `ahead`: counting stopped there."},
                    "free_by": nullable(INSTANT)
                    | {"description": "A slot becomes free at the latest then; null: not known."},
                    "not_before": nullable(INSTANT)
                    | {"description": "The rate of the lane allows its start at the earliest then."},
                }
            )
        )
        | {"description": "The lane in which it waits for a slot."},
        "runs": list_of(ref("run")),
        "fixes": list_of(closed({"command": TEXT, "does": TEXT})),
    }
)

BULK: Final = closed(
    {
        "matched": INTEGER,
        "done": INTEGER,
        "refused": _REFUSED,
        "undo": nullable(TEXT) | {"description": "The operation that can be undone: a pause or resume with an effect."},
    }
)

HTTP_TASK: Final = extend(TASK, {"agenda": OBJECT}, optional=("agenda",))

SHAPES: Final[dict[str, Schema]] = {
    "task": TASK | {"title": "A task: its definition and its state"},
    "tasks": list_of(ref("task")) | answer_of("ls"),
    "fires": closed(
        {
            "text": TEXT,
            "means": TEXT,
            "schedule": extensible({"kind": TEXT}),
            "zone": nullable(TEXT),
            "after": INSTANT,
            "due_at_creation": BOOLEAN,
            "fires": list_of(closed({"at": INSTANT, "at_local": DATE_TIME, "in_seconds": NUMBER})),
            "warnings": list_of(WARNING),
        }
    )
    | answer_of("next", "explain"),
    "receipt": RECEIPT | answer_of("add"),
    "edited": closed(
        {
            "task": ref("task"),
            "changed": OBJECT
            | {
                "description": "By field, policies.* one by one.",
                "additionalProperties": closed({"from": ANY, "to": ANY}),
            },
            "removed": list_of(FIRE_TIME),
            "added": list_of(FIRE_TIME),
            "dry_run": BOOLEAN,
            "warnings": list_of(WARNING),
        }
    )
    | answer_of("edit"),
    "show": closed(
        {
            "task": ref("task"),
            "fires": list_of(FIRE_TIME),
            "fires_if_resumed": list_of(FIRE_TIME)
            | {"description": "Of a paused task: when it would run if it were resumed now, or after its pause ends"},
            "runs": list_of(ref("run")),
            "tree": or_null(ref("chain-node")) | {"description": "With --tree: what runs after it."},
        }
    )
    | answer_of("show"),
    "chain-node": closed(
        {
            "id": TASK_ID,
            "name": TEXT,
            "state": TASK_STATE,
            "on": nullable(TEXT) | {"description": "The end of the task above that starts it."},
            "mode": nullable(TEXT),
            "last_result": nullable(TEXT),
            "repeated": BOOLEAN | {"description": "Shown above, with its successors."},
            "successors": list_of(ref("chain-node")),
        }
    )
    | {"title": "A task and those that run after it"},
    "why": WHY | answer_of("why"),
    "bulk": BULK | {"title": "pause, resume, cancel, rm and run with a filter"},
    "queued": closed({"run_id": RUN_ID, "task_id": TASK_ID, "task": TEXT}) | answer_of("run", "retry"),
    "removed": closed({"id": TASK_ID, "name": TEXT, "removed": {"const": True}}) | answer_of("rm"),
    "backfill": closed({"task": ref("task"), "count": INTEGER, "dry_run": BOOLEAN}) | answer_of("backfill"),
    "FireTime": FIRE_TIME,
    "Warning": WARNING,
    "Task": HTTP_TASK,
    "Receipt": extend(
        HTTP_TASK,
        {
            "next_runs": list_of(ref("FireTime")),
            "warnings": list_of(ref("Warning")),
            "declared": _DECLARED,
            "dry_run": BOOLEAN,
            "changed": OBJECT | {"description": "Of an edit: by field, what it was and what it is."},
            "removed": list_of(ref("FireTime")),
            "added": list_of(ref("FireTime")),
        },
        optional=("changed", "removed", "added"),
    ),
    "Why": omit(WHY, "fixes"),
    "BulkReport": extend(BULK, {"dry_run": BOOLEAN}),
    "TaskPage": closed(
        {
            "items": list_of(ref("task")),
            "next_cursor": nullable(TEXT),
            "count": INTEGER | {"description": "Number of matching tasks, with `count=estimated`."},
            "more": BOOLEAN | {"description": "There are more than `count`: counting stopped there."},
        },
        optional=("count", "more"),
    ),
    "TaskChain": closed(
        {
            "tasks": list_of(ref("task")) | {"description": "Each after those that it runs after."},
            "cut": BOOLEAN | {"description": "There are more tasks than were read."},
        }
    ),
    "MadeMany": closed(
        {
            "created": INTEGER,
            "items": list_of(
                closed(
                    {
                        "id": TEXT,
                        "name": TEXT,
                        "next": nullable(INSTANT),
                        "declared": list_of(TEXT),
                        "warnings": list_of(ref("Warning")),
                    }
                )
            ),
            "dry_run": BOOLEAN,
        }
    ),
    "Operation": closed(
        {
            "id": TEXT | {"pattern": "^opn_"},
            "owner": TEXT,
            "agent": nullable(TEXT),
            "action": choice(*_BULK_ACTIONS, "undo"),
            "filter": OBJECT,
            "arguments": OBJECT,
            "state": choice("running", "finished", "cancelled", "interrupted"),
            "cancelling": BOOLEAN,
            "created": INSTANT,
            "updated": INSTANT,
            "ended": nullable(INSTANT),
            "total": nullable(INTEGER) | {"description": "How many fit; null until they were counted."},
            "done": INTEGER,
            "refused": INTEGER,
            "refusals": list_of(closed({"task_id": TEXT, "task": TEXT, "code": TEXT, "detail": TEXT}))
            | {"maxItems": 100},
            "problem": nullable(TEXT) | {"description": "What interrupted it, as a code."},
            "changed": INTEGER | {"description": "Tasks whose pause it has changed, and an undo restores."},
            "undo_until": nullable(INSTANT)
            | {"description": "Until when it can be undone; null if there is nothing to undo, or not yet."},
            "undone_by": nullable(TEXT) | {"description": "The operation that undoes it."},
        }
    ),
    "OperationPage": page_of("Operation"),
    "Review": closed(
        {
            "task_id": TEXT,
            "digest": TEXT | {"description": "What `approve` has to name."},
            "awaiting_approval": BOOLEAN,
            "agent": nullable(TEXT) | {"description": "The agent that made it."},
            "secrets": list_of(closed({"name": TEXT, "path": TEXT}))
            | {"description": "Every reference to a secret, and where it stands."},
            "lines": list_of(TEXT)
            | {
                "description": "The whole task for people: `path = value`, nothing left out, hidden characters as escapes."
            },
        }
    ),
    "Function": closed(
        {
            "name": TEXT,
            "arguments": list_of(
                closed(
                    {
                        "name": TEXT,
                        "required": BOOLEAN,
                        "wanted": TEXT | {"description": "Its type, in words."},
                        "accepts": nullable(list_of(TEXT))
                        | {"description": "The JSON types that can fit; null where that is not known."},
                    }
                )
            ),
            "takes_more": BOOLEAN | {"description": "Arguments of other names are accepted too."},
            "defaults": closed(
                {"zone": nullable(TEXT), "lane": nullable(TEXT), "labels": nullable(OBJECT), "policies": OBJECT}
            )
            | {"description": "What its decorator declares: a task starts from it."},
            "registered": INSTANT,
            "nodes": INTEGER | {"description": "How many running nodes have it."},
            "uniform": BOOLEAN | {"description": "Those nodes declare the same as the newest registration."},
        }
    ),
    "FunctionList": closed({"items": list_of(ref("Function")), "next_cursor": NULL}),
}
