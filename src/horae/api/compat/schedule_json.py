"""Renders tasks as `/schedules` JSON with its own names of priorities, states and recurrences, in the response envelope."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import InvalidSchedule
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.entry import EntryKind
from ...model.run import LIVE_STATES, Run, RunState
from ...model.task import Task, TaskState
from ...schedule import Now, Once, Schedule
from ...schedule.compat import Note, Translation, dailyuse
from ...schedule.describe import describe_schedule
from ...service.own_tasks import DISABLED, latest_runs
from ...service.query.instants import parse_span
from ...web.language import request_language
from ...web.request_context import app_context
from ...web.responses import json_response
from ...wire.instants import milliseconds, utc
from ...wire.runs import result_of
from ...wire.tasks.task import next_due
from .refusals import render_notes
from .stored_fields import (
    SOURCE_ID,
    SOURCE_TYPE,
    TASK_TYPE,
    label_of,
    last_change,
    read_details,
    render_payload,
)

PRIORITIES: Final = {"LOW": -50, "NORMAL": 0, "HIGH": 50, "URGENT": 100}
DEFAULT_TYPE: Final = "GENERAL_REMINDER"
_STATUSES: Final = {
    TaskState.ACTIVE: "PENDING",
    TaskState.PAUSED: "PAUSED",
    TaskState.COMPLETED: "COMPLETED",
    TaskState.FAILED: "FAILED",
    TaskState.CANCELLED: "CANCELLED",
}
STATUSES: Final = (*_STATUSES.values(), "RUNNING")
_RUN_STATUSES: Final = {
    **dict.fromkeys(LIVE_STATES, "RUNNING"),
    RunState.SUCCEEDED: "COMPLETED",
    RunState.CANCELLED: "CANCELLED",
    RunState.SKIPPED: "CANCELLED",
}


def render_schedule(facts: Facts, latest: Run | None, now: datetime) -> dict[str, Any]:
    task, upcoming = facts.task, utc(next_due(facts))
    details = read_details(task.payload)
    return {
        "uuid": task.id,
        "accountUuid": task.owner,
        "createdBy": task.owner,
        "title": task.name,
        "name": task.name,
        "description": details.get("description"),
        "taskType": type_of(task),
        "priority": priority_name(task.policies.priority),
        "status": status_of(facts),
        "enabled": is_enabled(facts),
        "scheduledTime": utc(first_time(facts, now)),
        "timezone": task.schedule.zone,
        "recurrence": recurrence_of(task.schedule),
        "payload": render_payload(task.payload),
        "alertConfig": details.get("alertConfig"),
        "tags": tags_of(task),
        "metadata": details.get("metadata"),
        "sourceType": label_of(task, SOURCE_TYPE),
        "sourceId": label_of(task, SOURCE_ID),
        "nextScheduledAt": upcoming,
        "nextExecutionTime": upcoming,
        "lastExecutedAt": utc(_last_time(facts, latest)),
        "executionCount": facts.status.counted,
        "failureCount": failures_of(facts, latest),
        "maxRetries": None if task.policies.retry.attempts is None else task.policies.retry.attempts - 1,
        "currentRetries": max((each.attempt - 1 for each in facts.entries if each.kind is EntryKind.RETRY), default=0),
        "timeoutSeconds": task.policies.timeout.total_seconds(),
        "createdAt": utc(task.created),
        "updatedAt": utc(last_change(facts, latest)),
    }


def render_execution(run: Run) -> dict[str, Any]:
    """Render one row of the history: an execution, or a skipped one with its reason."""
    at = run.started or run.ended or run.due
    duration = milliseconds(None if run.started is None or run.ended is None else run.ended - run.started)
    return {
        "id": run.id,
        "taskUuid": run.task_id,
        "accountUuid": run.owner,
        "executedAt": utc(at),
        "startedAt": utc(run.started),
        "completedAt": utc(run.ended),
        "status": _RUN_STATUSES.get(run.state, "FAILED"),
        "success": run.state is RunState.SUCCEEDED,
        "reason": None if run.reason is None else run.reason.value,
        "result": result_of(run),
        "error": run.error,
        "duration": duration,
        "retryCount": run.tries - 1,
    }


def status_of(facts: Facts) -> str:
    if facts.live:
        return "RUNNING"
    return "PENDING" if _is_disabled(facts) else _STATUSES[facts.status.state]


def is_enabled(facts: Facts) -> bool:
    return not _is_disabled(facts) and facts.status.state is not TaskState.CANCELLED


def _is_disabled(facts: Facts) -> bool:
    """Return whether the client disabled the task. Their `disabled` and `paused` are both a pause here; its note tells
    them apart."""
    pause = facts.status.pause
    return pause is not None and pause.note == DISABLED


def priority_name(priority: int) -> str:
    """Return the closest of the four names; the higher one on a tie."""
    return min(reversed(PRIORITIES), key=lambda name: abs(PRIORITIES[name] - priority))


def type_of(task: Task) -> str:
    return label_of(task, TASK_TYPE) or DEFAULT_TYPE


def tags_of(task: Task) -> list[str]:
    tags = read_details(task.payload).get("tags")
    return [each for each in tags if isinstance(each, str)] if isinstance(tags, list) else []


def to_dailyuse(schedule: Schedule) -> dict[str, Any] | None:
    """Return `scheduledTime` and `recurrence`; None if their format cannot express the schedule."""
    try:
        return dailyuse.write(Translation(schedule), zone=schedule.zone or "UTC")
    except InvalidSchedule:
        return None


def recurrence_of(schedule: Schedule) -> dict[str, Any]:
    if isinstance(schedule, Now):
        return {"type": "NONE", "interval": 1}
    fields = to_dailyuse(schedule)
    if fields is not None:
        recurrence: dict[str, Any] = fields["recurrence"]
        return recurrence
    # Their clients show a custom rule by its description.
    return {"type": "CUSTOM", "interval": 1, "description": describe_schedule(schedule, "en")}


def first_time(facts: Facts, now: datetime) -> datetime:
    """Return the time that the client gave; for a task of another surface its next time, or its creation."""
    fields = to_dailyuse(facts.task.schedule)
    if fields is not None:
        return parse_span(str(fields["scheduledTime"]), facts.task.schedule.zone or "UTC", now).first
    return next_due(facts) or facts.task.created


def failures_of(facts: Facts, latest: Run | None) -> int:
    """Return the failed executions in a row. A one-time schedule is one occurrence, so its attempts count."""
    is_once = isinstance(facts.task.schedule, Once | Now)
    has_failed = latest is not None and not latest.live and _RUN_STATUSES.get(latest.state) is None
    return latest.tries if is_once and has_failed and latest is not None else facts.status.failures


def _last_time(facts: Facts, latest: Run | None) -> datetime | None:
    return latest.started if latest is not None and latest.started is not None else facts.status.last_end


_DONE: Final = {"en": "Done.", "zh": "操作成功。"}


def envelope_response(request: Request, data: Any, status: int = 200) -> Response:
    """Return the data in the envelope of `/schedules`: `success`, `code`, `message` and `data`."""
    now = app_context(request).clock.now()
    envelope = {
        "success": True,
        "code": 200,
        "message": _DONE[request_language(request)],
        "timestamp": int(now.timestamp() * 1000),
        "data": data,
    }
    return json_response(envelope, status)


async def schedule_response(
    request: Request, principal: Principal, facts: Facts, notes: tuple[Note, ...] = (), status: int = 200
) -> Response:
    """Respond with one schedule under two names: their server used `task`, and their clients read `schedule`."""
    (rendered,) = await render_schedules(request, principal, [facts])
    if notes:
        rendered["warnings"] = render_notes(notes, request_language(request))
    return envelope_response(request, {"task": rendered, "schedule": rendered}, status)


async def render_schedules(request: Request, principal: Principal, tasks: list[Facts]) -> list[dict[str, Any]]:
    context = app_context(request)
    now = context.clock.now()
    latest = await latest_runs(context.service, principal, tasks)
    return [render_schedule(each, latest.get(each.task.id), now) for each in tasks]
