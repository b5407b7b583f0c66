"""`/schedules`: reminders and other schedules of one account, made, listed, looked at, changed and removed."""

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
async def list_schedules(request: Request, who: Who, wanted: Wanted, page: Page = 1, limit: Limit = 50) -> Response:
    found = await gathered(house_of(request).service, who)
    fitting = soonest_first([each for each in found if wanted.fits(each)], house_of(request).clock.now())
    begin = (page - 1) * limit
    shown = await shown_tasks(request, who, fitting[begin : begin + limit])
    more = begin + limit < len(fitting)
    data = {"tasks": shown, "schedules": shown, "total": len(fitting), "page": page, "limit": limit, "hasMore": more}
    return enclosed(request, data)


async def _schedule_again(request: Request, who: Principal, ids: Ids) -> Response:
    return await _made_again(request, who, ids["id"], await json_body(request))


async def _reminder_again(request: Request, who: Principal, ids: Ids) -> Response:
    return await _made_again(request, who, ids["id"], read_reminder(await json_body(request)))


async def _made_again(request: Request, who: Principal, task_id: str, body: object) -> Response:
    house = house_of(request)
    facts = await house.service.tasks.get(own(who), task_id)
    try:
        notes = read_new(body, who.owner, zone_of(house, who), house.clock.now()).notes
    except Refusal:
        # It names a moment that has passed since.
        notes = ()
    return await enclosed_task(request, who, facts, notes, 201)


@router.post(
    "",
    **said(
        "create_schedule",
        "Make a schedule",
        "ScheduleAnswer",
        status=201,
        takes="NewSchedule",
        example=EXAMPLE,
        problems=(404,),
        once=True,
    ),
)
@repeatable(Scope.WRITE, _schedule_again)
async def create_schedule(request: Request, who: Who) -> Response:
    house = house_of(request)
    asked = read_new(await json_body(request), who.owner, zone_of(house, who), house.clock.now())
    return await _made(request, who, asked)


@router.post(
    "/quick-reminder",
    **said(
        "create_quick_reminder",
        "Make a reminder",
        "ScheduleAnswer",
        status=201,
        takes="QuickReminder",
        example=REMINDER,
        once=True,
    ),
)
@repeatable(Scope.WRITE, _reminder_again)
async def create_quick_reminder(request: Request, who: Who) -> Response:
    house = house_of(request)
    body = read_reminder(await json_body(request))
    return await _made(request, who, read_new(body, who.owner, zone_of(house, who), house.clock.now()))


@router.delete(
    "", **said("remove_schedules_of_source", "Remove everything that was made for one thing", "ScheduleRemoval")
)
async def remove_by_source(request: Request, who: Who, source: Source) -> Response:
    # Also where there is nothing to remove.
    who.must(Scope.WRITE)
    service = house_of(request).service
    gone: list[str] = []

    async def drop(task: Task) -> None:
        await remove(service, who, task.id)
        gone.append(task.id)

    report = await service.bulk.each(own(who), TaskFilter(who.owner, labels=source), drop)
    failed = [_failed(each.task.id, each.refusal.in_language(language(request)).message) for each in report.refused]
    return enclosed(request, {"removed": report.done, "taskUuids": gone[:1_000], "failed": failed})


@router.get("/execution-history", **said("list_schedule_executions", "Your newest executions", "ScheduleHistory"))
async def all_history(request: Request, who: Who, limit: Limit = 50) -> Response:
    found = await house_of(request).service.runs.page(own(who), RunFilter(who.owner), limit=limit)
    return _history(request, found.items, more=found.after is not None)


@router.get("/{uuid}", **said("get_schedule", "One schedule", "ScheduleAnswer", problems=(404,)))
async def get_schedule(uuid: str, request: Request, who: Who) -> Response:
    return await enclosed_task(request, who, await house_of(request).service.tasks.get(own(who), uuid))


@router.put(
    "/{uuid}",
    **said(
        "update_schedule",
        "Change what is given; the rest stays",
        "ScheduleAnswer",
        takes="NewSchedule",
        example={"priority": "HIGH"},
        problems=(404, 409),
    ),
)
async def update_schedule(uuid: str, request: Request, who: Who) -> Response:
    house = house_of(request)
    before = await house.service.tasks.get(own(who), uuid)
    changes = read_changes(await json_body(request), before, zone_of(house, who), house.clock.now())
    enabled = True if changes.enabled is None and changes.status == "PENDING" else changes.enabled
    after = await edit_and_switch(house.service, who, before, changes.edits, enabled=enabled)
    if changes.status == "PAUSED":
        after = await hold(house.service, who, uuid, "")
    if changes.status == "CANCELLED":
        after = await house.service.tasks.cancel(own(who), uuid)
    return await enclosed_task(request, who, after, changes.notes)


@router.delete(
    "/{uuid}", **said("delete_schedule", "Remove a schedule with its history", "ScheduleGone", problems=(404, 409))
)
async def delete_schedule(uuid: str, request: Request, who: Who) -> Response:
    await remove(house_of(request).service, who, uuid)
    return enclosed(request, None)


@router.get(
    "/{uuid}/history",
    **said("list_executions_of_schedule", "Its newest executions", "ScheduleHistory", problems=(404,)),
)
async def history(uuid: str, request: Request, who: Who, limit: Limit = 50) -> Response:
    service = house_of(request).service
    await service.tasks.get(own(who), uuid)
    found = await service.runs.page(own(who), RunFilter(who.owner, uuid), limit=limit)
    return _history(request, found.items, more=found.after is not None)


def zone_of(house: House, who: Principal) -> str:
    """Where days and times without an offset are meant: the owner's zone, or the deployment's. It is told back."""
    return who.zone or house.service.zone or "UTC"


async def _made(request: Request, who: Principal, asked: Asked) -> Response:
    tasks = house_of(request).service.tasks
    task = await tasks.create(own(who), asked.wish, paused=asked.paused)
    remember(request, id=task.id)
    return await enclosed_task(request, who, await tasks.get(own(who), task.id), asked.notes, 201)


def _history(request: Request, runs: tuple[Run, ...], *, more: bool) -> Response:
    shown = [execution_shown(each) for each in runs]
    return enclosed(request, {"history": shown, "total": len(shown), "hasMore": more})


def _failed(uuid: str, error: str) -> dict[str, str]:
    return {"taskUuid": uuid, "error": error}
