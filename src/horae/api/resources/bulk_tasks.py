"""Bulk requests: create many tasks in one transaction, or act on all tasks that match a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...choices import Language
from ...errors import NotFound, Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.limits import BULK_TASKS
from ...model.record import RecordWrite
from ...model.refusals import refuse
from ...model.task import Task
from ...ports.store import TaskFilter
from ...service.query.parser import MAX_CHARACTERS
from ...service.service import Service
from ...service.tasks.functions.functions import ResolvedRequest
from ...service.tasks.operations.actions import MAX_SYNCHRONOUS, exceeds_synchronous
from ...service.tasks.operations.operations import OperationRequest, scope_for
from ...service.tasks.task_request import TaskRequest
from ...web.body import read_json_body
from ...web.idempotency import Ids, idempotent, key_of, store_ids
from ...web.language import request_language
from ...web.parameters import Body
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.fields import check_fields, text_or_none
from ...wire.instants import utc
from ...wire.operations import operation_json
from ...wire.overview import bulk_json
from ...wire.tasks.previews import warnings_json
from ...wire.tasks.task import next_due, read_task
from ..bulk_actions import PREFER, RESPOND_ASYNC, action_of, permission_check, prefers_async
from ..openapi import ACTIONS, BULK, Operation
from ..parameters import FILTERS, DryRun, build_filter, service_for

routes: Final = RouteGroup("/v1/tasks", "tasks")
_MAX_TEXTS: Final = 100
"""Texts per filter condition: the filter is stored with the operation, and written with each progress update."""
_REFUSED_BEFORE: Final[dict[Language, str]] = {
    "en": "Refused when this request was first done.",
    "zh": "首次执行该请求时已被拒绝。",
}


async def _replay_created(request: Request, principal: Principal, ids: Ids) -> Response:
    """Render the tasks that still exist; `created` is the original number."""
    service, items = app_context(request).service, list[dict[str, Any]]()
    task_requests = _read_tasks(await read_json_body(request))
    for name, task_request in zip(ids["tasks"], task_requests, strict=True):
        with suppress(NotFound):
            facts = await service.tasks.get(principal, name)
            items.append(
                _render_brief(
                    facts, await _resolve_leniently(service, principal, task_request), request_language(request)
                )
            )
    return json_response({"created": len(ids["tasks"]), "items": items, "dry_run": False})


@routes.post(
    "/bulk",
    Operation(
        "create_tasks",
        f"Make up to {BULK_TASKS} tasks in one call: all of them, or none",
        "MadeMany",
        status=201,
        problems=(409,),
    ),
)
@idempotent(Scope.WRITE, _replay_created, writes_record=True)
async def create_tasks(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("NewTasks", "body", example=BULK)],
    *,
    dry_run: DryRun = False,
) -> Response:
    service = app_context(request).service
    resolved = [await _resolve(service, principal, *each) for each in enumerate(_read_tasks(body), 1)]
    written: Sequence[Facts] = ()

    def attach_record(tasks: Sequence[Facts]) -> Sequence[RecordWrite]:
        nonlocal written
        written = tasks
        key = key_of(request)
        return () if key is None else (key.to_writing(201, {"tasks": [each.task.id for each in tasks]}),)

    task_requests = [each.request for each in resolved]
    await service_for(request, dry_run=dry_run).tasks.create_many(
        principal, task_requests, _no_result, attach_records=attach_record
    )
    items = [_render_brief(*each, request_language(request)) for each in zip(written, resolved, strict=True)]
    data = {"created": 0 if dry_run else len(written), "items": items, "dry_run": dry_run}
    return json_response(data, 200 if dry_run else 201)


def _read_tasks(body: Mapping[str, Any]) -> list[TaskRequest]:
    tasks = body.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        raise refuse("missing_field", name="tasks")
    if len(tasks) > BULK_TASKS:
        raise refuse("bad_number", name="tasks", value=len(tasks), least=1, most=BULK_TASKS)
    return [_read_numbered_task(number, each) for number, each in enumerate(tasks, 1)]


def _read_numbered_task(number: int, value: object) -> TaskRequest:
    try:
        task_request = read_task(value)
    except Refusal as refusal:
        refusal.facts["number"] = number
        raise
    if task_request.key is not None:
        # A key may belong to an existing task, and editing it is not creating it.
        raise refuse(
            "unknown_field", name="key", allowed="all of a task but 'key': PUT /v1/tasks/by-key/{key} takes it"
        )
    return task_request


def _no_result(_task: Task) -> None: ...


async def _resolve(service: Service, principal: Principal, number: int, task_request: TaskRequest) -> ResolvedRequest:
    try:
        return await service.resolve(principal, task_request)
    except Refusal as refusal:
        refusal.facts["number"] = number
        raise


async def _resolve_leniently(service: Service, principal: Principal, task_request: TaskRequest) -> ResolvedRequest:
    """Resolve the request again; if its function has changed since, return the request unresolved: its task exists all
    the same."""
    try:
        return await service.resolve(principal, task_request)
    except Refusal:
        return ResolvedRequest(task_request)


def _render_brief(facts: Facts, resolved: ResolvedRequest, lang: Language) -> dict[str, Any]:
    task = facts.task
    return {
        "id": task.id,
        "name": task.name,
        "next": utc(next_due(facts)),
        "declared": resolved.declared_in(task.schedule),
        "warnings": warnings_json(resolved.warnings, lang),
    }


async def _replay_report(request: Request, principal: Principal, ids: Ids) -> Response:
    body = await read_json_body(request)
    principal.require_scope(scope_for(body["action"]))
    service, lang = app_context(request).service, request_language(request)
    if "operation" in ids:
        operation = await service.operations.get(principal, ids["operation"])
        return json_response(operation_json(operation, lang), 202, {"Location": f"/v1/operations/{operation.id}"})
    refused: list[dict[str, Any]] = []
    for name, code in ids["refused"]:
        try:
            title = (await service.tasks.get(principal, name)).task.name
        except NotFound:
            title = ""
        refused.append({"task_id": name, "task": title, "code": code, "detail": _REFUSED_BEFORE[lang]})
    data = {"matched": ids["matched"], "done": ids["done"], "refused": refused, "undo": ids.get("undo")}
    return json_response({**data, "dry_run": False})


@routes.post(
    "/actions",
    Operation(
        "act_on_tasks",
        "Pause, resume, run, skip, cancel or delete every task that fits a filter",
        "BulkReport",
        headers=(PREFER,),
        also={202: "Operation"},
        description="Task by task, each in a transaction of its own: a refusal does not stop the others. "
        'An empty filter needs `"all": true`. With `Prefer: respond-async`, or when more than '
        f"{MAX_SYNCHRONOUS} fit, it goes on as an operation (202, `Location`); a dry run is always answered at once. "
        "A pause, resume or cancel that changed a task can be undone: `undo` is the id of its operation.",
    ),
)
@idempotent(None, _replay_report)
async def act_on_tasks(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("Action", "body", example=ACTIONS)],
    *,
    dry_run: DryRun = False,
) -> Response:
    is_dry_run = dry_run or body.get("dry_run") is True
    task_filter = _read_filter(body)
    # Checked also when no task matches: a caller without the scope is always refused.
    principal.require_scope(scope_for(body.get("action")))
    service = app_context(request).service
    log = None if is_dry_run else service.operations.new_log(principal, body.get("action"))
    action = action_of(request, principal, service_for(request, dry_run=is_dry_run).tasks, body, log)
    prefers = prefers_async(request)
    order = OperationRequest(body["action"], body.get("filter") or {}, body.get("arguments") or {})
    if not is_dry_run and (prefers or await exceeds_synchronous(service.tasks, principal, task_filter)):
        operation = await service.operations.begin(
            principal, order, task_filter, action, permission_check(request, principal), log=log
        )
        store_ids(request, operation=operation.id)
        applied = {"Preference-Applied": RESPOND_ASYNC} if prefers else {}
        headers = {"Location": f"/v1/operations/{operation.id}", **applied}
        return json_response(operation_json(operation, request_language(request)), 202, headers)
    report = await service.operations.act(principal, order, task_filter, action, log=log)
    refused = [(each.task.id, each.refusal.code) for each in report.refused]
    store_ids(request, matched=report.matched, done=report.done, refused=refused, undo=report.undo)
    return json_response({**bulk_json(report, request_language(request)), "dry_run": is_dry_run})


def _read_filter(body: Mapping[str, Any]) -> TaskFilter:
    conditions = check_fields("filter", body.get("filter") or {}, FILTERS)
    list_conditions = {name: _read_texts(name, conditions.get(name)) for name in ("state", "label")}
    text_conditions = {
        name: text_or_none(name, conditions.get(name)) for name in FILTERS if name not in list_conditions
    }
    try:
        task_filter = build_filter(**list_conditions, **text_conditions)  # type: ignore[arg-type]  # the two that are lists, and the texts
    except Refusal as refusal:
        if refusal.facts.get("name") == "q":
            refusal.facts["name"] = "filter.q"
        raise
    if not any(task_filter) and body.get("all") is not True:
        # An empty filter, such as a query of spaces, would match every task.
        raise refuse("missing_field", name="filter")
    return task_filter


def _read_texts(name: str, value: object) -> list[str] | None:
    texts = [value] if isinstance(value, str) else value
    if texts is not None and not (isinstance(texts, list) and all(isinstance(each, str) for each in texts)):
        raise refuse("bad_policy", name=f"filter.{name}", value=value, wanted="text, or list of texts")
    if texts is not None and (len(texts) > _MAX_TEXTS or any(len(each) > MAX_CHARACTERS for each in texts)):
        limits = f"at most {_MAX_TEXTS} texts of {MAX_CHARACTERS} characters"
        raise refuse("bad_policy", name=f"filter.{name}", value=f"{len(texts)} texts", wanted=limits)
    return texts
