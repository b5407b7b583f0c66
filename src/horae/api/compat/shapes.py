"""JSON Schemas of the compatibility surfaces for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ...wire.response_shapes import RESPONSE_SCHEMAS
from .alerts import METHODS
from .schedule_json import PRIORITIES, STATUSES

Schema: TypeAlias = dict[str, Any]

_TEXT: Final = {"type": "string"}
_NULLABLE_TEXT: Final = {"type": ["string", "null"]}
_INTEGER: Final = {"type": "integer"}
_NULLABLE_INTEGER: Final = {"type": ["integer", "null"]}
_BOOLEAN: Final = {"type": "boolean"}
_INSTANT: Final = {"type": "string", "format": "date-time"}
_NULLABLE_INSTANT: Final = {"type": ["string", "null"], "format": "date-time"}
_OBJECT: Final = {"type": "object"}
_NULLABLE_OBJECT: Final = {"type": ["object", "null"]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": _ref(name)}


def _shape(properties: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    more = {} if optional is None else optional
    return {
        "type": "object",
        "properties": {**properties, **more},
        "required": list(properties),
        "additionalProperties": False,
    }


def _envelope(data: Schema) -> Schema:
    return _shape({"success": {"const": True}, "code": _INTEGER, "message": _TEXT, "timestamp": _INTEGER, "data": data})


_WARNINGS: Final[dict[str, Schema]] = {"warnings": _list_of("Warning")}
_SCHEDULED_TASK: Final[dict[str, Schema]] = {
    "id": _TEXT,
    "user_id": _TEXT,
    "name": _TEXT,
    "enabled": _BOOLEAN,
    "schedule_type": {**_TEXT, "description": "cron, interval or once; for a task of another surface its own kind."},
    "schedule_expr": _TEXT,
    "timezone": _TEXT,
    "payload": _OBJECT,
    "next_run_at": _NULLABLE_INSTANT,
    "last_run_at": _NULLABLE_INSTANT,
    "locked_by": _NULLABLE_TEXT,
    "locked_until": _NULLABLE_INSTANT,
    "created_at": _INSTANT,
    "updated_at": _INSTANT,
}
_SCHEDULED_TASK_WISH: Final[dict[str, Schema]] = {
    "enabled": {"type": ["boolean", "null"]},
    "schedule_type": {"enum": ["cron", "interval", "once", None]},
    "schedule_expr": {"type": ["string", "integer", "null"]},
    "timezone": _NULLABLE_TEXT,
    "payload": _NULLABLE_OBJECT,
    "next_run_at": {**_NULLABLE_TEXT, "description": "ISO 8601; without an offset it is UTC."},
}
_RUN: Final[dict[str, Schema]] = {
    "id": _TEXT,
    "task_id": _TEXT,
    "user_id": _TEXT,
    "status": {"enum": ["running", "success", "failed"]},
    "trace_id": _TEXT,
    "started_at": _INSTANT,
    "finished_at": _NULLABLE_INSTANT,
    "error": _NULLABLE_TEXT,
    "result": {},
}
_SCHEDULE: Final[dict[str, Schema]] = {
    "uuid": _TEXT,
    "accountUuid": _TEXT,
    "createdBy": _TEXT,
    "title": _TEXT,
    "name": _TEXT,
    "description": _NULLABLE_TEXT,
    "taskType": _TEXT,
    "priority": {"enum": list(PRIORITIES)},
    "status": {"enum": list(STATUSES)},
    "enabled": _BOOLEAN,
    "scheduledTime": _INSTANT,
    "timezone": _NULLABLE_TEXT,
    "recurrence": _OBJECT,
    "payload": _OBJECT,
    "alertConfig": _NULLABLE_OBJECT,
    "tags": {"type": "array", "items": _TEXT},
    "metadata": _NULLABLE_OBJECT,
    "sourceType": _NULLABLE_TEXT,
    "sourceId": _NULLABLE_TEXT,
    "nextScheduledAt": _NULLABLE_INSTANT,
    "nextExecutionTime": _NULLABLE_INSTANT,
    "lastExecutedAt": _NULLABLE_INSTANT,
    "executionCount": _INTEGER,
    "failureCount": _INTEGER,
    "maxRetries": _NULLABLE_INTEGER,
    "currentRetries": _INTEGER,
    "timeoutSeconds": {"type": "number"},
    "createdAt": _INSTANT,
    "updatedAt": _INSTANT,
}
_ALERT: Final[Schema] = {
    "type": ["object", "null"],
    "properties": {
        "methods": {"type": "array", "minItems": 1, "items": {"enum": list(METHODS)}},
        "soundVolume": {"type": "number", "minimum": 0, "maximum": 100},
        "popupDuration": {"type": "number", "minimum": 0},
        "allowSnooze": _BOOLEAN,
        "snoozeOptions": {"type": "array", "maxItems": 20, "items": {"type": "number", "exclusiveMinimum": 0}},
    },
}
_SCHEDULE_WISH: Final[dict[str, Schema]] = {
    "title": _NULLABLE_TEXT,
    "name": _NULLABLE_TEXT,
    "description": _NULLABLE_TEXT,
    "taskType": _NULLABLE_TEXT,
    "priority": {"enum": [*PRIORITIES, None]},
    "scheduledTime": {**_NULLABLE_TEXT, "description": "ISO 8601; without an offset it is local time in `timezone`."},
    "recurrence": _NULLABLE_OBJECT,
    "timezone": _NULLABLE_TEXT,
    "payload": _NULLABLE_OBJECT,
    "alertConfig": _ALERT,
    "tags": {"type": ["array", "null"], "maxItems": 32, "items": {"type": "string", "maxLength": 100}},
    "metadata": _NULLABLE_OBJECT,
    "sourceType": _NULLABLE_TEXT,
    "sourceModule": _NULLABLE_TEXT,
    "sourceId": {"type": ["string", "integer", "null"]},
    "sourceEntityId": {"type": ["string", "integer", "null"]},
    "maxRetries": {"type": ["integer", "null"], "minimum": 0, "maximum": 999},
    "timeoutSeconds": {"type": ["integer", "null"], "minimum": 1},
    "enabled": {"type": ["boolean", "null"]},
    "status": {"enum": [*STATUSES, None]},
    "accountUuid": _NULLABLE_TEXT,
}
_EXECUTION: Final[dict[str, Schema]] = {
    "id": _TEXT,
    "taskUuid": _TEXT,
    "accountUuid": _TEXT,
    "executedAt": _INSTANT,
    "startedAt": _NULLABLE_INSTANT,
    "completedAt": _NULLABLE_INSTANT,
    "status": _TEXT,
    "success": _BOOLEAN,
    "reason": _NULLABLE_TEXT,
    "result": {},
    "error": _NULLABLE_TEXT,
    "duration": {"type": ["number", "null"]},
    "retryCount": _INTEGER,
}
_UPCOMING: Final = ("uuid", "title", "name", "taskType", "scheduledTime", "priority", "alertConfig")
_PROBLEM: Final = RESPONSE_SCHEMAS["Problem"]

SCHEMAS: Final[dict[str, Schema]] = {
    "CompatProblem": {
        **{name: each for name, each in _PROBLEM.items() if name != "example"},
        "properties": {**_PROBLEM["properties"], "success": {"const": False}, "message": _TEXT},
        "required": [*_PROBLEM["required"], "success", "message"],
    },
    "ScheduledTask": _shape(_SCHEDULED_TASK, _WARNINGS),
    "ScheduledTasks": _list_of("ScheduledTask"),
    "ScheduledTaskRuns": {"type": "array", "items": _shape(_RUN)},
    "ScheduledTaskGone": _shape({"ok": {"const": True}}),
    "NewScheduledTask": _shape({"name": _TEXT}, _SCHEDULED_TASK_WISH),
    "ScheduledTaskChange": _shape({}, {"name": _NULLABLE_TEXT, **_SCHEDULED_TASK_WISH}),
    "Schedule": _shape(_SCHEDULE, _WARNINGS),
    "NewSchedule": _shape({}, _SCHEDULE_WISH),
    "QuickReminder": _shape(
        {"title": _TEXT, "reminderTime": _TEXT},
        {
            "message": _NULLABLE_TEXT,
            "methods": {"type": ["array", "null"], "items": {"enum": list(METHODS)}},
            "priority": {"enum": [*PRIORITIES, None]},
            "allowSnooze": {"type": ["boolean", "null"]},
            "tags": _SCHEDULE_WISH["tags"],
            "timezone": _NULLABLE_TEXT,
        },
    ),
    "Snooze": _shape(
        {"snoozeMinutes": {**_INTEGER, "minimum": 1}}, {"taskUuid": _NULLABLE_TEXT, "reason": _NULLABLE_TEXT}
    ),
    "Execute": _shape(
        {}, {"taskUuid": _NULLABLE_TEXT, "force": {"type": ["boolean", "null"]}, "overrides": _NULLABLE_OBJECT}
    ),
    "Batch": _shape(
        {
            "taskUuids": {"type": "array", "maxItems": 1_000, "items": _TEXT},
            "operation": {"enum": ["enable", "disable", "pause", "resume", "cancel", "delete"]},
        }
    ),
    "ScheduleAnswer": _envelope(
        _shape({"task": _ref("Schedule"), "schedule": _ref("Schedule")}, {"snoozed": _ref("Schedule")})
    ),
    "ScheduleGone": _envelope({"type": "null"}),
    "ScheduleList": _envelope(
        _shape(
            {
                "tasks": _list_of("Schedule"),
                "schedules": _list_of("Schedule"),
                "total": _INTEGER,
                "page": _INTEGER,
                "limit": _INTEGER,
                "hasMore": _BOOLEAN,
            }
        )
    ),
    "ScheduleRemoval": _envelope(
        _shape(
            {
                "removed": _INTEGER,
                "taskUuids": {"type": "array", "items": _TEXT},
                "failed": {"type": "array", "items": _shape({"taskUuid": _TEXT, "error": _TEXT})},
            }
        )
    ),
    "ScheduleHistory": _envelope(
        _shape({"history": {"type": "array", "items": _shape(_EXECUTION)}, "total": _INTEGER, "hasMore": _BOOLEAN})
    ),
    "UpcomingSchedules": _envelope(
        _shape(
            {
                "tasks": {
                    "type": "array",
                    "items": _shape({**{name: _SCHEDULE[name] for name in _UPCOMING}, "minutesUntil": _INTEGER}),
                },
                "withinHours": {"type": "number"},
                "queryTime": _INSTANT,
            }
        )
    ),
    "ScheduleStatistics": _envelope(
        _shape(
            {
                "totalTasks": _INTEGER,
                "activeTasks": _INTEGER,
                "completedTasks": _INTEGER,
                "failedTasks": _INTEGER,
                "byStatus": _OBJECT,
                "byType": _OBJECT,
                "byPriority": _OBJECT,
                "successRate": {"type": ["number", "null"]},
            }
        )
    ),
    "BatchResult": _envelope(
        _shape(
            {
                "success": {"type": "array", "items": _TEXT},
                "failed": {"type": "array", "items": _shape({"taskUuid": {}, "error": _TEXT})},
                "summary": _shape({"total": _INTEGER, "success": _INTEGER, "failed": _INTEGER}),
            }
        )
    ),
    "Execution": _envelope(
        _shape(
            {
                "executionResult": _shape(
                    {
                        "success": {"const": True},
                        "taskUuid": _TEXT,
                        "executionUuid": _TEXT,
                        "status": _TEXT,
                        "requestedAt": _INSTANT,
                    }
                )
            }
        )
    ),
    "SchedulerHealth": _shape(
        {
            "healthy": _BOOLEAN,
            "scheduler": _shape(
                {
                    "isRunning": _BOOLEAN,
                    "queueSize": _NULLABLE_INTEGER,
                    "nextExecution": _NULLABLE_INSTANT,
                    "tasksInQueue": {"type": "array", "maxItems": 100, "items": _TEXT},
                    "activeTasks": _NULLABLE_INTEGER,
                    "waitingForNode": _NULLABLE_INTEGER,
                    "waitingForLane": _NULLABLE_INTEGER,
                }
            ),
        }
    ),
}
