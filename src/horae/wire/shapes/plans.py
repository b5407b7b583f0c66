"""Shapes of plans, for `/plans` and `horae plan`."""

from __future__ import annotations

from typing import Final

from ...model.plans.codes import PlanState
from .notation import ANY, BOOLEAN, INTEGER, TEXT, Properties, choice, closed, list_of, nullable

PLAN: Final[Properties] = {
    "plan_id": INTEGER,
    "request_id": TEXT,
    "station": TEXT,
    "caller": TEXT,
    "description": TEXT,
    "plan_type": INTEGER | {"description": "0 none, 1 time, 2 second, 3 minute, 4 hour, 5 day, 6 week, 7 month."},
    "plan_value": INTEGER,
    "plan_repet": INTEGER,
    "real_repet": INTEGER,
    "no_keep": BOOLEAN,
    "last_state": INTEGER,
    "plan_time": INTEGER | {"description": "Unix seconds of the instant that is executed, or comes next."},
    "skip_set": INTEGER,
    "skip_num": INTEGER,
    "exec_time": INTEGER,
    "name": TEXT,
    "plan_state": INTEGER,
    "state": choice(*(state.name.lower() for state in PlanState)),
    "counter": TEXT,
    "sentence": TEXT,
    "task_id": TEXT,
    "owner": TEXT,
}
_RESULT: Final[Properties] = {
    "run_id": TEXT,
    "plan_time": INTEGER,
    "state": TEXT,
    "result": nullable(TEXT),
    "error": nullable(TEXT),
}
_PARTICIPANT: Final[Properties] = {"name": TEXT, "status": nullable(INTEGER), "content": ANY}
PLAN_MESSAGE: Final[Properties] = {
    **PLAN,
    "messages": list_of(TEXT),
    "frames": list_of(list_of(TEXT)),
    "results": list_of(closed(_RESULT)),
    "participants": list_of(closed(_PARTICIPANT))
    | {"description": "Voters of the newest execution; without an answer `status` is null."},
}
PLAN_IMPORT: Final[Properties] = {
    "name": TEXT,
    **dict.fromkeys(("task_id", "code", "error", "hint"), nullable(TEXT)),
}
