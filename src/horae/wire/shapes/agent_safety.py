"""Shapes of the budgets of groups and of the switch for all agents."""

from __future__ import annotations

from typing import Final

from .notation import BOOLEAN, INSTANT, INTEGER, NUMBER, TEXT, Schema, answer_of, closed, nullable

_LIMITS: Final[dict[str, Schema]] = {
    "tokens": nullable(INTEGER) | {"minimum": 0},
    "cost": nullable(NUMBER) | {"minimum": 0, "description": "US dollars."},
    "runs": nullable(INTEGER) | {"minimum": 0},
}
_AMOUNTS: Final = closed({"tokens": INTEGER, "cost": NUMBER, "runs": INTEGER})

BUDGET_LIMITS: Final = closed(_LIMITS, required=())
"""Limits for each day, as callers write them."""

SHAPES: Final[dict[str, Schema]] = {
    "budget": closed(
        {
            "folder": TEXT,
            "limits": closed(_LIMITS) | {"description": "For each day; null: unlimited."},
            "used": _AMOUNTS,
            "reserved": _AMOUNTS | {"description": "By runs that are live."},
            "left": closed(_LIMITS),
            "day": TEXT,
            "until": INSTANT | {"description": "When the next day of the group's zone begins."},
            "zone": TEXT,
        }
    )
    | answer_of("group budget"),
    "BudgetLimits": BUDGET_LIMITS,
    "AgentSwitch": closed(
        {
            "stopped": BOOLEAN,
            "since": nullable(INSTANT),
            "by": nullable(TEXT),
            "tasks": nullable(INTEGER) | {"description": "How many tasks this change has paused or resumed."},
        }
    ),
    "AgentSwitchChange": closed({"stopped": BOOLEAN}),
}
