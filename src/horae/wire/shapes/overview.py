"""Shapes of the deployment: overview, status, nodes, lanes, health and problems."""

from __future__ import annotations

from typing import Final, get_args

from ...model.run import Origin
from ...model.task import TaskState
from ...ports.doctor import GROUPS, Grade
from ...service.runs.nodes import NodeState
from ...service.runs.overview import NeedKind
from .notation import (
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
    list_of,
    nullable,
    ref,
)
from .runs import IDLE, RUN

TASK_COUNTS: Final = closed({state.value: INTEGER for state in TaskState})

CHECK: Final = closed(
    {
        "check": TEXT | {"description": "What was checked: a stable code."},
        "group": choice(*GROUPS),
        "grade": choice(*get_args(Grade)) | {"description": "`skipped`: the check was not made; `message` says why."},
        "message": TEXT,
        "fix": nullable(TEXT),
        "command": nullable(TEXT) | {"description": "The command of the fix, where there is one."},
        "checked_at": nullable(INSTANT) | {"description": "When a check was made that takes long and is kept."},
    }
)

CLOCK_STEP: Final = closed({"at": INSTANT, "by_ms": NUMBER})

NODE: Final = closed(
    {
        "id": TEXT,
        "home": TEXT,
        "version": TEXT,
        "host": TEXT,
        "joined": INSTANT,
        "renewed": INSTANT,
        "load": INTEGER,
        "capacity": INTEGER,
        "clock_offset_ms": nullable(NUMBER),
        "draining": BOOLEAN,
        "labels": OBJECT
        | {"additionalProperties": TEXT, "description": "Labels that tasks may require; node is its name."},
    }
)

NODE_STATUS: Final = extend(
    NODE,
    {
        "renewed_ago_ms": NUMBER,
        "state": choice(*NodeState),
        "clock_step": nullable(CLOCK_STEP)
        | {"description": "The last time within a day that the clock of its host was set back."},
        "functions": list_of(TEXT) | {"description": "The functions that it has registered, by name."},
    },
)
_OUTCOMES: Final = OBJECT | {
    "description": "By state, or state:reason for what never started.",
    "additionalProperties": INTEGER,
}
_HOUR: Final = closed(
    {
        "at": INSTANT,
        "outcomes": _OUTCOMES,
        "started": INTEGER,
        "on_time": INTEGER,
        "lateness_p50_ms": nullable(NUMBER),
        "lateness_p99_ms": nullable(NUMBER),
    }
)
_OUTAGE_REVIEW: Final = closed(
    {
        "since": INSTANT,
        "until": INSTANT,
        "clean": BOOLEAN,
        "due": INTEGER,
        "made_up": INTEGER,
        "merged": INTEGER,
        "skipped": INTEGER,
        "waiting": INTEGER,
        "missed": list_of(
            closed({"task_id": TEXT, "task": TEXT, "count": INTEGER, "first": INSTANT, "latest": INSTANT})
        ),
        "partial": BOOLEAN | {"description": "Whether more came due than was counted."},
    }
)
OVERVIEW: Final = closed(
    {
        "at": INSTANT,
        "tasks": TASK_COUNTS,
        "last_24h": closed(
            {
                "outcomes": _OUTCOMES,
                "started": INTEGER,
                "on_time": nullable(NUMBER),
                "lateness_p50_ms": nullable(NUMBER),
                "lateness_p99_ms": nullable(NUMBER),
                "hours": list_of(_HOUR) | {"description": "The current hour and the 24 before it, oldest first."},
            }
        ),
        "outage": nullable(_OUTAGE_REVIEW)
        | {
            "description": "The newest time without a node within a day, and what came due in it, unless it was dismissed."
        },
        "settlement_delay": closed(
            {
                "window_ms": INTEGER,
                "counted": INTEGER,
                "p50_ms": nullable(NUMBER),
                "p99_ms": nullable(NUMBER),
                "max_ms": nullable(NUMBER),
            }
        )
        | {"description": "From the end of a run to the commit that recorded it, within the last minutes."},
        "waiting": closed({"overdue": INTEGER, "parked": INTEGER, "stranded": INTEGER}),
        "running": list_of(extend(RUN, {"progress": nullable(closed({"done": NUMBER, "text": TEXT}))})),
        "next": list_of(
            closed(
                {
                    "task_id": TEXT,
                    "task": TEXT,
                    "due": nullable(INSTANT),
                    "due_local": nullable(DATE_TIME),
                    "zone": nullable(TEXT),
                }
            )
        ),
        "needs_you": list_of(
            closed(
                {
                    "kind": choice(*NeedKind),
                    "task_id": TEXT,
                    "task": TEXT,
                    "last_result": nullable(TEXT),
                }
            )
        ),
        "needs_you_counts": closed({kind.value: INTEGER for kind in NeedKind}, required=())
        | {
            "description": "How many tasks there are of each kind; `needs_you` has up to 20 of each. "
            "Failing tasks are counted up to 1,000."
        },
        "lanes": list_of(ref("lane")),
        "nodes": list_of(ref("node")),
        "alive": BOOLEAN,
        "clock_steps": list_of(closed({"host": TEXT, "at": INSTANT, "by_ms": NUMBER}))
        | {"description": "Clocks that were set back within the last day; for admins."},
    }
)

PLANNED_RUN: Final = closed(
    {
        "task_id": TEXT,
        "task": TEXT,
        "owner": TEXT,
        "due": INSTANT,
        "due_local": DATE_TIME,
        "zone": nullable(TEXT),
        "planned": INSTANT,
        "origin": choice(*Origin),
        "attempt": INTEGER | {"description": "Above 1: a retry."},
        "estimate": BOOLEAN | {"description": "The instant depends on how long earlier runs take."},
    }
)

PLANNED: Final = closed(
    {
        "items": list_of(ref("planned-run")),
        "hours": list_of(closed({"at": INSTANT, "number": INTEGER}))
        | {"description": "Numbers of whole hours, also where `items` is cut."},
        "has_more": BOOLEAN | {"description": "There are more items than were asked for."},
        "partial": BOOLEAN
        | {"description": "The numbers are lower bounds: only the 500 tasks that are due first were counted."},
    }
)

PROBLEM: Final = closed(
    {
        "type": TEXT,
        "title": TEXT,
        "status": INTEGER,
        "code": TEXT | {"pattern": "^[a-z0-9_]+$"},
        "detail": TEXT,
        "hint": TEXT,
        "instance": TEXT,
        "request_id": TEXT,
        "version": INTEGER,
        "errors": list_of(
            closed(
                {"pointer": TEXT, "code": TEXT, "detail": TEXT, "suggestion": TEXT, "position": INTEGER},
                optional=("position",),
            )
        ),
    },
    optional=("version",),
) | {"description": "RFC 9457. `code` is stable and never translated; title, detail and hint follow Accept-Language."}

LANE: Final = closed(
    {
        "name": TEXT,
        "limit": INTEGER | {"description": "Runs at once; 1000000 bounds nothing."},
        "taken": INTEGER,
        "rate": nullable(TEXT) | {"description": "At most so many starts within any period: 100/1s."},
        "next_start_at": nullable(INSTANT)
        | {"description": "The earliest instant of the next start that the rate allows; null: at any instant."},
    }
)
LANE_STATUS: Final = extend(
    LANE,
    {
        "waiting": INTEGER | {"description": "Entries that are due and wait for a slot."},
        "oldest": nullable(INSTANT) | {"description": "The earliest due instant among them."},
        "idle": INTEGER | {"description": "Runs in it that declared themselves idle."},
    },
)
LANE_DETAIL: Final = extend(
    LANE_STATUS,
    {
        "runs": list_of(
            closed(
                {
                    "id": TEXT,
                    "task_id": TEXT,
                    "task": TEXT,
                    "owner": TEXT,
                    "state": TEXT,
                    "planned": INSTANT,
                    "attempt": INTEGER,
                    "started": nullable(INSTANT),
                    "node": nullable(TEXT),
                    "idle": IDLE,
                }
            )
        )
        | {"description": "Runs that hold a slot."},
        "others": INTEGER | {"description": "Number of runs in it that are not listed."},
        "queue": list_of(
            closed(
                {
                    "place": INTEGER,
                    "task_id": TEXT,
                    "task": TEXT,
                    "owner": TEXT,
                    "priority": INTEGER,
                    "due": INSTANT,
                }
            )
        )
        | {"description": "Entries that wait, in the order in which they get slots if no other one is added."},
        "more": BOOLEAN | {"description": "More entries wait than are listed."},
    },
)

SHAPES: Final[dict[str, Schema]] = {
    "lane": LANE | answer_of("lane NAME LIMIT"),
    "lane-status": LANE_STATUS | {"title": "A lane: its use, and what waits in it"},
    "lane-detail": LANE_DETAIL | answer_of("lane NAME"),
    "lanes": list_of(ref("lane-status")) | answer_of("lanes"),
    "node": NODE | {"title": "A process with an engine"},
    "nodes": list_of(NODE_STATUS) | answer_of("nodes"),
    "nodes-drain": list_of(closed({"id": TEXT, "host": TEXT, "draining": BOOLEAN})) | answer_of("nodes drain"),
    "overview": OVERVIEW | answer_of("overview"),
    "status": closed(
        {
            "ok": BOOLEAN | {"description": "A node is up and nothing needs attention."},
            "node_up": BOOLEAN,
            "store": TEXT | {"description": "The file, the store without its password, or the server."},
            "version": TEXT,
            "problems": list_of(
                closed(
                    {
                        "code": choice(
                            "no_node",
                            "failed",
                            "failing",
                            "orphaned",
                            "awaiting_approval",
                            "predecessor_deleted",
                            "gate_failed",
                            "stranded",
                            "overdue",
                        ),
                        "number": INTEGER,
                        "detail": TEXT,
                    }
                )
            ),
            "overview": ref("overview"),
        }
    )
    | answer_of("status"),
    "LaneList": closed({"items": list_of(ref("lane-status")), "next_cursor": NULL}),
    "LaneQueueList": closed(
        {
            "items": list_of(
                closed(
                    {
                        "lane": TEXT,
                        "waiting": INTEGER | {"description": "Entries that are due and wait for a slot."},
                        "oldest": INSTANT | {"description": "The earliest due instant among them."},
                    }
                )
            ),
            "next_cursor": NULL,
        }
    ),
    "planned-run": PLANNED_RUN | {"title": "A run to come"},
    "planned": list_of(ref("planned-run")) | answer_of("next --all"),
    "Planned": PLANNED,
    "NodeList": closed({"items": list_of(NODE_STATUS), "next_cursor": NULL}),
    "DoctorReport": closed({"at": INSTANT, "errors": INTEGER, "warnings": INTEGER, "checks": list_of(CHECK)}),
    "DrainedNodes": closed({"items": list_of(ref("node"))}),
    "Root": closed(
        {
            "name": TEXT,
            "version": TEXT,
            "status": choice("ready", "not ready"),
            "links": OBJECT | {"additionalProperties": TEXT, "description": "Paths from here, by what they lead to."},
        }
    ),
    "Health": closed({"status": TEXT, "version": TEXT}),
    "Readiness": closed(
        {
            "status": choice("ready", "not ready"),
            "version": TEXT,
            "now": INSTANT | {"description": "The server's clock."},
            "parts": closed(
                {"store": BOOLEAN, "writes": BOOLEAN, "engine": BOOLEAN, "clock": BOOLEAN, "on_time": BOOLEAN}
            ),
            "clock_steps": list_of(CLOCK_STEP),
            "problem": nullable(closed({"code": TEXT, "detail": TEXT, "hint": TEXT})),
        }
    ),
    "Problem": PROBLEM
    | {
        "example": {
            "type": "urn:horae:problem:unknown_field",
            "title": "invalid request",
            "status": 422,
            "code": "unknown_field",
            "detail": "'polices' is not a field here.",
            "hint": "The fields are: policies, name, when, …",
            "instance": "/v1/tasks",
            "request_id": "req_8d7a0c7c44415e72308a",
            "errors": [
                {
                    "pointer": "/polices",
                    "code": "unknown_field",
                    "detail": "'polices' is not a field here.",
                    "suggestion": "The fields are: policies, name, when, …",
                }
            ],
        }
    },
}
