"""Actions on one task: pause, resume, run now, skip, backfill, cancel, approve; and why it did or did not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.ids import first_traceparent, run_id
from ...model.policy import MISSED_MODES
from ...model.refusals import refuse
from ...model.run import Origin
from ...service.query.instants import parse_future_instant
from ...service.tasks.catch_up_previews import compute_backfill
from ...service.tasks.previews import compute_task_preview
from ...service.tasks.tasks import Tasks
from ...web.body import read_optional_json_body
from ...web.etags import entity_response, expected_version, precondition_check
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.parameters import Body, Query
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.fields import check_fields, text_or_none
from ...wire.instants import utc
from ...wire.runs import why_json
from ...wire.tasks.previews import preview_json
from ...wire.tasks.review import review_json
from ...wire.tasks.run_inputs import read_input
from ..create_task import set_trace_links
from ..openapi import APPROVE, BACKFILL, IF_MATCH, PAUSE, REJECT, RESUME, RUN_NOW, SKIP, Operation
from ..parameters import DryRun, Include, TaskId, caller_zone, parse_include, parse_time, render_task, service_for

routes: Final = RouteGroup("/v1/tasks/{task_id}", "tasks")

Moment = Annotated[
    str | None,
    Query(
        max_length=100, description="`2026-11-15T02:00Z`, `today at 9am`, `昨天早上9点`, `yesterday`; else the newest."
    ),
]
Zone = Annotated[
    str | None,
    Query(
        max_length=100,
        description="The zone of moments that name none; else that of the caller, else that of the task.",
    ),
]
_PROBLEMS: Final = (404, 409, 412)


# --- replays of requests with an Idempotency-Key -------------------------------------------------------------------


async def _replay_task(request: Request, principal: Principal, _ids: Ids) -> Response:
    facts = await app_context(request).service.tasks.get(principal, request.path_params["task_id"])
    return await _respond(request, principal, facts, request.query_params.get("include"))


async def _replay_queued(request: Request, principal: Principal, ids: Ids) -> Response:
    facts = await app_context(request).service.tasks.get(principal, request.path_params["task_id"])
    return _queued_response(facts, ids["run"], ids["trace"])


async def _replay_backfill(request: Request, principal: Principal, ids: Ids) -> Response:
    facts = await app_context(request).service.tasks.get(principal, request.path_params["task_id"])
    include = parse_include(request.query_params.get("include"))
    rendered = await render_task(request, principal, facts, request_language(request), include)
    return json_response({"task": rendered, "count": ids["count"], "dry_run": False})


def _queued_response(facts: Facts, run: str, trace: str) -> Response:
    data = {"run_id": run, "task_id": facts.task.id, "task": facts.task.name}
    return json_response(data, 202, {"Location": f"/v1/runs/{run}", "traceresponse": trace})


# --- routes ---------------------------------------------------------------------------------------------------------


@routes.post(
    "/pause",
    Operation(
        "pause_task",
        "Pause a task; a run in progress may finish",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def pause_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("Pause", "body", example=PAUSE, optional=True)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    before = await _load_expected(request, principal, task_id)
    until = text_or_none("until", body.get("until"))
    zone = before.task.schedule.zone or caller_zone(request, principal)
    end = None if until is None else parse_future_instant(until, zone, app_context(request).clock.now())
    tasks = _conditional_tasks(request, dry_run=dry_run)
    facts = await tasks.pause(principal, task_id, note=text_or_none("note", body.get("note")) or "", until=end)
    return await _respond(request, principal, facts, include)


@routes.post(
    "/resume",
    Operation(
        "resume_task",
        "Resume a task; `missed` decides on occurrences that passed meanwhile (skip, latest, all, merge)",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def resume_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("Resume", "body", example=RESUME, optional=True)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    missed = body.get("missed") or "skip"
    mode = next((each for each in MISSED_MODES if each == missed), None)
    if mode is None:
        raise refuse("bad_choice", name="missed", value=missed, allowed=", ".join(MISSED_MODES))
    await _load_expected(request, principal, task_id)
    facts = await _conditional_tasks(request, dry_run=dry_run).resume(principal, task_id, mode)
    return await _respond(request, principal, facts, include)


@routes.post(
    "/run",
    Operation(
        "run_task",
        "One extra run, now; the schedule does not move",
        "Queued",
        status=202,
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.RUN, _replay_queued)
async def run_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("RunNow", "body", example=RUN_NOW, optional=True)],
    *,
    dry_run: DryRun = False,
) -> Response:
    before = await _load_expected(request, principal, task_id)
    task_id = before.task.id
    planned = await _conditional_tasks(request, dry_run=dry_run).queue_now(
        principal,
        task_id,
        read_input(body.get("input")),
        chain=_read_flag(body, "chain", default=True),
        gate_only=_read_flag(body, "gate_only", default=False),
    )
    name = run_id(task_id, Origin.MANUAL, planned, 1)
    trace = first_traceparent(task_id, Origin.MANUAL, planned)
    if not dry_run:
        set_trace_links(request, trace)
    store_ids(request, run=name, trace=trace)
    return _queued_response(before, name, trace)


def _read_flag(body: Any, name: str, *, default: bool) -> bool:
    value = body.get(name, default)
    if not isinstance(value, bool):
        raise refuse("bad_policy", name=name, value=value, wanted="true or false")
    return value


@routes.post(
    "/skip",
    Operation(
        "skip_task",
        "Skip the next `number` occurrences; 0 undoes it",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.RUN, _replay_task)
async def skip_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("Skip", "body", example=SKIP, optional=True)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    await _load_expected(request, principal, task_id)
    facts = await _conditional_tasks(request, dry_run=dry_run).skip_next(principal, task_id, body.get("number", 1))
    return await _respond(request, principal, facts, include)


@routes.post(
    "/backfill",
    Operation(
        "backfill_task",
        "Run the occurrences of a past range, one by one",
        "Backfill",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.RUN, _replay_backfill)
async def backfill_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("BackfillRange", "body", example=BACKFILL)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    before, now = await _load_expected(request, principal, task_id), app_context(request).clock.now()
    zone = before.task.schedule.zone or caller_zone(request, principal)
    first, last = (
        parse_time(_require_text(body, "from"), zone, now),
        parse_time(_require_text(body, "to"), zone, now, last=True),
    )
    again = body.get("again", False)
    if first is None or last is None or not isinstance(again, bool):
        raise refuse("bad_policy", name="again", value=again, wanted="true or false")
    last = min(last, now)
    facts = await _conditional_tasks(request, dry_run=dry_run).backfill(
        principal,
        task_id,
        first,
        last,
        again=again,
        given=read_input(body.get("input")),
        chain=_read_flag(body, "chain", default=True),
    )
    number = compute_backfill(before, first, last, listed=0).number
    store_ids(request, count=number)
    rendered = await render_task(request, principal, facts, request_language(request), parse_include(include))
    return json_response({"task": rendered, "count": number, "dry_run": dry_run})


@routes.post(
    "/cancel",
    Operation(
        "cancel_task",
        "End it; its history stays, and `POST …/restore` brings it back",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def cancel_task(
    request: Request, principal: Principal, task_id: TaskId, *, dry_run: DryRun = False, include: Include = None
) -> Response:
    check_fields("body", await read_optional_json_body(request) or {}, ())
    await _load_expected(request, principal, task_id)
    return await _respond(
        request, principal, await _conditional_tasks(request, dry_run=dry_run).cancel(principal, task_id), include
    )


@routes.post(
    "/restore",
    Operation(
        "restore_task",
        "Undo the cancel of it, within 30 days: id, history and pause are as before",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
        description="What it missed meanwhile is recorded as cancelled and does not run. Final is the cancel of a task that runs "
        "after others, had ended, or was rejected (`cancel_is_final`). An agent can undo its own cancels only.",
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def restore_task(
    request: Request, principal: Principal, task_id: TaskId, *, dry_run: DryRun = False, include: Include = None
) -> Response:
    check_fields("body", await read_optional_json_body(request) or {}, ())
    await _load_expected(request, principal, task_id)
    facts = await _conditional_tasks(request, dry_run=dry_run).undo_cancel(principal, task_id)
    return await _respond(request, principal, facts, include)


@routes.get(
    "/review",
    Operation(
        "review_task",
        "The whole task as it would run, for approval: secrets first, hidden characters as escapes",
        "Review",
        problems=(404,),
    ),
)
async def review_task(request: Request, principal: Principal, task_id: TaskId) -> Response:
    return json_response(
        review_json(await app_context(request).service.tasks.get(principal, task_id), request_language(request))
    )


@routes.post(
    "/approve",
    Operation(
        "approve_task",
        "Approve a task of an agent; the digest names the reviewed content",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def approve_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("Approve", "body", example=APPROVE)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    digest = _require_text(body, "digest")
    await _load_expected(request, principal, task_id)
    facts = await service_for(request, dry_run=dry_run).approvals.approve(principal, task_id, digest)
    return await _respond(request, principal, facts, include)


@routes.post(
    "/reject",
    Operation(
        "reject_task",
        "Reject a task of an agent that waits for approval: it is cancelled, and the agent can read the reason",
        "Task",
        problems=_PROBLEMS,
        headers=(IF_MATCH,),
    ),
)
@idempotent(Scope.WRITE, _replay_task)
async def reject_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    body: Annotated[Any, Body("Reject", "body", optional=True, example=REJECT)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    reason = text_or_none("reason", body.get("reason")) or ""
    await _load_expected(request, principal, task_id)
    facts = await service_for(request, dry_run=dry_run).approvals.reject(principal, task_id, reason)
    return await _respond(request, principal, facts, include)


@routes.get(
    "/chain",
    Operation(
        "get_task_chain",
        "The tasks that it descends from, itself, and those that descend from it",
        "TaskChain",
        problems=(404,),
    ),
)
async def get_task_chain(
    request: Request, principal: Principal, task_id: TaskId, *, include: Include = None
) -> Response:
    included, language = parse_include(include), request_language(request)
    chain = await app_context(request).service.tasks.chain(principal, task_id)
    tasks = [await render_task(request, principal, each, language, included) for each in chain.tasks]
    return json_response({"tasks": tasks, "cut": chain.cut})


@routes.get(
    "/why",
    Operation(
        "why_task", "Why it did, or did not, run then: one sentence, and the runs behind it", "Why", problems=(404,)
    ),
)
async def why_task(
    request: Request, principal: Principal, task_id: TaskId, *, at: Moment = None, zone: Zone = None
) -> Response:
    lang = request_language(request)
    why = await app_context(request).service.explanations.explain(principal, task_id, at, zone or principal.zone)
    task = why.facts.task
    return json_response(why_json(why.explanation, utc(why.at), task.name, task.schedule.zone, lang, why.outage))


@routes.get(
    "/explain",
    Operation("explain_task", "What its schedule means, and when it fires next", "Fires", problems=(404,)),
)
async def explain_task(
    request: Request,
    principal: Principal,
    task_id: TaskId,
    *,
    number: Annotated[int, Query(minimum=1, maximum=1_000, description="How many fires.")] = 5,
    after: Annotated[str | None, Query(max_length=100, description="From here on; else now.")] = None,
) -> Response:
    context = app_context(request)
    facts = await context.service.tasks.get(principal, task_id)
    return json_response(
        preview_json(
            compute_task_preview(facts.task, facts.status, context.clock.now(), number, after),
            request_language(request),
        )
    )


# --- helpers ---------------------------------------------------------------------------------------------------------


def _require_text(body: Mapping[str, Any], name: str) -> str:
    value = text_or_none(name, body.get(name))
    if value is None:
        raise refuse("missing_field", name=name)
    return value


def _conditional_tasks(request: Request, *, dry_run: bool) -> Tasks:
    """Return tasks that check the request's conditions inside each write, so that a concurrent change is noticed."""
    return service_for(request, dry_run=dry_run).tasks.with_condition(precondition_check(request))


async def _load_expected(request: Request, principal: Principal, task_id: str) -> Facts:
    """Return the task; refuse if it is not the version that `If-Match` names."""
    facts = await app_context(request).service.tasks.get(principal, task_id)
    expected_version(request, facts.task.version)
    return facts


async def _respond(request: Request, principal: Principal, facts: Facts, include: str | None) -> Response:
    data = await render_task(request, principal, facts, request_language(request), parse_include(include))
    return entity_response(request, data, facts.task.version)
