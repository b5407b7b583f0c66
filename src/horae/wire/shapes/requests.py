"""Shapes of request bodies."""

from __future__ import annotations

from typing import Final

from ...choices import LANGUAGES
from ...model.accounts.principal import Quotas, Role, Scope
from ...model.limits import BULK_TASKS
from ...model.policy import MISSED_MODES
from .notation import BOOLEAN, DATE_TIME, INTEGER, TEXT, Schema, choice, closed, list_of, nullable, ref, text
from .runs import RUN_INPUT
from .tasks import ACTION, TASK_STATE
from .tasks_file import EDITABLE_FIELDS, SCHEDULE

_NOTE: Final = nullable(text(500))
_CHAIN: Final = BOOLEAN | {"description": "false: its end starts none of the tasks that run after it."}
_GATE_ONLY: Final = BOOLEAN | {
    "description": "true: ask the gate of the task for its verdict; the target is not called."
}
_MOMENT: Final = text(100) | {
    "description": "`2026-12-01T09:00Z`, `2026-12-01 09:00` in the task's zone, `tomorrow at 9am`, `in 2h`, `明天早上9点`."
}
_INPUT: Final = nullable(RUN_INPUT) | {
    "description": "Replaces or changes the payload of the task, for these runs alone."
}
_QUOTAS: Final = nullable(
    closed({name: {"type": ["integer", "string", "null"]} for name in Quotas._fields}, required=())
) | {"description": "Named quotas change: a number, a duration, null for no limit, or `usual` for the default."}

SHAPES: Final[dict[str, Schema]] = {
    "TaskEdit": closed(EDITABLE_FIELDS, required=()),
    "NewTasks": closed({"tasks": list_of(ref("NewTask")) | {"minItems": 1, "maxItems": BULK_TASKS}}),
    "Action": closed(
        {
            "action": ACTION,
            "filter": closed(
                {
                    "owner": text(200),
                    "state": {"type": ["string", "array"], "items": TASK_STATE},
                    "name": text(200),
                    "lane": text(200),
                    "label": {"type": ["string", "array"], "items": text(201)},
                    "text": text(200),
                    "kind": text(200),
                    "prefix": text(200),
                    "q": text(1000)
                    | {"description": "The same as a query: `state:active label:team=ops -state:paused`."},
                },
                required=(),
            ),
            "arguments": closed(
                {
                    "note": text(500),
                    "until": _MOMENT
                    | {"description": "Of a pause: when each task resumes by itself, in the zone of its schedule."},
                    "zone": text(100) | {"description": "The zone of tasks that have none."},
                    "missed": choice(*MISSED_MODES),
                    "number": INTEGER,
                    "force": BOOLEAN
                    | {"description": "Delete also tasks that others run after; those are then paused."},
                    "chain": _CHAIN,
                },
                required=(),
            ),
            "all": BOOLEAN | {"description": "With an empty filter: every task."},
            "dry_run": BOOLEAN,
        },
        optional=("filter", "arguments", "all", "dry_run"),
    ),
    "Pause": closed(
        {
            "note": _NOTE,
            "until": nullable(_MOMENT),
        },
        required=(),
    ),
    "Resume": closed({"missed": choice(*MISSED_MODES)}, required=()),
    "RunNow": closed({"input": _INPUT, "chain": _CHAIN, "gate_only": _GATE_ONLY}, required=()),
    "Retry": closed({"input": _INPUT}, required=()),
    "Skip": closed({"number": INTEGER | {"minimum": 0, "maximum": 1000000}}, required=()),
    "BackfillRange": closed(
        {
            "from": _MOMENT,
            "to": _MOMENT,
            "again": BOOLEAN,
            "input": _INPUT,
            "chain": _CHAIN,
        },
        optional=("again", "input", "chain"),
    ),
    "Approve": closed({"digest": text(64, 64)}),
    "Reject": closed(
        {
            "reason": nullable(text(200))
            | {"description": "One line; the agent reads it in the label `horae/rejected`."}
        },
        required=(),
    ),
    "Callback": closed(
        {
            "result": {"description": "What it returned, as JSON."},
            "error": nullable(TEXT) | {"description": "It failed, and why."},
            "until": nullable(_MOMENT) | {"description": "It needs more time, until then."},
        },
        required=(),
    ),
    "RetryRuns": closed({"run_ids": list_of(TEXT) | {"maxItems": 500}}),
    "ScheduleQuestion": closed(
        {
            "when": SCHEDULE,
            "zone": nullable(TEXT),
            "after": nullable(TEXT),
            "until": nullable(TEXT),
            "number": INTEGER | {"minimum": 1, "maximum": 1000},
            "gap": choice("next", "shift", "skip", None),
            "fold": choice("first", "last", "both", None),
        },
        optional=("zone", "after", "until", "number", "gap", "fold"),
    ),
    "Drain": closed({"draining": BOOLEAN}, required=()),
    "LaneLimit": closed(
        {
            "limit": INTEGER
            | {"minimum": 0, "maximum": 1000000, "description": "Runs at once; it stays if not given."},
            "rate": nullable(text(40))
            | {
                "description": "At most so many starts within any period: 100/1s; null removes it. It stays if not given."
            },
        },
        required=(),
    ),
    "OwnerWish": closed(
        {
            "role": choice(*Role, None),
            "zone": nullable(TEXT) | {"description": "An empty text removes it."},
            "language": choice(*LANGUAGES, "", None) | {"description": "An empty text removes it."},
            "quotas": _QUOTAS,
            "note": _NOTE,
        },
        required=(),
    ),
    "AgentWish": closed({"quotas": _QUOTAS}),
    "TokenWish": closed(
        {
            "name": text(200, 1),
            "owner": nullable(TEXT),
            "scopes": nullable(list_of(choice(*Scope))) | {"minItems": 1},
            "expires": nullable(DATE_TIME),
            "agent": nullable(TEXT) | {"description": "The token belongs to an agent of the owner, with this name."},
        },
        optional=("owner", "scopes", "expires", "agent"),
    ),
    "CalendarTokenWish": closed({"name": text(200, 1)}),
    "ViewQuery": closed({"query": text(1000) | {"description": "As the parameter `q` of the list; empty for all."}}),
    "SecretValue": closed({"value": text(65536, 1)}),
}
