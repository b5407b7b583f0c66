"""Shapes of runs and their log lines."""

from __future__ import annotations

from typing import Final

from ...model.reason import Reason
from ...model.run import Origin, RunState
from .notation import (
    DATE_TIME,
    INSTANT,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
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
        "result": {"description": "Any JSON; text where it was cut."},
        "error": nullable(TEXT),
    }
)

LINE: Final = closed(
    {
        "number": INTEGER,
        "run_id": RUN_ID,
        "at": INSTANT,
        "level": choice("debug", "info", "warning", "error", "output", "progress"),
        "text": TEXT,
    }
)

SHAPES: Final[dict[str, Schema]] = {
    "run": RUN | {"title": "A run: one attempt at one occurrence, or why there was none"},
    "runs": list_of(ref("run")) | {"title": "horae runs"},
    "line": LINE | {"title": "One line of a run's log (horae logs --follow)"},
    "lines": list_of(ref("line")) | {"title": "horae logs"},
    "RunPage": page_of("run"),
    "Lines": closed({"items": list_of(ref("line")), "next_after": nullable(INTEGER)}),
}
