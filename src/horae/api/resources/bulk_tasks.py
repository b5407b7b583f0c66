"""Many tasks in one call: made, all or none; or acted on by a filter, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...choices import Language
from ...errors import NotFound, Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.limits import BULK_TASKS
from ...model.record import Writing
from ...model.refusals import refuse
from ...model.task import Task
from ...ports.store import TaskFilter
from ...service.query.parser import LONGEST
from ...service.service import Service
from ...service.tasks.functions import Resolved
from ...service.tasks.operations import Order, scope_for
from ...service.tasks.task_request import Wish
from ...service.tasks.tasks import Tasks
from ...web.authentication import Who
from ...web.body import json_body
from ...web.idempotency import Ids, kept_for, remember, repeatable
from ...web.language import language
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.fields import check_fields, text_or_none
from ...wire.instants import utc
from ...wire.operations import operation_json
from ...wire.overview import bulk_json
from ...wire.previews import warnings_json
from ...wire.tasks import next_due, read_task
from ..bulk_actions import PREFER, RESPOND_ASYNC, deed_of, prefers_async, still_allowed
from ..examples import ACTIONS, BULK
from ..openapi import told
from ..parameters import FILTERS, DryRun, acting, filtered

router: Final = resource("/v1/tasks", "tasks")
MOST_AT_ONCE: Final = 200
"""More than so many go on after the answer."""
_MOST_TEXTS: Final = 100
"""Of one condition: what is asked for is kept with the operation, and written with each of its notes."""
_REFUSED_BEFORE: Final[dict[Language, str]] = {
    "en": "Refused when this request was first done.",
    "zh": "首次执行该请求时已被拒绝。",
}
_ACTING: Final = told(
    "act_on_tasks",
    "Pause, resume, run, skip, cancel or delete every task that fits a filter",
    "BulkReport",
    takes="Action",
    example=ACTIONS,
    once=True,
    headers=(PREFER,),
    description="Task by task, each in a transaction of its own: a refusal keeps nobody else from their turn. "
    'An empty filter needs `"all": true`. With `Prefer: respond-async`, or when more than '
    f"{MOST_AT_ONCE} fit, it goes on as an operation (202, `Location`); a rehearsal is always answered at once.",
)
_ACTING["responses"][202] = told("", "", "Operation", status=202)["responses"][202]


async def _made_again(request: Request, who: Principal, ids: Ids) -> Response:
    """Those that are still there; `created` says how many were made."""
    service, items = house_of(request).service, list[dict[str, Any]]()
    wishes = _wishes(await json_body(request))
    for name, wish in zip(ids["tasks"], wishes, strict=True):
        with suppress(NotFound):
            facts = await service.tasks.get(who, name)
            items.append(_brief(facts, await _resolved_again(service, who, wish), language(request)))
    return answer({"created": len(ids["tasks"]), "items": items, "dry_run": False})


@router.post(
    "/bulk",
    **told(
        "create_tasks",
        f"Make up to {BULK_TASKS} tasks in one call: all of them, or none",
        "MadeMany",
        status=201,
        takes="NewTasks",
        example=BULK,
        problems=(409,),
        once=True,
    ),
)
@repeatable(Scope.WRITE, _made_again, own=True)
async def create_tasks(request: Request, who: Who, *, dry_run: DryRun = False) -> Response:
    service = house_of(request).service
    resolved = [await _resolved(service, who, *each) for each in enumerate(_wishes(await json_body(request)), 1)]
    made: list[Response] = []

    def beside(tasks: Sequence[Facts]) -> Sequence[Writing]:
        items = [_brief(*each, language(request)) for each in zip(tasks, resolved, strict=True)]
        shape = {"created": 0 if dry_run else len(tasks), "items": items, "dry_run": dry_run}
        made[:] = [answer(shape, 200 if dry_run else 201)]
        kept = kept_for(request)
        return () if kept is None else (kept.writing(201, {"tasks": [each.task.id for each in tasks]}),)

    wishes = [each.wish for each in resolved]
    await acting(request, dry_run=dry_run).tasks.create_many(who, wishes, _nothing, beside=beside)
    return made[0]


def _wishes(body: object) -> list[Wish]:
    tasks = check_fields("body", body, ("tasks",)).get("tasks")
    if not isinstance(tasks, list) or not tasks:
        raise refuse("missing_field", name="tasks")
    if len(tasks) > BULK_TASKS:
        raise refuse("bad_number", name="tasks", value=len(tasks), least=1, most=BULK_TASKS)
    return [_wish(number, each) for number, each in enumerate(tasks, 1)]


def _wish(number: int, value: object) -> Wish:
    try:
        wish = read_task(value)
    except Refusal as refusal:
        refusal.facts["number"] = number
        raise
    if wish.key is not None:
        # To edit what has the key already is another wish than to make it.
        raise refuse(
            "unknown_field", name="key", allowed="all of a task but 'key': PUT /v1/tasks/by-key/{key} takes it"
        )
    return wish


def _nothing(_task: Task) -> None: ...


async def _resolved(service: Service, who: Principal, number: int, wish: Wish) -> Resolved:
    try:
        return await service.resolve(who, wish)
    except Refusal as refusal:
        refusal.facts["number"] = number
        raise


async def _resolved_again(service: Service, who: Principal, wish: Wish) -> Resolved:
    """What is known of its function may have changed since; the task is there all the same."""
    try:
        return await service.resolve(who, wish)
    except Refusal:
        return Resolved(wish)


def _brief(facts: Facts, resolved: Resolved, said_in: Language) -> dict[str, Any]:
    task = facts.task
    return {
        "id": task.id,
        "name": task.name,
        "next": utc(next_due(facts)),
        "declared": resolved.declared_in(task.schedule),
        "warnings": warnings_json(resolved.warnings, said_in),
    }


async def _report_again(request: Request, who: Principal, ids: Ids) -> Response:
    said = await json_body(request)
    who.must(scope_for(said["action"]))
    service, said_in = house_of(request).service, language(request)
    if "operation" in ids:
        operation = await service.operations.get(who, ids["operation"])
        return answer(operation_json(operation, said_in), 202, {"Location": f"/v1/operations/{operation.id}"})
    refused: list[dict[str, Any]] = []
    for name, code in ids["refused"]:
        try:
            title = (await service.tasks.get(who, name)).task.name
        except NotFound:
            title = ""
        refused.append({"task_id": name, "task": title, "code": code, "detail": _REFUSED_BEFORE[said_in]})
    return answer({"matched": ids["matched"], "done": ids["done"], "refused": refused, "dry_run": False})


@router.post("/actions", **_ACTING)
@repeatable(None, _report_again)
async def act_on_tasks(request: Request, who: Who, *, dry_run: DryRun = False) -> Response:
    said = check_fields("body", await json_body(request), ("action", "filter", "arguments", "all", "dry_run"))
    only_tried = dry_run or said.get("dry_run") is True
    wanted = _filter(said)
    # Also where nothing fits: who may not do it is told so, whatever there is.
    who.must(scope_for(said.get("action")))
    deed = deed_of(request, who, acting(request, dry_run=only_tried).tasks, said)
    service = house_of(request).service
    preferred = prefers_async(request)
    if not only_tried and (preferred or await _are_many(service.tasks, who, wanted)):
        order = Order(said["action"], said.get("filter") or {}, said.get("arguments") or {})
        operation = await service.operations.begin(who, order, wanted, deed, still_allowed(request, who))
        remember(request, operation=operation.id)
        applied = {"Preference-Applied": RESPOND_ASYNC} if preferred else {}
        headers = {"Location": f"/v1/operations/{operation.id}", **applied}
        return answer(operation_json(operation, language(request)), 202, headers)
    report = await service.bulk.each(who, wanted, deed)
    refused = [(each.task.id, each.refusal.code) for each in report.refused]
    remember(request, matched=report.matched, done=report.done, refused=refused)
    return answer({**bulk_json(report, language(request)), "dry_run": only_tried})


async def _are_many(tasks: Tasks, who: Principal, wanted: TaskFilter) -> bool:
    return len((await tasks.page(who, wanted, None, MOST_AT_ONCE + 1)).items) > MOST_AT_ONCE


def _filter(said: Mapping[str, Any]) -> TaskFilter:
    conditions = check_fields("filter", said.get("filter") or {}, FILTERS)
    many = {name: _texts(name, conditions.get(name)) for name in ("state", "label")}
    single = {name: text_or_none(name, conditions.get(name)) for name in FILTERS if name not in many}
    try:
        wanted = filtered(**many, **single)  # type: ignore[arg-type]  # the two that are lists, and the texts
    except Refusal as refusal:
        if refusal.facts.get("name") == "q":
            refusal.facts["name"] = "filter.q"
        raise
    if not any(wanted) and said.get("all") is not True:
        # Conditions that say nothing, such as a query of spaces, would mean everything.
        raise refuse("missing_field", name="filter")
    return wanted


def _texts(name: str, value: object) -> list[str] | None:
    listed = [value] if isinstance(value, str) else value
    if listed is not None and not (isinstance(listed, list) and all(isinstance(each, str) for each in listed)):
        raise refuse("bad_policy", name=f"filter.{name}", value=value, wanted="text, or list of texts")
    if listed is not None and (len(listed) > _MOST_TEXTS or any(len(each) > LONGEST for each in listed)):
        wanted = f"at most {_MOST_TEXTS} texts of {LONGEST} characters"
        raise refuse("bad_policy", name=f"filter.{name}", value=f"{len(listed)} texts", wanted=wanted)
    return listed
