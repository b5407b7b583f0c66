"""Actions on schedules of `/schedules`: run, enable, disable, pause, resume, snooze, one by one or in a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from ...choices import Language
from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.task import TaskState
from ...schedule import Once
from ...service.own_tasks import DISABLED, delete_or_cancel, edit_and_enable, list_own_tasks, pause_task, without_admin
from ...service.service import Service
from ...service.tasks.edits import Edits
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.parameters import Body, Query
from ...web.request_context import app_context
from ...wire.fields import check_fields
from ...wire.tasks.task import next_due
from ...wire.tasks.text_tasks import UPDATED, with_labels
from .refusals import refuse
from .routes import TaskUuid, compat_operation, compat_routes
from .schedule_json import (
    PRIORITIES,
    STATUSES,
    envelope_response,
    priority_name,
    render_schedules,
    schedule_response,
    status_of,
    type_of,
)
from .schedule_lists import Limit, render_upcoming
from .schedule_requests import extra_reminder, is_one_time, read_snooze

routes: Final = compat_routes("/schedules", "schedules")
EXAMPLE: Final = {"taskUuids": ["tsk_0199f3a1b2c3d4e5f60718293a4b5c6d"], "operation": "pause"}
MAX_BATCH: Final = 1_000
_MAX_MINUTES_AHEAD: Final = 366 * 24 * 60
_REFUSED_BEFORE: Final[dict[Language, str]] = {
    "en": "Refused when this request was first done.",
    "zh": "首次执行该请求时已被拒绝。",
}
Operation: TypeAlias = Callable[[Service, Principal, str], Awaitable[object]]


@routes.get(
    "/upcoming",
    compat_operation("list_upcoming_schedules", "What comes due within the next minutes", "UpcomingSchedules"),
)
async def upcoming(
    request: Request,
    principal: Principal,
    withinMinutes: Annotated[int, Query(minimum=1, maximum=_MAX_MINUTES_AHEAD)] = 60,  # noqa: N803 - the surface's own name
    limit: Limit = 100,
) -> Response:
    context = app_context(request)
    now = context.clock.now()
    until = now + timedelta(minutes=withinMinutes)
    with_due = (
        (each, next_due(each)) for each in await context.service.tasks.upcoming(without_admin(principal), limit)
    )
    tasks = [render_upcoming(each, due, now) for each, due in with_due if due is not None and due <= until]
    data = {"tasks": tasks, "withinHours": withinMinutes / 60, "queryTime": now.isoformat()}
    return envelope_response(request, data)


@routes.get(
    "/statistics",
    compat_operation(
        "get_schedule_statistics", "Numbers by state, type and priority, and the success rate", "ScheduleStatistics"
    ),
)
async def statistics(request: Request, principal: Principal) -> Response:
    service = app_context(request).service
    tasks = await list_own_tasks(service, principal)
    states = Counter(status_of(each) for each in tasks)
    outcomes = (await service.overview.now(without_admin(principal))).outcomes
    good = outcomes.get("succeeded", 0)
    ended = good + sum(outcomes.get(name, 0) for name in ("failed", "timed_out", "lost"))
    data = {
        "totalTasks": len(tasks),
        "activeTasks": states["PENDING"] + states["RUNNING"],
        "completedTasks": states["COMPLETED"],
        "failedTasks": states["FAILED"],
        "byStatus": {name: states[name] for name in STATUSES},
        "byType": dict(Counter(type_of(each.task) for each in tasks)),
        "byPriority": dict.fromkeys(PRIORITIES, 0)
        | Counter(priority_name(each.task.policies.priority) for each in tasks),
        "successRate": good / ended if ended else None,
    }
    return envelope_response(request, data)


async def _replay_batch(request: Request, _principal: Principal, ids: Ids) -> Response:
    done, refused = ids["done"], ids["refused"]
    failed = [{"taskUuid": uuid, "error": _REFUSED_BEFORE[request_language(request)]} for uuid in refused]
    summary = {"total": len(done) + len(failed), "success": len(done), "failed": len(failed)}
    return envelope_response(request, {"success": done, "failed": failed, "summary": summary})


async def _replay_execution(request: Request, _principal: Principal, ids: Ids) -> Response:
    return _execution_response(request, ids["run"], ids["at"])


async def _replay_schedule(request: Request, principal: Principal, ids: Ids) -> Response:
    tasks = app_context(request).service.tasks
    facts = await tasks.get(without_admin(principal), request.path_params["uuid"])
    if "snoozed" not in ids:
        return await schedule_response(request, principal, facts)
    rendered = await render_schedules(
        request, principal, [facts, await tasks.get(without_admin(principal), ids["snoozed"])]
    )
    return envelope_response(request, {"task": rendered[0], "schedule": rendered[0], "snoozed": rendered[1]})


@routes.post(
    "/batch",
    compat_operation(
        "batch_schedules",
        "One operation for many schedules",
        "BatchResult",
    ),
)
@idempotent(Scope.WRITE, _replay_batch)
async def batch(
    request: Request, principal: Principal, body: Annotated[Any, Body("Batch", example=EXAMPLE)]
) -> Response:
    body = check_fields("batch", body, ("taskUuids", "operation"))
    uuids, operation = body.get("taskUuids"), OPERATIONS.get(str(body.get("operation")))
    if operation is None:
        allowed = ", ".join(OPERATIONS)
        raise refuse("compat_bad_field", name="operation", value=body.get("operation"), wanted=allowed)
    if not isinstance(uuids, list) or len(uuids) > MAX_BATCH:
        allowed = f"a list of at most {MAX_BATCH} ids"
        raise refuse("compat_bad_field", name="taskUuids", value=type(uuids).__name__, wanted=allowed)
    done: list[str] = []
    failed: list[dict[str, Any]] = []
    for uuid in uuids:
        try:
            await operation(app_context(request).service, principal, uuid)
            done.append(uuid)
        except Refusal as refusal:
            failed.append({"taskUuid": uuid, "error": refusal.in_language(request_language(request)).message})
    store_ids(request, done=done, refused=[each["taskUuid"] for each in failed])
    summary = {"total": len(uuids), "success": len(done), "failed": len(failed)}
    return envelope_response(request, {"success": done, "failed": failed, "summary": summary})


@routes.post(
    "/{uuid}/execute",
    compat_operation(
        "execute_schedule",
        "Run it now, once; its times stay as they are",
        "Execution",
        problems=(404,),
    ),
)
@idempotent(Scope.RUN, _replay_execution)
async def execute(
    request: Request, principal: Principal, uuid: TaskUuid, body: Annotated[Any, Body("Execute", optional=True)]
) -> Response:
    check_fields("execute", body, ("taskUuid", "force", "overrides"))
    context = app_context(request)
    run = await context.service.tasks.run_now(without_admin(principal), uuid)
    at = context.clock.now().isoformat()
    store_ids(request, run=run, at=at)
    return _execution_response(request, run, at)


@routes.post(
    "/{uuid}/enable",
    compat_operation("enable_schedule", "Enable a schedule", "ScheduleAnswer", problems=(404,)),
)
@idempotent(Scope.WRITE, _replay_schedule)
async def enable(request: Request, principal: Principal, uuid: TaskUuid) -> Response:
    return await _apply(request, principal, uuid, _resume)


@routes.post(
    "/{uuid}/disable",
    compat_operation("disable_schedule", "Disable a schedule", "ScheduleAnswer", problems=(404,)),
)
@idempotent(Scope.WRITE, _replay_schedule)
async def disable(request: Request, principal: Principal, uuid: TaskUuid) -> Response:
    return await _apply(request, principal, uuid, _disable)


@routes.post(
    "/{uuid}/pause",
    compat_operation("pause_schedule", "Pause a schedule", "ScheduleAnswer", problems=(404,)),
)
@idempotent(Scope.WRITE, _replay_schedule)
async def pause(request: Request, principal: Principal, uuid: TaskUuid) -> Response:
    return await _apply(request, principal, uuid, _pause)


@routes.post(
    "/{uuid}/resume",
    compat_operation(
        "resume_schedule",
        "Resume a schedule; missed times are not made up for",
        "ScheduleAnswer",
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_schedule)
async def resume(request: Request, principal: Principal, uuid: TaskUuid) -> Response:
    return await _apply(request, principal, uuid, _resume)


@routes.post(
    "/{uuid}/snooze",
    compat_operation(
        "snooze_schedule",
        "Snooze: run once more, after the given minutes",
        "ScheduleAnswer",
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_schedule)
async def snooze(
    request: Request,
    principal: Principal,
    uuid: TaskUuid,
    body: Annotated[Any, Body("Snooze", example={"snoozeMinutes": 10})],
) -> Response:
    """Move a one-time schedule; a recurring one keeps its times, and one extra reminder is created."""
    context, now = app_context(request), app_context(request).clock.now()
    facts = await context.service.tasks.get(without_admin(principal), uuid)
    task = facts.task
    at = now + read_snooze(body, task)
    if is_one_time(task):
        edits = Edits(when=Once(at, zone=task.schedule.zone), labels=with_labels(task, {UPDATED: now.isoformat()}))
        is_active = facts.status.state is TaskState.ACTIVE
        after = await edit_and_enable(context.service, principal, facts, edits, enabled=None if is_active else True)
        return await schedule_response(request, principal, after)
    extra = await context.service.tasks.create(without_admin(principal), extra_reminder(task, at, now))
    store_ids(request, snoozed=extra.id)
    rendered = await render_schedules(
        request, principal, [facts, await context.service.tasks.get(without_admin(principal), extra.id)]
    )
    return envelope_response(request, {"task": rendered[0], "schedule": rendered[0], "snoozed": rendered[1]})


def _execution_response(request: Request, run: str, at: str) -> Response:
    uuid = request.path_params["uuid"]
    result = {"success": True, "taskUuid": uuid, "executionUuid": run, "status": "PENDING", "requestedAt": at}
    return envelope_response(request, {"executionResult": result})


async def _apply(request: Request, principal: Principal, uuid: str, operation: Operation) -> Response:
    """Run an operation and respond with the schedule; a body is allowed and ignored."""
    service = app_context(request).service
    await operation(service, principal, uuid)
    return await schedule_response(request, principal, await service.tasks.get(without_admin(principal), uuid))


async def _resume(service: Service, principal: Principal, uuid: str) -> object:
    return await service.tasks.resume(without_admin(principal), uuid)


async def _disable(service: Service, principal: Principal, uuid: str) -> object:
    return await pause_task(service, principal, uuid, DISABLED)


async def _pause(service: Service, principal: Principal, uuid: str) -> object:
    return await pause_task(service, principal, uuid, "")


async def _cancel(service: Service, principal: Principal, uuid: str) -> object:
    return await service.tasks.cancel(without_admin(principal), uuid)


OPERATIONS: Final[dict[str, Operation]] = {
    "enable": _resume,
    "disable": _disable,
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "delete": delete_or_cancel,
}
