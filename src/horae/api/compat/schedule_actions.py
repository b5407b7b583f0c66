"""Actions on schedules of `/schedules`: run, enable, disable, pause, resume, snooze, one by one or in a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ...choices import Language
from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.task import TaskState
from ...schedule import Once
from ...service.service import Service
from ...service.tasks.edits import Edits
from ...web.authentication import Who
from ...web.body import json_body, json_body_or_none
from ...web.idempotency import Ids, remember, repeatable
from ...web.language import language
from ...web.request_context import house_of
from ...wire.fields import check_fields
from ...wire.tasks import next_due
from .edit_and_enable import edit_and_switch, hold
from .envelope import enclosed, enclosed_task, shown_tasks
from .labels import DISABLED, UPDATED, labelled
from .openapi import said
from .own_tasks import gathered, own, remove
from .refusals import refuse
from .routers import surface
from .schedule_json import PRIORITIES, STATUSES, priority_name, status_of, type_of
from .schedule_lists import Limit, upcoming_shown
from .schedule_reminders import happens_once, once_more, read_snooze

router: Final = surface("/schedules", "schedules")
EXAMPLE: Final = {"taskUuids": ["tsk_0199f3a1b2c3d4e5f60718293a4b5c6d"], "operation": "pause"}
MOST_AT_ONCE: Final = 1_000
_MAX_MINUTES_AHEAD: Final = 366 * 24 * 60
_REFUSED_BEFORE: Final[dict[Language, str]] = {
    "en": "Refused when this request was first done.",
    "zh": "首次执行该请求时已被拒绝。",
}
Operation: TypeAlias = Callable[[Service, Principal, str], Awaitable[object]]


@router.get(
    "/upcoming", **said("list_upcoming_schedules", "What comes due within the next minutes", "UpcomingSchedules")
)
async def upcoming(
    request: Request,
    principal: Who,
    withinMinutes: Annotated[int, Query(ge=1, le=_MAX_MINUTES_AHEAD)] = 60,  # noqa: N803 - the surface's own name
    limit: Limit = 100,
) -> Response:
    context = house_of(request)
    now = context.clock.now()
    until = now + timedelta(minutes=withinMinutes)
    with_due = ((each, next_due(each)) for each in await context.service.tasks.upcoming(own(principal), limit))
    tasks = [upcoming_shown(each, due, now) for each, due in with_due if due is not None and due <= until]
    data = {"tasks": tasks, "withinHours": withinMinutes / 60, "queryTime": now.isoformat()}
    return enclosed(request, data)


@router.get(
    "/statistics",
    **said(
        "get_schedule_statistics", "Numbers by state, type and priority, and the success rate", "ScheduleStatistics"
    ),
)
async def statistics(request: Request, principal: Who) -> Response:
    service = house_of(request).service
    tasks = await gathered(service, principal)
    states = Counter(status_of(each) for each in tasks)
    outcomes = (await service.overview.now(own(principal))).outcomes
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
    return enclosed(request, data)


async def _replay_batch(request: Request, _who: Principal, ids: Ids) -> Response:
    done, refused = ids["done"], ids["refused"]
    failed = [{"taskUuid": uuid, "error": _REFUSED_BEFORE[language(request)]} for uuid in refused]
    summary = {"total": len(done) + len(failed), "success": len(done), "failed": len(failed)}
    return enclosed(request, {"success": done, "failed": failed, "summary": summary})


async def _replay_execution(request: Request, _who: Principal, ids: Ids) -> Response:
    return _execution_response(request, ids["run"], ids["at"])


async def _replay_schedule(request: Request, principal: Principal, ids: Ids) -> Response:
    tasks = house_of(request).service.tasks
    facts = await tasks.get(own(principal), request.path_params["uuid"])
    if "snoozed" not in ids:
        return await enclosed_task(request, principal, facts)
    rendered = await shown_tasks(request, principal, [facts, await tasks.get(own(principal), ids["snoozed"])])
    return enclosed(request, {"task": rendered[0], "schedule": rendered[0], "snoozed": rendered[1]})


@router.post(
    "/batch",
    **said(
        "batch_schedules", "One operation for many schedules", "BatchResult", request_body="Batch", example=EXAMPLE, idempotent=True
    ),
)
@repeatable(Scope.WRITE, _replay_batch)
async def batch(request: Request, principal: Who) -> Response:
    body = check_fields("batch", await json_body(request), ("taskUuids", "operation"))
    uuids, operation = body.get("taskUuids"), OPERATIONS.get(str(body.get("operation")))
    if operation is None:
        allowed = ", ".join(OPERATIONS)
        raise refuse("compat_bad_field", name="operation", value=body.get("operation"), wanted=allowed)
    if not isinstance(uuids, list) or len(uuids) > MOST_AT_ONCE:
        allowed = f"a list of at most {MOST_AT_ONCE} ids"
        raise refuse("compat_bad_field", name="taskUuids", value=type(uuids).__name__, wanted=allowed)
    done: list[str] = []
    failed: list[dict[str, Any]] = []
    for uuid in uuids:
        try:
            await operation(house_of(request).service, principal, uuid)
            done.append(uuid)
        except Refusal as refusal:
            failed.append({"taskUuid": uuid, "error": refusal.in_language(language(request)).message})
    remember(request, done=done, refused=[each["taskUuid"] for each in failed])
    summary = {"total": len(uuids), "success": len(done), "failed": len(failed)}
    return enclosed(request, {"success": done, "failed": failed, "summary": summary})


@router.post(
    "/{uuid}/execute",
    **said(
        "execute_schedule",
        "Run it now, once; its times stay as they are",
        "Execution",
        request_body="Execute",
        optional=True,
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.RUN, _replay_execution)
async def execute(uuid: str, request: Request, principal: Who) -> Response:
    check_fields("execute", await json_body_or_none(request) or {}, ("taskUuid", "force", "overrides"))
    context = house_of(request)
    run = await context.service.tasks.run_now(own(principal), uuid)
    at = context.clock.now().isoformat()
    remember(request, run=run, at=at)
    return _execution_response(request, run, at)


@router.post(
    "/{uuid}/enable", **said("enable_schedule", "Enable a schedule", "ScheduleAnswer", problems=(404,), idempotent=True)
)
@repeatable(Scope.WRITE, _replay_schedule)
async def enable(uuid: str, request: Request, principal: Who) -> Response:
    return await _apply(uuid, request, principal, _resume)


@router.post(
    "/{uuid}/disable", **said("disable_schedule", "Disable a schedule", "ScheduleAnswer", problems=(404,), idempotent=True)
)
@repeatable(Scope.WRITE, _replay_schedule)
async def disable(uuid: str, request: Request, principal: Who) -> Response:
    return await _apply(uuid, request, principal, _disable)


@router.post(
    "/{uuid}/pause", **said("pause_schedule", "Pause a schedule", "ScheduleAnswer", problems=(404,), idempotent=True)
)
@repeatable(Scope.WRITE, _replay_schedule)
async def pause(uuid: str, request: Request, principal: Who) -> Response:
    return await _apply(uuid, request, principal, _pause)


@router.post(
    "/{uuid}/resume",
    **said(
        "resume_schedule",
        "Resume a schedule; missed times are not made up for",
        "ScheduleAnswer",
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_schedule)
async def resume(uuid: str, request: Request, principal: Who) -> Response:
    return await _apply(uuid, request, principal, _resume)


@router.post(
    "/{uuid}/snooze",
    **said(
        "snooze_schedule",
        "Snooze: run once more, after the given minutes",
        "ScheduleAnswer",
        request_body="Snooze",
        example={"snoozeMinutes": 10},
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_schedule)
async def snooze(uuid: str, request: Request, principal: Who) -> Response:
    """Move a one-time schedule; a recurring one keeps its times, and one extra reminder is created."""
    context, now = house_of(request), house_of(request).clock.now()
    facts = await context.service.tasks.get(own(principal), uuid)
    task = facts.task
    at = now + read_snooze(await json_body(request), task)
    if happens_once(task):
        edits = Edits(when=Once(at, zone=task.schedule.zone), labels=labelled(task, {UPDATED: now.isoformat()}))
        is_active = facts.status.state is TaskState.ACTIVE
        after = await edit_and_switch(context.service, principal, facts, edits, enabled=None if is_active else True)
        return await enclosed_task(request, principal, after)
    extra = await context.service.tasks.create(own(principal), once_more(task, at, now))
    remember(request, snoozed=extra.id)
    rendered = await shown_tasks(request, principal, [facts, await context.service.tasks.get(own(principal), extra.id)])
    return enclosed(request, {"task": rendered[0], "schedule": rendered[0], "snoozed": rendered[1]})


def _execution_response(request: Request, run: str, at: str) -> Response:
    uuid = request.path_params["uuid"]
    result = {"success": True, "taskUuid": uuid, "executionUuid": run, "status": "PENDING", "requestedAt": at}
    return enclosed(request, {"executionResult": result})


async def _apply(uuid: str, request: Request, principal: Principal, operation: Operation) -> Response:
    """Run an operation and respond with the schedule; a body is allowed and ignored."""
    service = house_of(request).service
    await operation(service, principal, uuid)
    return await enclosed_task(request, principal, await service.tasks.get(own(principal), uuid))


async def _resume(service: Service, principal: Principal, uuid: str) -> object:
    return await service.tasks.resume(own(principal), uuid)


async def _disable(service: Service, principal: Principal, uuid: str) -> object:
    return await hold(service, principal, uuid, DISABLED)


async def _pause(service: Service, principal: Principal, uuid: str) -> object:
    return await hold(service, principal, uuid, "")


async def _cancel(service: Service, principal: Principal, uuid: str) -> object:
    return await service.tasks.cancel(own(principal), uuid)


OPERATIONS: Final[dict[str, Operation]] = {
    "enable": _resume,
    "disable": _disable,
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "delete": remove,
}
