"""JSON Schemas of the compatibility surfaces for the OpenAPI document."""

from __future__ import annotations

from typing import Final

from ...wire.shapes.notation import (
    ANY,
    BOOLEAN,
    DATE_TIME,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Properties,
    Schema,
    choice,
    closed,
    extend,
    list_of,
    nullable,
    ref,
)
from ...wire.shapes.overview import PROBLEM
from ...wire.shapes.plans import PLAN, PLAN_IMPORT, PLAN_MESSAGE
from .schedule_fields import METHODS
from .schedule_json import PRIORITIES, STATUSES


def _shape(properties: Properties, optional: Properties | None = None) -> Schema:
    more = optional or {}
    return closed({**properties, **more}, optional=more)


def _envelope(data: Schema) -> Schema:
    return _shape({"success": {"const": True}, "code": INTEGER, "message": TEXT, "timestamp": INTEGER, "data": data})


_WARNINGS: Final[dict[str, Schema]] = {"warnings": list_of(ref("Warning"))}
_SCHEDULED_TASK: Final[Properties] = {
    "id": TEXT,
    "user_id": TEXT,
    "name": TEXT,
    "enabled": BOOLEAN,
    "schedule_type": TEXT | {"description": "cron, interval or once; for a task of another surface its own kind."},
    "schedule_expr": TEXT,
    "timezone": TEXT,
    "payload": OBJECT,
    "next_run_at": nullable(DATE_TIME),
    "last_run_at": nullable(DATE_TIME),
    "locked_by": nullable(TEXT),
    "locked_until": nullable(DATE_TIME),
    "created_at": DATE_TIME,
    "updated_at": DATE_TIME,
}
_SCHEDULED_TASK_WISH: Final[Properties] = {
    "enabled": nullable(BOOLEAN),
    "schedule_type": choice("cron", "interval", "once", None),
    "schedule_expr": {"type": ["string", "integer", "null"]},
    "timezone": nullable(TEXT),
    "payload": nullable(OBJECT),
    "next_run_at": nullable(TEXT) | {"description": "ISO 8601; without an offset it is UTC."},
}
_RUN: Final[Properties] = {
    "id": TEXT,
    "task_id": TEXT,
    "user_id": TEXT,
    "status": choice("running", "success", "failed"),
    "trace_id": TEXT,
    "started_at": DATE_TIME,
    "finished_at": nullable(DATE_TIME),
    "error": nullable(TEXT),
    "result": ANY,
}
_SCHEDULE: Final[Properties] = {
    "uuid": TEXT,
    "accountUuid": TEXT,
    "createdBy": TEXT,
    "title": TEXT,
    "name": TEXT,
    "description": nullable(TEXT),
    "taskType": TEXT,
    "priority": choice(*PRIORITIES),
    "status": choice(*STATUSES),
    "enabled": BOOLEAN,
    "scheduledTime": DATE_TIME,
    "timezone": nullable(TEXT),
    "recurrence": OBJECT,
    "payload": OBJECT,
    "alertConfig": nullable(OBJECT),
    "tags": list_of(TEXT),
    "metadata": nullable(OBJECT),
    "sourceType": nullable(TEXT),
    "sourceId": nullable(TEXT),
    "nextScheduledAt": nullable(DATE_TIME),
    "nextExecutionTime": nullable(DATE_TIME),
    "lastExecutedAt": nullable(DATE_TIME),
    "executionCount": INTEGER,
    "failureCount": INTEGER,
    "maxRetries": nullable(INTEGER),
    "currentRetries": INTEGER,
    "timeoutSeconds": NUMBER,
    "createdAt": DATE_TIME,
    "updatedAt": DATE_TIME,
}
_ALERT: Final[Schema] = {
    "type": ["object", "null"],
    "properties": {
        "methods": {"type": "array", "minItems": 1, "items": choice(*METHODS)},
        "soundVolume": {"type": "number", "minimum": 0, "maximum": 100},
        "popupDuration": {"type": "number", "minimum": 0},
        "allowSnooze": BOOLEAN,
        "snoozeOptions": {"type": "array", "maxItems": 20, "items": {"type": "number", "exclusiveMinimum": 0}},
    },
}
_SCHEDULE_WISH: Final[Properties] = {
    "title": nullable(TEXT),
    "name": nullable(TEXT),
    "description": nullable(TEXT),
    "taskType": nullable(TEXT),
    "priority": choice(*PRIORITIES, None),
    "scheduledTime": nullable(TEXT) | {"description": "ISO 8601; without an offset it is local time in `timezone`."},
    "recurrence": nullable(OBJECT),
    "timezone": nullable(TEXT),
    "payload": nullable(OBJECT),
    "alertConfig": _ALERT,
    "tags": {"type": ["array", "null"], "maxItems": 32, "items": {"type": "string", "maxLength": 100}},
    "metadata": nullable(OBJECT),
    "sourceType": nullable(TEXT),
    "sourceModule": nullable(TEXT),
    "sourceId": {"type": ["string", "integer", "null"]},
    "sourceEntityId": {"type": ["string", "integer", "null"]},
    "maxRetries": {"type": ["integer", "null"], "minimum": 0, "maximum": 999},
    "timeoutSeconds": {"type": ["integer", "null"], "minimum": 1},
    "enabled": nullable(BOOLEAN),
    "status": choice(*STATUSES, None),
    "accountUuid": nullable(TEXT),
}
_EXECUTION: Final[Properties] = {
    "id": TEXT,
    "taskUuid": TEXT,
    "accountUuid": TEXT,
    "executedAt": DATE_TIME,
    "startedAt": nullable(DATE_TIME),
    "completedAt": nullable(DATE_TIME),
    "status": TEXT,
    "success": BOOLEAN,
    "reason": nullable(TEXT),
    "result": ANY,
    "error": nullable(TEXT),
    "duration": nullable(NUMBER),
    "retryCount": INTEGER,
}
_UPCOMING: Final = ("uuid", "title", "name", "taskType", "scheduledTime", "priority", "alertConfig")

_NEW_PLAN: Final[Properties] = {
    "plan_id": {"type": ["integer", "string", "null"]},
    "request_id": nullable(TEXT),
    "caller": nullable(TEXT),
    "description": nullable(TEXT),
    "plan_value": {"type": ["integer", "string", "null"]},
    "plan_repet": {"type": ["integer", "string", "null"]},
    "plan_time": {"type": ["integer", "string", "null"]},
    "no_keep": {"type": ["boolean", "integer", "string", "null"]},
    "no_skip": {"type": ["boolean", "integer", "string", "null"]},
    "skip_set": {"type": ["integer", "string", "null"]},
    "command": nullable(TEXT),
    "context": nullable(TEXT),
    "argument": nullable(TEXT),
    "messages": {"type": ["array", "string", "null"]},
    "frames": {"type": ["array", "null"]},
}
SCHEMAS: Final[Properties] = {
    "PlanList": _envelope(list_of(_shape(PLAN))),
    "PlanAnswer": _envelope(_shape(PLAN_MESSAGE)),
    "PlanCount": _envelope(INTEGER),
    "PlanImports": _envelope(list_of(_shape(PLAN_IMPORT))),
    "NewPlan": {
        "type": "object",
        "required": ["station", "plan_type"],
        "properties": {"station": TEXT, "plan_type": {"type": ["integer", "string"]}, **_NEW_PLAN},
    },
    "PlanMessages": {"type": "array", "maxItems": 1_000, "items": OBJECT},
    "CompatProblem": extend(PROBLEM, {"success": {"const": False}, "message": TEXT}),
    "ScheduledTask": _shape(_SCHEDULED_TASK, _WARNINGS),
    "ScheduledTasks": list_of(ref("ScheduledTask")),
    "ScheduledTaskRuns": list_of(_shape(_RUN)),
    "ScheduledTaskGone": _shape({"ok": {"const": True}}),
    "NewScheduledTask": _shape({"name": TEXT}, _SCHEDULED_TASK_WISH),
    "ScheduledTaskChange": _shape({}, {"name": nullable(TEXT), **_SCHEDULED_TASK_WISH}),
    "Schedule": _shape(_SCHEDULE, _WARNINGS),
    "NewSchedule": _shape({}, _SCHEDULE_WISH),
    "QuickReminder": _shape(
        {"title": TEXT, "reminderTime": TEXT},
        {
            "message": nullable(TEXT),
            "methods": {"type": ["array", "null"], "items": choice(*METHODS)},
            "priority": choice(*PRIORITIES, None),
            "allowSnooze": nullable(BOOLEAN),
            "tags": _SCHEDULE_WISH["tags"],
            "timezone": nullable(TEXT),
        },
    ),
    "Snooze": _shape(
        {"snoozeMinutes": INTEGER | {"minimum": 1}}, {"taskUuid": nullable(TEXT), "reason": nullable(TEXT)}
    ),
    "Execute": _shape({}, {"taskUuid": nullable(TEXT), "force": nullable(BOOLEAN), "overrides": nullable(OBJECT)}),
    "Batch": _shape(
        {
            "taskUuids": {"type": "array", "maxItems": 1_000, "items": TEXT},
            "operation": choice("enable", "disable", "pause", "resume", "cancel", "delete"),
        }
    ),
    "ScheduleAnswer": _envelope(
        _shape({"task": ref("Schedule"), "schedule": ref("Schedule")}, {"snoozed": ref("Schedule")})
    ),
    "ScheduleGone": _envelope(NULL),
    "ScheduleList": _envelope(
        _shape(
            {
                "tasks": list_of(ref("Schedule")),
                "schedules": list_of(ref("Schedule")),
                "total": INTEGER,
                "page": INTEGER,
                "limit": INTEGER,
                "hasMore": BOOLEAN,
            }
        )
    ),
    "ScheduleRemoval": _envelope(
        _shape(
            {
                "removed": INTEGER,
                "taskUuids": list_of(TEXT),
                "failed": list_of(_shape({"taskUuid": TEXT, "error": TEXT})),
            }
        )
    ),
    "ScheduleHistory": _envelope(
        _shape({"history": list_of(_shape(_EXECUTION)), "total": INTEGER, "hasMore": BOOLEAN})
    ),
    "UpcomingSchedules": _envelope(
        _shape(
            {
                "tasks": list_of(_shape({**{name: _SCHEDULE[name] for name in _UPCOMING}, "minutesUntil": INTEGER})),
                "withinHours": NUMBER,
                "queryTime": DATE_TIME,
            }
        )
    ),
    "ScheduleStatistics": _envelope(
        _shape(
            {
                "totalTasks": INTEGER,
                "activeTasks": INTEGER,
                "completedTasks": INTEGER,
                "failedTasks": INTEGER,
                "byStatus": OBJECT,
                "byType": OBJECT,
                "byPriority": OBJECT,
                "successRate": nullable(NUMBER),
            }
        )
    ),
    "BatchResult": _envelope(
        _shape(
            {
                "success": list_of(TEXT),
                "failed": list_of(_shape({"taskUuid": ANY, "error": TEXT})),
                "summary": _shape({"total": INTEGER, "success": INTEGER, "failed": INTEGER}),
            }
        )
    ),
    "Execution": _envelope(
        _shape(
            {
                "executionResult": _shape(
                    {
                        "success": {"const": True},
                        "taskUuid": TEXT,
                        "executionUuid": TEXT,
                        "status": TEXT,
                        "requestedAt": DATE_TIME,
                    }
                )
            }
        )
    ),
    "SchedulerHealth": _shape(
        {
            "healthy": BOOLEAN,
            "scheduler": _shape(
                {
                    "isRunning": BOOLEAN,
                    "queueSize": nullable(INTEGER),
                    "nextExecution": nullable(DATE_TIME),
                    "tasksInQueue": {"type": "array", "maxItems": 100, "items": TEXT},
                    "activeTasks": nullable(INTEGER),
                    "waitingForNode": nullable(INTEGER),
                    "waitingForLane": nullable(INTEGER),
                }
            ),
        }
    ),
}
