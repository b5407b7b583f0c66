"""Shapes of the compatibility surfaces for the document of the API."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ...wire.response_shapes import ANSWERS
from .alerts import METHODS
from .schedule_json import PRIORITIES, STATUSES

Schema: TypeAlias = dict[str, Any]

_TEXT: Final = {"type": "string"}
_MAYBE: Final = {"type": ["string", "null"]}
_WHOLE: Final = {"type": "integer"}
_MAYBE_WHOLE: Final = {"type": ["integer", "null"]}
_YES_NO: Final = {"type": "boolean"}
_INSTANT: Final = {"type": "string", "format": "date-time"}
_MAYBE_INSTANT: Final = {"type": ["string", "null"], "format": "date-time"}
_OBJECT: Final = {"type": "object"}
_MAYBE_OBJECT: Final = {"type": ["object", "null"]}


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


def _enclosed(data: Schema) -> Schema:
    return _shape({"success": {"const": True}, "code": _WHOLE, "message": _TEXT, "timestamp": _WHOLE, "data": data})


_WARNINGS: Final[dict[str, Schema]] = {"warnings": _list_of("Warning")}
_SCHEDULED_TASK: Final[dict[str, Schema]] = {
    "id": _TEXT,
    "user_id": _TEXT,
    "name": _TEXT,
    "enabled": _YES_NO,
    "schedule_type": {**_TEXT, "description": "cron, interval or once; of a task from elsewhere its own kind."},
    "schedule_expr": _TEXT,
    "timezone": _TEXT,
    "payload": _OBJECT,
    "next_run_at": _MAYBE_INSTANT,
    "last_run_at": _MAYBE_INSTANT,
    "locked_by": _MAYBE,
    "locked_until": _MAYBE_INSTANT,
    "created_at": _INSTANT,
    "updated_at": _INSTANT,
}
_SCHEDULED_TASK_WISH: Final[dict[str, Schema]] = {
    "enabled": {"type": ["boolean", "null"]},
    "schedule_type": {"enum": ["cron", "interval", "once", None]},
    "schedule_expr": {"type": ["string", "integer", "null"]},
    "timezone": _MAYBE,
    "payload": _MAYBE_OBJECT,
    "next_run_at": {**_MAYBE, "description": "ISO 8601; without an offset it is UTC."},
}
_RUN: Final[dict[str, Schema]] = {
    "id": _TEXT,
    "task_id": _TEXT,
    "user_id": _TEXT,
    "status": {"enum": ["running", "success", "failed"]},
    "trace_id": _TEXT,
    "started_at": _INSTANT,
    "finished_at": _MAYBE_INSTANT,
    "error": _MAYBE,
    "result": {},
}
_SCHEDULE: Final[dict[str, Schema]] = {
    "uuid": _TEXT,
    "accountUuid": _TEXT,
    "createdBy": _TEXT,
    "title": _TEXT,
    "name": _TEXT,
    "description": _MAYBE,
    "taskType": _TEXT,
    "priority": {"enum": list(PRIORITIES)},
    "status": {"enum": list(STATUSES)},
    "enabled": _YES_NO,
    "scheduledTime": _INSTANT,
    "timezone": _MAYBE,
    "recurrence": _OBJECT,
    "payload": _OBJECT,
    "alertConfig": _MAYBE_OBJECT,
    "tags": {"type": "array", "items": _TEXT},
    "metadata": _MAYBE_OBJECT,
    "sourceType": _MAYBE,
    "sourceId": _MAYBE,
    "nextScheduledAt": _MAYBE_INSTANT,
    "nextExecutionTime": _MAYBE_INSTANT,
    "lastExecutedAt": _MAYBE_INSTANT,
    "executionCount": _WHOLE,
    "failureCount": _WHOLE,
    "maxRetries": _MAYBE_WHOLE,
    "currentRetries": _WHOLE,
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
        "allowSnooze": _YES_NO,
        "snoozeOptions": {"type": "array", "maxItems": 20, "items": {"type": "number", "exclusiveMinimum": 0}},
    },
}
_SCHEDULE_WISH: Final[dict[str, Schema]] = {
    "title": _MAYBE,
    "name": _MAYBE,
    "description": _MAYBE,
    "taskType": _MAYBE,
    "priority": {"enum": [*PRIORITIES, None]},
    "scheduledTime": {**_MAYBE, "description": "ISO 8601; without an offset it is local time in `timezone`."},
    "recurrence": _MAYBE_OBJECT,
    "timezone": _MAYBE,
    "payload": _MAYBE_OBJECT,
    "alertConfig": _ALERT,
    "tags": {"type": ["array", "null"], "maxItems": 32, "items": {"type": "string", "maxLength": 100}},
    "metadata": _MAYBE_OBJECT,
    "sourceType": _MAYBE,
    "sourceModule": _MAYBE,
    "sourceId": {"type": ["string", "integer", "null"]},
    "sourceEntityId": {"type": ["string", "integer", "null"]},
    "maxRetries": {"type": ["integer", "null"], "minimum": 0, "maximum": 999},
    "timeoutSeconds": {"type": ["integer", "null"], "minimum": 1},
    "enabled": {"type": ["boolean", "null"]},
    "status": {"enum": [*STATUSES, None]},
    "accountUuid": _MAYBE,
}
_EXECUTION: Final[dict[str, Schema]] = {
    "id": _TEXT,
    "taskUuid": _TEXT,
    "accountUuid": _TEXT,
    "executedAt": _INSTANT,
    "startedAt": _MAYBE_INSTANT,
    "completedAt": _MAYBE_INSTANT,
    "status": _TEXT,
    "success": _YES_NO,
    "reason": _MAYBE,
    "result": {},
    "error": _MAYBE,
    "duration": {"type": ["number", "null"]},
    "retryCount": _WHOLE,
}
_UPCOMING: Final = ("uuid", "title", "name", "taskType", "scheduledTime", "priority", "alertConfig")
_PROBLEM: Final = ANSWERS["Problem"]

SHAPES: Final[dict[str, Schema]] = {
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
    "ScheduledTaskChange": _shape({}, {"name": _MAYBE, **_SCHEDULED_TASK_WISH}),
    "Schedule": _shape(_SCHEDULE, _WARNINGS),
    "NewSchedule": _shape({}, _SCHEDULE_WISH),
    "QuickReminder": _shape(
        {"title": _TEXT, "reminderTime": _TEXT},
        {
            "message": _MAYBE,
            "methods": {"type": ["array", "null"], "items": {"enum": list(METHODS)}},
            "priority": {"enum": [*PRIORITIES, None]},
            "allowSnooze": {"type": ["boolean", "null"]},
            "tags": _SCHEDULE_WISH["tags"],
            "timezone": _MAYBE,
        },
    ),
    "Snooze": _shape({"snoozeMinutes": {**_WHOLE, "minimum": 1}}, {"taskUuid": _MAYBE, "reason": _MAYBE}),
    "Execute": _shape({}, {"taskUuid": _MAYBE, "force": {"type": ["boolean", "null"]}, "overrides": _MAYBE_OBJECT}),
    "Batch": _shape(
        {
            "taskUuids": {"type": "array", "maxItems": 1_000, "items": _TEXT},
            "operation": {"enum": ["enable", "disable", "pause", "resume", "cancel", "delete"]},
        }
    ),
    "ScheduleAnswer": _enclosed(
        _shape({"task": _ref("Schedule"), "schedule": _ref("Schedule")}, {"snoozed": _ref("Schedule")})
    ),
    "ScheduleGone": _enclosed({"type": "null"}),
    "ScheduleList": _enclosed(
        _shape(
            {
                "tasks": _list_of("Schedule"),
                "schedules": _list_of("Schedule"),
                "total": _WHOLE,
                "page": _WHOLE,
                "limit": _WHOLE,
                "hasMore": _YES_NO,
            }
        )
    ),
    "ScheduleRemoval": _enclosed(
        _shape(
            {
                "removed": _WHOLE,
                "taskUuids": {"type": "array", "items": _TEXT},
                "failed": {"type": "array", "items": _shape({"taskUuid": _TEXT, "error": _TEXT})},
            }
        )
    ),
    "ScheduleHistory": _enclosed(
        _shape({"history": {"type": "array", "items": _shape(_EXECUTION)}, "total": _WHOLE, "hasMore": _YES_NO})
    ),
    "UpcomingSchedules": _enclosed(
        _shape(
            {
                "tasks": {
                    "type": "array",
                    "items": _shape({**{name: _SCHEDULE[name] for name in _UPCOMING}, "minutesUntil": _WHOLE}),
                },
                "withinHours": {"type": "number"},
                "queryTime": _INSTANT,
            }
        )
    ),
    "ScheduleStatistics": _enclosed(
        _shape(
            {
                "totalTasks": _WHOLE,
                "activeTasks": _WHOLE,
                "completedTasks": _WHOLE,
                "failedTasks": _WHOLE,
                "byStatus": _OBJECT,
                "byType": _OBJECT,
                "byPriority": _OBJECT,
                "successRate": {"type": ["number", "null"]},
            }
        )
    ),
    "BatchResult": _enclosed(
        _shape(
            {
                "success": {"type": "array", "items": _TEXT},
                "failed": {"type": "array", "items": _shape({"taskUuid": {}, "error": _TEXT})},
                "summary": _shape({"total": _WHOLE, "success": _WHOLE, "failed": _WHOLE}),
            }
        )
    ),
    "Execution": _enclosed(
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
            "healthy": _YES_NO,
            "scheduler": _shape(
                {
                    "isRunning": _YES_NO,
                    "queueSize": _MAYBE_WHOLE,
                    "nextExecution": _MAYBE_INSTANT,
                    "tasksInQueue": {"type": "array", "maxItems": 100, "items": _TEXT},
                    "activeTasks": _MAYBE_WHOLE,
                    "waitingForNode": _MAYBE_WHOLE,
                    "waitingForLane": _MAYBE_WHOLE,
                }
            ),
        }
    ),
}
