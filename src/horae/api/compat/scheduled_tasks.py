"""`/scheduled-tasks`: the caller's own tasks, which an orchestrator executes, and their newest runs."""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.task import TaskState
from ...ports.store import RunFilter
from ...schedule.compat import Note
from ...service.own_tasks import (
    DISABLED,
    VISIBLE_STATES,
    delete_or_cancel,
    edit_and_enable,
    get_own_task,
    latest_runs,
    list_own_tasks,
    without_admin,
)
from ...service.service import Service
from ...web.body import read_json_body
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.parameters import Body
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from .refusals import NOTHING_LEFT, render_notes
from .routes import TaskUuid, compat_operation, compat_routes
from .scheduled_task_json import SHOWN_RUNS, leases_of, render_run, render_task
from .scheduled_task_requests import read_changes, read_new

routes: Final = compat_routes(
    "/scheduled-tasks",
    "scheduled-tasks",
    {"compat_bad_seconds": 400, "interval_too_short": 400, "too_many_tasks": 409},
)
browser_routes: Final = RouteGroup("/scheduled-tasks", "scheduled-tasks", authenticated=False)
MAX_RUNS: Final = 50
MAX_LISTED: Final = 1_000
EXAMPLE: Final = {
    "name": "demo interval",
    "schedule_type": "interval",
    "schedule_expr": "60",
    "timezone": "UTC",
    "payload": {"text": "remind me to clock in", "context": {"channel": "scheduled_task"}},
}


@browser_routes.get("/console")
async def open_console(request: Request) -> Response:
    """Redirect a browser to the simple view of the console, which asks for a sign-in of its own."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/scheduled-tasks/console/", 307)


@routes.get("", compat_operation("list_scheduled_tasks", "Your tasks, the last changed first", "ScheduledTasks"))
async def list_tasks(request: Request, principal: Principal) -> Response:
    context = app_context(request)
    tasks = await list_own_tasks(context.service, principal, VISIBLE_STATES)
    rendered = await _render_tasks(context.service, principal, tasks, context.clock.now())
    return json_response(sorted(rendered, key=itemgetter("updated_at"), reverse=True)[:MAX_LISTED])


async def _replay_task(request: Request, principal: Principal, ids: Ids) -> Response:
    context = app_context(request)
    facts = await context.service.tasks.get(without_admin(principal), ids["id"])
    try:
        notes = read_new(await read_json_body(request), context.settings.orchestrator, context.clock.now()).notes
    except Refusal:
        # The body names a time that has passed since.
        notes = ()
    return await _respond(request, principal, facts, notes)


@routes.post(
    "",
    compat_operation(
        "create_scheduled_task",
        "Make a task",
        "ScheduledTask",
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def create_task(
    request: Request, principal: Principal, body: Annotated[Any, Body("NewScheduledTask", example=EXAMPLE)]
) -> Response:
    context = app_context(request)
    parsed = read_new(body, context.settings.orchestrator, context.clock.now())
    paused = None if parsed.enabled else DISABLED
    task = await context.service.tasks.create(without_admin(principal), parsed.request, paused=paused)
    store_ids(request, id=task.id)
    return await _respond(
        request, principal, await context.service.tasks.get(without_admin(principal), task.id), parsed.notes
    )


@routes.get(
    "/{task_id}",
    compat_operation("get_scheduled_task", "One of your tasks", "ScheduledTask", problems=(404,)),
)
async def get_task(request: Request, principal: Principal, task_id: TaskUuid) -> Response:
    return await _respond(request, principal, await get_own_task(app_context(request).service, principal, task_id))


@routes.put(
    "/{task_id}",
    compat_operation(
        "update_scheduled_task",
        "Change what is given; the rest stays",
        "ScheduledTask",
        problems=(404, 409),
    ),
)
async def update_task(
    request: Request,
    principal: Principal,
    task_id: TaskUuid,
    body: Annotated[Any, Body("ScheduledTaskChange", example={"enabled": False})],
) -> Response:
    """Change the given fields. A new schedule counts from now. Clients need not clear a lock: an expired lease holds
    nothing, and a live one stays."""
    context = app_context(request)
    before = await get_own_task(context.service, principal, task_id)
    changes = read_changes(body, before, context.clock.now())
    after = await edit_and_enable(context.service, principal, before, changes.edits, enabled=changes.enabled)
    is_over = changes.enabled and after.status.state is TaskState.COMPLETED
    return await _respond(request, principal, after, (*changes.notes, *((NOTHING_LEFT,) if is_over else ())))


@routes.delete(
    "/{task_id}",
    compat_operation("delete_scheduled_task", "Remove a task with its runs", "ScheduledTaskGone", problems=(404, 409)),
)
async def delete_task(request: Request, principal: Principal, task_id: TaskUuid) -> Response:
    service = app_context(request).service
    await get_own_task(service, principal, task_id)
    await delete_or_cancel(service, principal, task_id)
    return json_response({"ok": True})


@routes.get(
    "/{task_id}/runs",
    compat_operation("list_scheduled_task_runs", "The newest 50 runs of a task", "ScheduledTaskRuns", problems=(404,)),
)
async def list_runs(request: Request, principal: Principal, task_id: TaskUuid) -> Response:
    service = app_context(request).service
    target = (await get_own_task(service, principal, task_id)).task.target
    run_filter = RunFilter(principal.owner, task_id, SHOWN_RUNS)
    page = await service.runs.page(without_admin(principal), run_filter, limit=MAX_RUNS)
    return json_response(
        sorted((render_run(each, target) for each in page.items), key=itemgetter("started_at"), reverse=True)
    )


async def _respond(request: Request, principal: Principal, facts: Facts, notes: tuple[Note, ...] = ()) -> Response:
    context = app_context(request)
    (rendered,) = await _render_tasks(context.service, principal, [facts], context.clock.now())
    return json_response(
        {**rendered, "warnings": render_notes(notes, request_language(request))} if notes else rendered
    )


async def _render_tasks(
    service: Service, principal: Principal, tasks: list[Facts], now: datetime
) -> list[dict[str, Any]]:
    latest = await latest_runs(service, principal, tasks)
    leases = await leases_of(service, tasks)
    return [render_task(each, latest.get(each.task.id), leases.get(each.task.id), now) for each in tasks]
