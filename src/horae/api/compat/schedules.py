"""`/schedules`: create, list, get, change and remove schedules and reminders of one account."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.run import Run
from ...model.task import Task
from ...ports.store import RunFilter, TaskFilter
from ...service.own_tasks import delete_or_cancel, edit_and_enable, list_own_tasks, pause_task, without_admin
from ...web.body import read_json_body
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.parameters import Body, Query
from ...web.request_context import AppContext, app_context
from .routes import TaskUuid, compat_operation, compat_routes
from .schedule_json import envelope_response, render_execution, render_schedules, schedule_response
from .schedule_lists import Limit, Name, Page, TextList, parse_filter, sort_by_due, source_labels
from .schedule_requests import NewSchedule, read_changes, read_new, read_reminder

routes: Final = compat_routes("/schedules", "schedules")
EXAMPLE: Final = {
    "title": "Daily stand-up",
    "taskType": "TASK_REMINDER",
    "priority": "HIGH",
    "scheduledTime": "2027-01-04T09:00:00+08:00",
    "timezone": "Asia/Shanghai",
    "recurrence": {"type": "DAILY", "interval": 1},
    "payload": {"sourceType": "reminder", "sourceId": "tpl-1"},
    "alertConfig": {"methods": ["POPUP"], "allowSnooze": True},
}
REMINDER: Final = {"title": "Tea", "message": "It is ready", "reminderTime": "2027-01-04T09:05:00Z"}


@routes.get("", compat_operation("list_schedules", "Your schedules, the next to run first", "ScheduleList"))
async def list_schedules(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    *,
    status: TextList = None,
    taskType: TextList = None,  # noqa: N803 - the surface's own name
    enabled: Annotated[bool | None, Query()] = None,
    tags: TextList = None,
    page: Page = 1,
    limit: Limit = 50,
) -> Response:
    listing = parse_filter(status, taskType, tags, enabled=enabled)
    own_tasks = await list_own_tasks(app_context(request).service, principal)
    matching = sort_by_due([each for each in own_tasks if listing.matches(each)], app_context(request).clock.now())
    offset = (page - 1) * limit
    rendered = await render_schedules(request, principal, matching[offset : offset + limit])
    has_more = offset + limit < len(matching)
    data = {
        "tasks": rendered,
        "schedules": rendered,
        "total": len(matching),
        "page": page,
        "limit": limit,
        "hasMore": has_more,
    }
    return envelope_response(request, data)


async def _replay_schedule(request: Request, principal: Principal, ids: Ids) -> Response:
    return await _replay_created(request, principal, ids["id"], await read_json_body(request))


async def _replay_reminder(request: Request, principal: Principal, ids: Ids) -> Response:
    return await _replay_created(request, principal, ids["id"], read_reminder(await read_json_body(request)))


async def _replay_created(request: Request, principal: Principal, task_id: str, body: object) -> Response:
    context = app_context(request)
    facts = await context.service.tasks.get(without_admin(principal), task_id)
    try:
        notes = read_new(body, principal.owner, zone_of(context, principal), context.clock.now()).notes
    except Refusal:
        # The body names a time that has passed since.
        notes = ()
    return await schedule_response(request, principal, facts, notes, 201)


@routes.post(
    "",
    compat_operation(
        "create_schedule",
        "Make a schedule",
        "ScheduleAnswer",
        status=201,
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_schedule)
async def create_schedule(
    request: Request, principal: Principal, body: Annotated[Any, Body("NewSchedule", example=EXAMPLE)]
) -> Response:
    context = app_context(request)
    parsed = read_new(body, principal.owner, zone_of(context, principal), context.clock.now())
    return await _create(request, principal, parsed)


@routes.post(
    "/quick-reminder",
    compat_operation(
        "create_quick_reminder",
        "Make a reminder",
        "ScheduleAnswer",
        status=201,
    ),
)
@idempotent(Scope.WRITE, _replay_reminder)
async def create_quick_reminder(
    request: Request, principal: Principal, body: Annotated[Any, Body("QuickReminder", example=REMINDER)]
) -> Response:
    context = app_context(request)
    body = read_reminder(body)
    return await _create(
        request, principal, read_new(body, principal.owner, zone_of(context, principal), context.clock.now())
    )


@routes.delete(
    "",
    compat_operation("remove_schedules_of_source", "Remove all schedules of one source", "ScheduleRemoval"),
)
async def remove_by_source(
    request: Request,
    principal: Principal,
    *,
    sourceType: Name = None,  # noqa: N803 - the surface's own names
    sourceModule: Name = None,  # noqa: N803
    sourceId: Name = None,  # noqa: N803
    sourceEntityId: Name = None,  # noqa: N803
) -> Response:
    source = source_labels(sourceType or sourceModule, sourceId or sourceEntityId)
    # Checked also when there is nothing to remove.
    principal.require_scope(Scope.WRITE)
    service = app_context(request).service
    removed: list[str] = []

    async def remove_one(task: Task) -> None:
        await delete_or_cancel(service, principal, task.id)
        removed.append(task.id)

    report = await service.bulk.each(without_admin(principal), TaskFilter(principal.owner, labels=source), remove_one)
    failed = [
        _failure(each.task.id, each.refusal.in_language(request_language(request)).message) for each in report.refused
    ]
    return envelope_response(request, {"removed": report.done, "taskUuids": removed[:1_000], "failed": failed})


@routes.get(
    "/execution-history",
    compat_operation("list_schedule_executions", "Your newest executions", "ScheduleHistory"),
)
async def all_history(request: Request, principal: Principal, limit: Limit = 50) -> Response:
    page = await app_context(request).service.runs.page(
        without_admin(principal), RunFilter(principal.owner), limit=limit
    )
    return _history_response(request, page.items, more=page.after is not None)


@routes.get("/{uuid}", compat_operation("get_schedule", "One schedule", "ScheduleAnswer", problems=(404,)))
async def get_schedule(request: Request, principal: Principal, uuid: TaskUuid) -> Response:
    return await schedule_response(
        request, principal, await app_context(request).service.tasks.get(without_admin(principal), uuid)
    )


@routes.put(
    "/{uuid}",
    compat_operation(
        "update_schedule",
        "Change what is given; the rest stays",
        "ScheduleAnswer",
        problems=(404, 409),
    ),
)
async def update_schedule(
    request: Request,
    principal: Principal,
    uuid: TaskUuid,
    body: Annotated[Any, Body("NewSchedule", example={"priority": "HIGH"})],
) -> Response:
    context = app_context(request)
    before = await context.service.tasks.get(without_admin(principal), uuid)
    changes = read_changes(body, before, zone_of(context, principal), context.clock.now())
    enabled = True if changes.enabled is None and changes.status == "PENDING" else changes.enabled
    after = await edit_and_enable(context.service, principal, before, changes.edits, enabled=enabled)
    if changes.status == "PAUSED":
        after = await pause_task(context.service, principal, uuid, "")
    if changes.status == "CANCELLED":
        after = await context.service.tasks.cancel(without_admin(principal), uuid)
    return await schedule_response(request, principal, after, changes.notes)


@routes.delete(
    "/{uuid}",
    compat_operation("delete_schedule", "Remove a schedule with its history", "ScheduleGone", problems=(404, 409)),
)
async def delete_schedule(request: Request, principal: Principal, uuid: TaskUuid) -> Response:
    await delete_or_cancel(app_context(request).service, principal, uuid)
    return envelope_response(request, None)


@routes.get(
    "/{uuid}/history",
    compat_operation("list_executions_of_schedule", "Its newest executions", "ScheduleHistory", problems=(404,)),
)
async def history(request: Request, principal: Principal, uuid: TaskUuid, limit: Limit = 50) -> Response:
    service = app_context(request).service
    await service.tasks.get(without_admin(principal), uuid)
    page = await service.runs.page(without_admin(principal), RunFilter(principal.owner, uuid), limit=limit)
    return _history_response(request, page.items, more=page.after is not None)


def zone_of(context: AppContext, principal: Principal) -> str:
    """Return the zone for days and times without an offset: the owner's, or the deployment's. Responses show it."""
    return principal.zone or context.service.zone or "UTC"


async def _create(request: Request, principal: Principal, parsed: NewSchedule) -> Response:
    tasks = app_context(request).service.tasks
    task = await tasks.create(without_admin(principal), parsed.request, paused=parsed.paused)
    store_ids(request, id=task.id)
    return await schedule_response(
        request, principal, await tasks.get(without_admin(principal), task.id), parsed.notes, 201
    )


def _history_response(request: Request, runs: tuple[Run, ...], *, more: bool) -> Response:
    rendered = [render_execution(each) for each in runs]
    return envelope_response(request, {"history": rendered, "total": len(rendered), "hasMore": more})


def _failure(uuid: str, error: str) -> dict[str, str]:
    return {"taskUuid": uuid, "error": error}
