"""Shapes of runs and their log lines."""

from __future__ import annotations

from typing import Final

from ...model.lanes.idle import YieldKind
from ...model.reason import Reason
from ...model.run import Origin, RunState
from .notation import (
    BOOLEAN,
    DATE_TIME,
    INSTANT,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
    answer_of,
    choice,
    closed,
    list_of,
    nullable,
    or_null,
    page_of,
    ref,
)

TASK_ID: Final = TEXT | {"pattern": "^tsk_"}
RUN_ID: Final = TEXT | {"pattern": "^run_"}
RUN_STATE: Final = choice(*RunState)
ORIGIN: Final = choice(*Origin)
REASON: Final = or_null(choice(*Reason))


RUN_INPUT: Final = closed(
    {
        "replace": {"description": "Any JSON: the payload of the run."},
        "merge": {"description": "A merge patch (RFC 7396) on the payload of the task."},
    },
    required=(),
) | {"minProperties": 1, "maxProperties": 1}
IDLE: Final = or_null(
    closed(
        {
            "since": INSTANT,
            "yield_requested": or_null(closed({"kind": choice(*YieldKind), "lane": nullable(TEXT), "because": TEXT})),
        }
    )
)
USAGE: Final = or_null(
    closed(
        {
            "input_tokens": nullable(INTEGER),
            "output_tokens": nullable(INTEGER),
            "cost": nullable(NUMBER),
            "model": nullable(TEXT),
            "turns": INTEGER,
            "unpriced": nullable(TEXT)
            | {"description": "A model that it used and that has no price: the cost is at least `cost`, or unknown."},
        }
    )
)
HANDLED: Final = closed({"stream": TEXT, "reader": TEXT, "first": INTEGER, "last": INTEGER})
RUN: Final = closed(
    {
        "id": RUN_ID,
        "task_id": TASK_ID,
        "task": nullable(TEXT),
        "owner": TEXT,
        "state": RUN_STATE,
        "reason": REASON,
        "because": nullable(TEXT),
        "origin": ORIGIN,
        "root": or_null(closed({"task_id": TEXT, "origin": ORIGIN, "planned": INSTANT})),
        "parents": list_of(TEXT) | {"description": "Runs whose end started this one."},
        "planned": INSTANT,
        "planned_local": DATE_TIME,
        "zone": nullable(TEXT),
        "due": INSTANT,
        "attempt": INTEGER,
        "started": nullable(INSTANT),
        "ended": nullable(INSTANT),
        "lateness_ms": nullable(NUMBER),
        "duration_ms": nullable(NUMBER),
        "first": INSTANT,
        "last": INSTANT,
        "count": INTEGER | {"minimum": 1},
        "node": nullable(TEXT),
        "trace_id": TEXT | {"pattern": "^[0-9a-f]{32}$"},
        "lanes": list_of(TEXT),
        "asked_to_end": REASON,
        "input": nullable(RUN_INPUT),
        "result": {"description": "Any JSON; text where it was cut."},
        "error": nullable(TEXT),
        "idle": IDLE
        | {
            "description": "Since when it is idle in its lanes, and why it should yield; null also in lists, which do not read it."
        },
        "usage": USAGE
        | {
            "description": "What its agent reported: tokens, cost in US dollars, model; null also in lists, which do not read it."
        },
        "handled": or_null(list_of(HANDLED))
        | {
            "description": "Messages of streams over which it moved the cursors of readers, for 30 days; null in lists, which do not read it."
        },
    }
)

LINE: Final = closed(
    {
        "number": INTEGER,
        "run_id": RUN_ID,
        "at": INSTANT,
        "level": choice("debug", "info", "warning", "error", "output", "progress", "result", "tool"),
        "text": TEXT,
    }
)

FAILURE_GROUP: Final = closed(
    {
        "key": TEXT,
        "pattern": TEXT
        | {"description": "The first line of the error, without what differs; without an error, the reason."},
        "count": INTEGER,
        "newest": ref("run"),
        "task_ids": list_of(TASK_ID),
        "run_ids": list_of(RUN_ID) | {"description": "The newest failed attempt of each occurrence."},
    }
)

SHAPES: Final[dict[str, Schema]] = {
    "run": RUN | {"title": "A run: one attempt at one occurrence, or why there was none"},
    "runs": list_of(ref("run")) | answer_of("runs"),
    "line": LINE | answer_of("logs --follow"),
    "lines": list_of(ref("line")) | answer_of("logs"),
    "run-chain": closed(
        {
            "root": closed({"task_id": TEXT, "origin": TEXT, "planned": INSTANT}),
            "links": list_of(
                closed(
                    {
                        "task_id": TEXT,
                        "task": nullable(TEXT),
                        "state": TEXT
                        | {"description": "Of its last run; without one open (a join waits), planned or skipped."},
                        "run_id": nullable(TEXT),
                        "reason": nullable(TEXT),
                        "parents": list_of(TEXT) | {"description": "Ids of the tasks whose end it was given."},
                    }
                )
            )
            | {"description": "Links that were reached: the root first, each after its parents."},
            "cut": BOOLEAN | {"description": "There are more links than were read."},
        }
    )
    | {"title": "The chain of one root occurrence", **answer_of("show --tree")},
    "RunPage": page_of("run"),
    "failure-group": FAILURE_GROUP | {"title": "Failed runs with one kind of error"},
    "failures": list_of(ref("failure-group")) | answer_of("failures"),
    "FailureGroups": closed(
        {
            "items": list_of(ref("failure-group")),
            "groups": INTEGER,
            "total": INTEGER | {"description": "How many failed runs were read, newest first."},
            "cut": BOOLEAN | {"description": "There are more failures than were read."},
        }
    ),
    "retry-report": closed(
        {
            "retried": list_of(RUN_ID),
            "refused": list_of(closed({"run_id": TEXT, "code": TEXT, "detail": TEXT, "hint": TEXT})),
            "left": INTEGER | {"description": "How many were not tried: one request retries a limited number."},
            "dry_run": BOOLEAN,
        }
    )
    | answer_of("failures --retry"),
    "Lines": closed({"items": list_of(ref("line")), "next_after": nullable(INTEGER)}),
}
