"""`/scheduled-tasks`: the caller's own tasks, which an orchestrator executes, and their newest runs."""

from __future__ import annotations

from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.refusals import refuse
from ...model.task import TaskState
from ...ports.store import RunFilter
from ...schedule.compat import Note
from ...service.service import Service
from ...web.authentication import Who
from ...web.body import json_body
from ...web.idempotency import Ids, remember, repeatable
from ...web.language import language
from ...web.request_context import house_of
from ...web.responses import answer
from .edit_and_enable import edit_and_switch
from .labels import DISABLED
from .leases import leases_of
from .notices import NOTHING_LEFT, told
from .openapi import said
from .own_tasks import KNOWN, gathered, latest_runs, own, remove
from .routers import ScheduledTaskRoute, surface
from .scheduled_task_json import SHOWN_RUNS, run_shown, task_shown
from .scheduled_task_requests import read_changes, read_new

router: Final = surface("/scheduled-tasks", "scheduled-tasks", ScheduledTaskRoute)
NEWEST_RUNS: Final = 50
MOST_LISTED: Final = 1_000
EXAMPLE: Final = {
    "name": "demo interval",
    "schedule_type": "interval",
    "schedule_expr": "60",
    "timezone": "UTC",
    "payload": {"text": "remind me to clock in", "context": {"channel": "scheduled_task"}},
}


@router.get("", **said("list_scheduled_tasks", "Your tasks, the last changed first", "ScheduledTasks"))
async def list_tasks(request: Request, principal: Who) -> Response:
    context = house_of(request)
    tasks = await gathered(context.service, principal, KNOWN)
    rendered = await _render_tasks(context.service, principal, tasks, context.clock.now())
    return answer(sorted(rendered, key=itemgetter("updated_at"), reverse=True)[:MOST_LISTED])


async def _replay_task(request: Request, principal: Principal, ids: Ids) -> Response:
    context = house_of(request)
    facts = await context.service.tasks.get(own(principal), ids["id"])
    try:
        notes = read_new(await json_body(request), context.settings.orchestrator, context.clock.now()).notes
    except Refusal:
        # The body names a time that has passed since.
        notes = ()
    return await _respond(request, principal, facts, notes)


@router.post(
    "",
    **said(
        "create_scheduled_task",
        "Make a task",
        "ScheduledTask",
        request_body="NewScheduledTask",
        example=EXAMPLE,
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_task)
async def create_task(request: Request, principal: Who) -> Response:
    context = house_of(request)
    parsed = read_new(await json_body(request), context.settings.orchestrator, context.clock.now())
    paused = None if parsed.enabled else DISABLED
    task = await context.service.tasks.create(own(principal), parsed.request, paused=paused)
    remember(request, id=task.id)
    return await _respond(request, principal, await context.service.tasks.get(own(principal), task.id), parsed.notes)


@router.get("/{task_id}", **said("get_scheduled_task", "One of your tasks", "ScheduledTask", problems=(404,)))
async def get_task(task_id: str, request: Request, principal: Who) -> Response:
    return await _respond(request, principal, await _load_known(house_of(request).service, principal, task_id))


@router.put(
    "/{task_id}",
    **said(
        "update_scheduled_task",
        "Change what is given; the rest stays",
        "ScheduledTask",
        request_body="ScheduledTaskChange",
        example={"enabled": False},
        problems=(404, 409),
    ),
)
async def update_task(task_id: str, request: Request, principal: Who) -> Response:
    """Change the given fields. A new schedule counts from now. Clients need not clear a lock: an expired lease holds
    nothing, and a live one stays."""
    context = house_of(request)
    before = await _load_known(context.service, principal, task_id)
    changes = read_changes(await json_body(request), before, context.clock.now())
    after = await edit_and_switch(context.service, principal, before, changes.edits, enabled=changes.enabled)
    is_over = changes.enabled and after.status.state is TaskState.COMPLETED
    return await _respond(request, principal, after, (*changes.notes, *((NOTHING_LEFT,) if is_over else ())))


@router.delete(
    "/{task_id}",
    **said("delete_scheduled_task", "Remove a task with its runs", "ScheduledTaskGone", problems=(404, 409)),
)
async def delete_task(task_id: str, request: Request, principal: Who) -> Response:
    service = house_of(request).service
    await _load_known(service, principal, task_id)
    await remove(service, principal, task_id)
    return answer({"ok": True})


@router.get(
    "/{task_id}/runs",
    **said("list_scheduled_task_runs", "The newest 50 runs of a task", "ScheduledTaskRuns", problems=(404,)),
)
async def list_runs(task_id: str, request: Request, principal: Who) -> Response:
    service = house_of(request).service
    target = (await _load_known(service, principal, task_id)).task.target
    run_filter = RunFilter(principal.owner, task_id, SHOWN_RUNS)
    page = await service.runs.page(own(principal), run_filter, limit=NEWEST_RUNS)
    return answer(sorted((run_shown(each, target) for each in page.items), key=itemgetter("started_at"), reverse=True))


async def _load_known(service: Service, principal: Principal, task_id: str) -> Facts:
    facts = await service.tasks.get(own(principal), task_id)
    if facts.status.state not in KNOWN:
        raise refuse("no_such_task", id=task_id)
    return facts


async def _respond(request: Request, principal: Principal, facts: Facts, notes: tuple[Note, ...] = ()) -> Response:
    context = house_of(request)
    (rendered,) = await _render_tasks(context.service, principal, [facts], context.clock.now())
    return answer({**rendered, "warnings": told(notes, language(request))} if notes else rendered)


async def _render_tasks(service: Service, principal: Principal, tasks: list[Facts], now: datetime) -> list[dict[str, Any]]:
    latest = await latest_runs(service, principal, tasks)
    leases = await leases_of(service, tasks)
    return [task_shown(each, latest.get(each.task.id), leases.get(each.task.id), now) for each in tasks]
