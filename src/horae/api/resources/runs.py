"""Runs: list, get, logs, cancel, retry; and callbacks with which external targets report the end of a waiting run."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import NotFound
from ...model.accounts.principal import Principal, Scope
from ...model.page import Page
from ...model.run import Run
from ...outgoing.signatures import verify_callback_token
from ...ports.store import RunFilter
from ...service.query.filters import narrow_run_filter
from ...service.query.instants import parse_future_instant
from ...service.runs.runs import MAX_LINE_WAIT, build_outcome
from ...service.service import Service
from ...web.authentication import bearer_token, count_failure
from ...web.body import read_json_body
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.language import request_language
from ...web.pagination import decode_cursor, page_response
from ...web.parameters import Body, Query
from ...web.refusals import refuse
from ...web.request_context import app_context
from ...web.responses import encode_json, json_response, no_content
from ...web.routing import RouteGroup
from ...wire.fields import check_fields, text_or_none
from ...wire.runs import chain_json, handled_json, idle_json, line_json, usage_json
from ...wire.tasks.run_inputs import read_input
from ..field_selection import RUN_FIELDS, Fields, FieldSelection, parse_fields
from ..openapi import CALLBACK, RUN_NOW, Operation
from ..parameters import (
    Cursor,
    DryRun,
    Include,
    Limit,
    Owner,
    Q,
    RunId,
    State,
    System,
    TaskId,
    caller_zone,
    parse_include,
    parse_run_states,
    parse_time,
    reader_of,
    render_run,
    render_task,
    service_for,
    tasks_of,
)

routes: Final = RouteGroup("/v1", "runs")
callbacks: Final = RouteGroup("/v1", "runs", authenticated=False)
"""Routes that accept only the callback token of one run."""

Since = Annotated[str | None, Query(max_length=100, description="Planned at or after this moment.")]
Until = Annotated[str | None, Query(max_length=100, description="Planned at or before this moment.")]
_MAX_LINES: Final = 1_000


@routes.get("/runs", Operation("list_runs", "Runs, newest planned first, skipped ones included", "RunPage"))
async def list_runs(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    *,
    task: Annotated[str | None, Query(max_length=200, description="The id of a task.")] = None,
    owner: Owner = None,
    state: State = None,
    since: Since = None,
    until: Until = None,
    q: Q = None,
    system: System = False,
    fields: Fields = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    run_filter = await build_run_filter(
        request, principal, task=task, owner=owner, state=state, since=since, until=until, q=q
    )
    selection = parse_fields(fields, RUN_FIELDS)
    return await _page(request, principal, run_filter, selection, limit, cursor, system=system)


async def build_run_filter(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    *,
    task: str | None,
    owner: str | None,
    since: str | None,
    until: str | None,
    q: str | None,
    state: list[str] | None = None,
) -> RunFilter:
    """Build the filter of a list of runs from its parameters and its query."""
    zone, now = caller_zone(request, principal), app_context(request).clock.now()
    run_filter = RunFilter(
        owner, task, parse_run_states(state), parse_time(since, zone, now), parse_time(until, zone, now, last=True)
    )
    if q is None:
        return run_filter
    narrowed = narrow_run_filter(run_filter, q, zone, now)
    if task is not None or narrowed.task_id is None:
        return narrowed
    return narrowed._replace(task_id=await _task_id(request, principal, narrowed.task_id))


@routes.get(
    "/tasks/{task_id}/runs",
    Operation("list_runs_of_task", "The runs of one task", "RunPage", problems=(404,)),
)
async def list_runs_of_task(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    task_id: TaskId,
    *,
    state: State = None,
    since: Since = None,
    until: Until = None,
    q: Q = None,
    fields: Fields = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    context = app_context(request)
    facts = await context.service.tasks.get(principal, task_id)
    zone, now = facts.task.schedule.zone or caller_zone(request, principal), context.clock.now()
    since_at, until_at = parse_time(since, zone, now), parse_time(until, zone, now, last=True)
    run_filter = RunFilter(None, facts.task.id, parse_run_states(state), since_at, until_at)
    if q is not None:
        run_filter = narrow_run_filter(run_filter, q, zone, now)
    return await _page(request, principal, run_filter, parse_fields(fields, RUN_FIELDS), limit, cursor)


@routes.get("/runs/{run_id}", Operation("get_run", "One run", "Run", problems=(404,)))
async def get_run(request: Request, principal: Principal, run_id: RunId, *, fields: Fields = None) -> Response:
    service, selection = app_context(request).service, parse_fields(fields, RUN_FIELDS)
    run = await service.runs.get(principal, run_id)
    rendered = await _render_run(request, principal, service, run)
    idle = await service.runs.idle(principal, run.id) if run.live else None
    usage = usage_json(await service.runs.usage(principal, run.id))
    idle_state = idle_json(idle, request_language(request))
    handled = handled_json(await service.runs.handled(principal, run.id))
    return json_response(selection.select(rendered | {"idle": idle_state, "usage": usage, "handled": handled}))


@routes.get(
    "/runs/{run_id}/attempts",
    Operation("list_attempts", "Every run of the same occurrence, first one first", "RunPage", problems=(404,)),
)
async def list_attempts(request: Request, principal: Principal, run_id: RunId, *, fields: Fields = None) -> Response:
    service, lang, selection = app_context(request).service, request_language(request), parse_fields(fields, RUN_FIELDS)
    run = await service.runs.get(principal, run_id)
    same = await service.runs.attempts(principal, run_id)
    tasks = await tasks_of(service, principal, [run])
    rendered = [selection.select(render_run(each, tasks.get(run.task_id), lang)) for each in same]
    return json_response({"items": rendered, "next_cursor": None})


@routes.get(
    "/runs/{run_id}/chain",
    Operation("get_run_chain", "Every link of the chain that a run belongs to", "RunChain", problems=(404,)),
)
async def get_run_chain(request: Request, principal: Principal, run_id: RunId) -> Response:
    return json_response(chain_json(await app_context(request).service.runs.chain(principal, run_id)))


@routes.get("/runs/{run_id}/logs", Operation("list_lines", "Log lines of a run", "Lines", problems=(404,)))
async def list_lines(
    request: Request,
    principal: Principal,
    run_id: RunId,
    *,
    after: Annotated[
        int, Query(minimum=0, maximum=2**53, description="The number of the last line that you have.")
    ] = 0,
    limit: Annotated[int, Query(minimum=1, maximum=_MAX_LINES)] = 200,
    wait: Annotated[
        int,
        Query(minimum=0, maximum=MAX_LINE_WAIT, description="Seconds to wait for a line while the run goes on."),
    ] = 0,
) -> Response:
    lines = await app_context(request).service.runs.lines(principal, run_id, after, limit, wait=wait)
    next_after = lines[-1].number if len(lines) == limit else None
    return json_response({"items": [line_json(each) for each in lines], "next_after": next_after})


async def _replay_run(request: Request, principal: Principal, _ids: Ids) -> Response:
    service = app_context(request).service
    return json_response(
        await _render_run(request, principal, service, await service.runs.get(principal, request.path_params["run_id"]))
    )


async def _replay_retry(request: Request, principal: Principal, ids: Ids) -> Response:
    facts = await app_context(request).service.tasks.get(principal, ids["task"])
    include = parse_include(request.query_params.get("include"))
    return json_response(await render_task(request, principal, facts, request_language(request), include), 202)


@routes.post(
    "/runs/{run_id}/cancel",
    Operation("cancel_run", "Ask a run to end", "Run", problems=(404, 409)),
)
@idempotent(Scope.RUN, _replay_run)
async def cancel_run(request: Request, principal: Principal, run_id: RunId, *, dry_run: DryRun = False) -> Response:
    service = service_for(request, dry_run=dry_run)
    return json_response(await _render_run(request, principal, service, await service.runs.cancel(principal, run_id)))


@routes.post(
    "/runs/{run_id}/retry",
    Operation(
        "retry_run",
        "The occurrence of a failed run is attempted once more, with the same idempotency key",
        "Task",
        status=202,
        problems=(404, 409),
    ),
)
@idempotent(Scope.RUN, _replay_retry)
async def retry_run(
    request: Request,
    principal: Principal,
    run_id: RunId,
    body: Annotated[Any, Body("Retry", "body", example=RUN_NOW, optional=True)],
    *,
    dry_run: DryRun = False,
    include: Include = None,
) -> Response:
    given = read_input(body.get("input"))
    facts = await service_for(request, dry_run=dry_run).runs.retry(principal, run_id, given)
    store_ids(request, task=facts.task.id)
    return json_response(
        await render_task(request, principal, facts, request_language(request), parse_include(include)), 202
    )


@callbacks.post(
    "/runs/{run_id}/callback",
    Operation(
        "answer_run",
        "Report how a waiting run ended, or that it needs more time",
        None,
        status=204,
        body=Body("Callback", example=CALLBACK),
        problems=(404,),
        description="With the token that came with the call (`Horae-Callback-Token`) as bearer token, or in a header of "
        "that name. One of `result`, `error`, `until`; an empty object is a success without a result.",
    ),
)
async def answer_run(request: Request, run_id: RunId) -> Response:
    context = app_context(request)
    if not context.settings.callbacks:
        raise refuse("callbacks_closed")
    token = request.headers.get("horae-callback-token") or bearer_token(request)
    key = context.settings.secret

    def is_valid(run: Run) -> bool:
        return verify_callback_token(key, run.id, run.token, token)

    # Token and rate limit are checked before the body is read: a request without a token costs nothing.
    try:
        await context.service.runs.awaiting_answer(run_id, is_valid)
    except NotFound:
        count_failure(request)
        raise
    bucket = context.rate_limits.callbacks.take(run_id)
    if bucket.retry_after:
        raise refuse("too_many_callbacks", most=bucket.limit, retry_after=bucket.retry_after)
    body = check_fields("body", await read_json_body(request), ("result", "error", "until"))
    until_text = text_or_none("until", body.get("until"))
    until = None if until_text is None else parse_future_instant(until_text, "UTC", context.clock.now())
    result = None if body.get("result") is None else encode_json(body["result"]).decode()
    outcome = build_outcome(result, text_or_none("error", body.get("error")), until)
    await context.service.runs.answer(run_id, is_valid, outcome)
    return no_content()


async def _task_id(request: Request, principal: Principal, name_or_id: str) -> str:
    """Return the id of a task that a query names by id or name."""
    return (
        name_or_id
        if name_or_id.startswith("tsk_")
        else (await app_context(request).service.tasks.find_by_name(principal, name_or_id)).task.id
    )


async def _page(  # noqa: PLR0913 - the parts of a page by their names
    request: Request,
    principal: Principal,
    run_filter: RunFilter,
    selection: FieldSelection,
    limit: int,
    cursor: str | None,
    *,
    system: bool = False,
) -> Response:
    service, lang = app_context(request).service, request_language(request)
    reader, after = reader_of(principal, system=system), decode_cursor(request, principal, cursor)
    page: Page[Run] = await service.runs.page(reader, run_filter, after, limit)
    tasks = await tasks_of(service, principal, page.items)
    return page_response(
        request, principal, page, lambda run: selection.select(render_run(run, tasks.get(run.task_id), lang))
    )


async def _render_run(request: Request, principal: Principal, service: Service, run: Run) -> dict[str, Any]:
    return render_run(run, (await tasks_of(service, principal, [run])).get(run.task_id), request_language(request))
