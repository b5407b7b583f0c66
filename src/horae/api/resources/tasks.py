"""Tasks: list, create, get, replace, edit and delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.ids import EPOCH
from ...model.page import MAX_PAGE_SIZE, Page
from ...ports.store import TaskFilter
from ...schedule.lint import lint
from ...service.tasks.edits import EditResult, Edits
from ...service.tasks.parsed_task import replacing_edits
from ...service.tasks.tasks import Tasks
from ...web.etags import entity_response, expected_version, precondition_check
from ...web.idempotency import Ids, idempotent
from ...web.language import request_language
from ...web.pagination import decode_cursor, page_response, page_response_of_json
from ...web.parameters import Body, Query
from ...web.request_context import app_context
from ...web.responses import no_content
from ...web.routing import RouteGroup
from ...wire.agenda import agenda_json
from ...wire.tasks.receipts import edited_json, receipt_json
from ...wire.tasks.task import next_due, read_edits, task_json
from ..create_task import TaskCreator, parse_task
from ..field_selection import TASK_FIELDS, Fields, parse_fields, task_entity
from ..openapi import EDIT, IF_MATCH, IF_NONE_MATCH, NEW_TASK, Operation
from ..parameters import (
    Cursor,
    DryRun,
    Force,
    Include,
    Label,
    Limit,
    Owner,
    Q,
    State,
    System,
    TaskId,
    Text,
    build_filter,
    parse_include,
    reader_of,
    service_for,
)
from ..task_json_cache import encode_task

routes: Final = RouteGroup("/v1/tasks", "tasks")

Paused = Annotated[str | None, Query(max_length=500, description="Create the task paused, with this note.")]
Count = Annotated[
    str | None,
    Query(
        choices=("estimated",),
        description="`estimated`: the number of matches as `count`; `more` when there are more than that.",
    ),
]


@routes.get("", Operation("list_tasks", "Tasks, in the order of their creation", "TaskPage"))
async def list_tasks(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    *,
    owner: Owner = None,
    state: State = None,
    name: Text = None,
    lane: Text = None,
    label: Label = None,
    text: Text = None,
    kind: Text = None,
    prefix: Text = None,
    q: Q = None,
    system: System = False,
    sort: Annotated[
        str, Query(choices=("created", "next"), description="`created`, or `next`: soonest first.")
    ] = "created",
    include: Include = None,
    fields: Fields = None,
    count: Count = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    selection = parse_fields(fields, TASK_FIELDS)
    include_parts = parse_include(include) | selection.includes
    after = decode_cursor(request, principal, cursor)
    task_filter = build_filter(
        owner=owner, state=state, name=name, lane=lane, label=label, text=text, kind=kind, prefix=prefix, q=q
    )
    tasks, reader = app_context(request).service.tasks, reader_of(principal, system=system)
    page = (
        Page(await list_by_due(tasks, reader, task_filter, limit))
        if sort == "next"
        else await tasks.page(reader, task_filter, after, limit)
    )
    last = await tasks.latest(principal, page.items) if "last" in include_parts else {}
    lang, now = request_language(request), app_context(request).clock.now()
    names = await tasks.predecessor_names(principal, [facts.task for facts in page.items])
    counted = {} if count is None else dict(zip(("count", "more"), await tasks.count(reader, task_filter), strict=True))
    if selection.names is not None:
        return page_response(
            request,
            principal,
            page,
            lambda facts: selection.select(task_json(facts, lang, last.get(facts.task.id), names=names, now=now)),
            **counted,
        )
    return page_response_of_json(
        request,
        principal,
        page,
        lambda facts: encode_task(facts, lang, last.get(facts.task.id), names, now=now),
        **counted,
    )


async def _replay_receipt(request: Request, principal: Principal, ids: Ids) -> Response:
    include = parse_include(request.query_params.get("include"))
    return await TaskCreator(request, principal, include, dry_run=False).replay(ids["id"])


@routes.post(
    "",
    Operation(
        "create_task",
        "Create a task; with a key, the task that has it is changed instead",
        "Receipt",
        status=201,
        problems=(409,),
        description="201 when it was created; 200 when a task with this key existed, which now is what the body says.",
    ),
)
@idempotent(Scope.WRITE, _replay_receipt, writes_record=True)
async def create_task(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("NewTask", example=NEW_TASK)],
    *,
    dry_run: DryRun = False,
    paused: Paused = None,
    include: Include = None,
) -> Response:
    parsed = await parse_task(request, principal, body)
    return await TaskCreator(request, principal, parse_include(include), dry_run=dry_run).create(parsed, paused)


@routes.get(
    "/{task_id}",
    Operation("get_task", "One task with its state", "Task", problems=(404,), headers=(IF_NONE_MATCH,)),
)
async def get_task(
    request: Request, principal: Principal, task_id: TaskId, *, include: Include = None, fields: Fields = None
) -> Response:
    facts = await app_context(request).service.tasks.get(principal, task_id)
    return await task_entity(request, principal, facts, include, fields)


@routes.put(
    "/{task_id}",
    Operation(
        "replace_task",
        "Replace a task; absent fields get the defaults of a new task",
        "Receipt",
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def replace_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("NewTask", example=NEW_TASK)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    facts = await app_context(request).service.tasks.get(principal, task_id)
    parsed = await parse_task(request, principal, body, owner=facts.task.owner, exported=True)
    edits = replacing_edits(principal, parsed, facts.task)
    return await _edit(
        request, principal, facts, edits, parse_include(include), dry_run=dry_run, declared=parsed.declared
    )


@routes.patch(
    "/{task_id}",
    Operation(
        "edit_task",
        "Change the given fields only; a new schedule counts from now, and nothing fires for the past",
        "Receipt",
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def edit_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("TaskEdit", example=EDIT)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    facts = await app_context(request).service.tasks.get(principal, task_id)
    edits = read_edits(body)
    return await _edit(request, principal, facts, edits, parse_include(include), dry_run=dry_run)


@routes.delete(
    "/{task_id}",
    Operation(
        "delete_task",
        "Remove a task and its history",
        None,
        status=204,
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def delete_task(
    request: Request, principal: Principal, task_id: TaskId, *, force: Force = False, dry_run: DryRun = False
) -> Response:
    service = service_for(request, dry_run=dry_run)
    await service.tasks.with_condition(precondition_check(request)).delete(principal, task_id, force=force)
    return no_content()


async def _edit(  # noqa: PLR0913 - one keyword for each part of an edit
    request: Request,
    principal: Principal,
    facts: Facts,
    edits: Edits,
    include: frozenset[str],
    *,
    dry_run: bool,
    declared: Sequence[str] = (),
) -> Response:
    """Edit the task and respond with its new state, the changed fields, and the removed and added fires."""
    service, now = service_for(request, dry_run=dry_run), app_context(request).clock.now()
    expected = expected_version(request, facts.task.version)
    edited: EditResult = await service.tasks.edit(principal, facts.task.id, edits, expected=expected)
    after = facts._replace(task=edited.after) if dry_run else await service.tasks.get(principal, facts.task.id)
    schedule_warnings = lint(edited.after.schedule, now) if edited.after.schedule != edited.before.schedule else ()
    warnings = (*await service.review(principal, edited, edits), *schedule_warnings)
    receipt = receipt_json(after, now, warnings, request_language(request), dry_run=dry_run, declared=declared)
    data = {**receipt, **edited_json(edited)}
    if "agenda" in include:
        data["agenda"] = agenda_json(after)
    return entity_response(request, data, after.task.version)


_MAX_SCANNED: Final = 10_000


async def list_by_due(tasks: Tasks, principal: Principal, task_filter: TaskFilter, limit: int) -> tuple[Facts, ...]:
    """Return up to `limit` tasks, soonest due first; tasks without a due time come last."""
    if task_filter == TaskFilter():
        return await tasks.upcoming(principal, limit)
    tasks_read: list[Facts] = []
    after: str | None = None
    while len(tasks_read) < _MAX_SCANNED:
        page = await tasks.page(principal, task_filter, after, MAX_PAGE_SIZE)
        tasks_read += page.items
        after = page.after
        if after is None:
            break
    return tuple(sorted(tasks_read, key=_due_order)[:limit])


def _due_order(facts: Facts) -> tuple[bool, datetime]:
    due = next_due(facts)
    return due is None, due or EPOCH
