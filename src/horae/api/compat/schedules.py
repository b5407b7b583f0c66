"""`/schedules`: create, list, get, change and remove schedules and reminders of one account."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.run import Run
from ...model.task import Task
from ...ports.store import RunFilter, TaskFilter
from ...web.authentication import Who
from ...web.body import json_body
from ...web.idempotency import Ids, remember, repeatable
from ...web.language import language
from ...web.request_context import House, house_of
from .edit_and_enable import edit_and_switch, hold
from .envelope import enclosed, enclosed_task, shown_tasks
from .openapi import said
from .own_tasks import gathered, own, remove
from .routers import surface
from .schedule_json import execution_shown
from .schedule_lists import Limit, Page, Source, Wanted, soonest_first
from .schedule_reminders import read_reminder
from .schedule_requests import Asked, read_changes, read_new

router: Final = surface("/schedules", "schedules")
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


@router.get("", **said("list_schedules", "Your schedules, the next to run first", "ScheduleList"))
async def list_schedules(request: Request, principal: Who, listing: Wanted, page: Page = 1, limit: Limit = 50) -> Response:
    own_tasks = await gathered(house_of(request).service, principal)
    matching = soonest_first([each for each in own_tasks if listing.matches(each)], house_of(request).clock.now())
    offset = (page - 1) * limit
    rendered = await shown_tasks(request, principal, matching[offset : offset + limit])
    has_more = offset + limit < len(matching)
    data = {
        "tasks": rendered,
        "schedules": rendered,
        "total": len(matching),
        "page": page,
        "limit": limit,
        "hasMore": has_more,
    }
    return enclosed(request, data)


async def _replay_schedule(request: Request, principal: Principal, ids: Ids) -> Response:
    return await _replay_created(request, principal, ids["id"], await json_body(request))


async def _replay_reminder(request: Request, principal: Principal, ids: Ids) -> Response:
    return await _replay_created(request, principal, ids["id"], read_reminder(await json_body(request)))


async def _replay_created(request: Request, principal: Principal, task_id: str, body: object) -> Response:
    context = house_of(request)
    facts = await context.service.tasks.get(own(principal), task_id)
    try:
        notes = read_new(body, principal.owner, zone_of(context, principal), context.clock.now()).notes
    except Refusal:
        # The body names a time that has passed since.
        notes = ()
    return await enclosed_task(request, principal, facts, notes, 201)


@router.post(
    "",
    **said(
        "create_schedule",
        "Make a schedule",
        "ScheduleAnswer",
        status=201,
        request_body="NewSchedule",
        example=EXAMPLE,
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_schedule)
async def create_schedule(request: Request, principal: Who) -> Response:
    context = house_of(request)
    parsed = read_new(await json_body(request), principal.owner, zone_of(context, principal), context.clock.now())
    return await _create(request, principal, parsed)


@router.post(
    "/quick-reminder",
    **said(
        "create_quick_reminder",
        "Make a reminder",
        "ScheduleAnswer",
        status=201,
        request_body="QuickReminder",
        example=REMINDER,
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_reminder)
async def create_quick_reminder(request: Request, principal: Who) -> Response:
    context = house_of(request)
    body = read_reminder(await json_body(request))
    return await _create(request, principal, read_new(body, principal.owner, zone_of(context, principal), context.clock.now()))


@router.delete("", **said("remove_schedules_of_source", "Remove all schedules of one source", "ScheduleRemoval"))
async def remove_by_source(request: Request, principal: Who, source: Source) -> Response:
    # Checked also when there is nothing to remove.
    principal.require_scope(Scope.WRITE)
    service = house_of(request).service
    removed: list[str] = []

    async def remove_one(task: Task) -> None:
        await remove(service, principal, task.id)
        removed.append(task.id)

    report = await service.bulk.each(own(principal), TaskFilter(principal.owner, labels=source), remove_one)
    failed = [_failure(each.task.id, each.refusal.in_language(language(request)).message) for each in report.refused]
    return enclosed(request, {"removed": report.done, "taskUuids": removed[:1_000], "failed": failed})


@router.get("/execution-history", **said("list_schedule_executions", "Your newest executions", "ScheduleHistory"))
async def all_history(request: Request, principal: Who, limit: Limit = 50) -> Response:
    page = await house_of(request).service.runs.page(own(principal), RunFilter(principal.owner), limit=limit)
    return _history_response(request, page.items, more=page.after is not None)


@router.get("/{uuid}", **said("get_schedule", "One schedule", "ScheduleAnswer", problems=(404,)))
async def get_schedule(uuid: str, request: Request, principal: Who) -> Response:
    return await enclosed_task(request, principal, await house_of(request).service.tasks.get(own(principal), uuid))


@router.put(
    "/{uuid}",
    **said(
        "update_schedule",
        "Change what is given; the rest stays",
        "ScheduleAnswer",
        request_body="NewSchedule",
        example={"priority": "HIGH"},
        problems=(404, 409),
    ),
)
async def update_schedule(uuid: str, request: Request, principal: Who) -> Response:
    house = house_of(request)
    before = await house.service.tasks.get(own(principal), uuid)
    changes = read_changes(await json_body(request), before, zone_of(house, principal), house.clock.now())
    enabled = True if changes.enabled is None and changes.status == "PENDING" else changes.enabled
    after = await edit_and_switch(house.service, principal, before, changes.edits, enabled=enabled)
    if changes.status == "PAUSED":
        after = await hold(house.service, principal, uuid, "")
    if changes.status == "CANCELLED":
        after = await house.service.tasks.cancel(own(principal), uuid)
    return await enclosed_task(request, principal, after, changes.notes)


@router.delete(
    "/{uuid}", **said("delete_schedule", "Remove a schedule with its history", "ScheduleGone", problems=(404, 409))
)
async def delete_schedule(uuid: str, request: Request, principal: Who) -> Response:
    await remove(house_of(request).service, principal, uuid)
    return enclosed(request, None)


@router.get(
    "/{uuid}/history",
    **said("list_executions_of_schedule", "Its newest executions", "ScheduleHistory", problems=(404,)),
)
async def history(uuid: str, request: Request, principal: Who, limit: Limit = 50) -> Response:
    service = house_of(request).service
    await service.tasks.get(own(principal), uuid)
    page = await service.runs.page(own(principal), RunFilter(principal.owner, uuid), limit=limit)
    return _history_response(request, page.items, more=page.after is not None)


def zone_of(context: House, principal: Principal) -> str:
    """Return the zone for days and times without an offset: the owner's, or the deployment's. Responses show it."""
    return principal.zone or context.service.zone or "UTC"


async def _create(request: Request, principal: Principal, parsed: Asked) -> Response:
    tasks = house_of(request).service.tasks
    task = await tasks.create(own(principal), parsed.request, paused=parsed.paused)
    remember(request, id=task.id)
    return await enclosed_task(request, principal, await tasks.get(own(principal), task.id), parsed.notes, 201)


def _history_response(request: Request, runs: tuple[Run, ...], *, more: bool) -> Response:
    rendered = [execution_shown(each) for each in runs]
    return enclosed(request, {"history": rendered, "total": len(rendered), "hasMore": more})


def _failure(uuid: str, error: str) -> dict[str, str]:
    return {"taskUuid": uuid, "error": error}
