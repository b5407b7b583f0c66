"""Failures: failed runs grouped by the shape of their error, and retry of several runs at once."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.refusals import refuse
from ...service.runs.failures import MAX_RETRIES
from ...web.language import request_language
from ...web.parameters import Body, Query
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.failures import failure_groups_json, retry_report_json
from ..openapi import RETRIES, Operation
from ..parameters import DryRun, Limit, Owner, Q, State, System, reader_of, service_for
from .runs import Since, Until, build_run_filter

routes: Final = RouteGroup("/v1", "runs")


@routes.get(
    "/failures",
    Operation(
        "list_failures",
        "The newest failed runs, grouped by the first line of their error without numbers, ids and quoted values",
        "FailureGroups",
    ),
)
async def list_failures(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    *,
    task: Annotated[str | None, Query(max_length=200, description="The id of a task.")] = None,
    owner: Owner = None,
    since: Since = None,
    until: Until = None,
    q: Q = None,
    state: State = None,
    key: Annotated[str | None, Query(max_length=16, description="The key of a group, or its beginning.")] = None,
    limit: Limit = 50,
    system: System = False,
) -> Response:
    service = app_context(request).service
    run_filter = await build_run_filter(
        request, principal, task=task, owner=owner, since=since, until=until, q=q, state=state
    )
    found = await service.failures.summaries(reader_of(principal, system=system), run_filter, key, limit)
    names = await service.tasks.names(principal, [group.newest.task_id for group in found.items])
    return json_response(failure_groups_json(found, names, request_language(request)))


@routes.post(
    "/failures/retry",
    Operation(
        "retry_runs",
        "The occurrences of several failed runs are attempted once more",
        "RetryReport",
        description="`run_ids` of a group of `GET /v1/failures`, or any others. An occurrence that has an attempt waiting "
        "gets no second one, so the request may be repeated.",
    ),
)
async def retry_runs(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("RetryRuns", "body", example=RETRIES)],
    *,
    dry_run: DryRun = False,
) -> Response:
    run_ids = body.get("run_ids")
    if (
        not isinstance(run_ids, list)
        or len(run_ids) > MAX_RETRIES
        or not all(isinstance(each, str) for each in run_ids)
    ):
        raise refuse("bad_policy", name="run_ids", value=run_ids, wanted=f"list of up to {MAX_RETRIES} run ids")
    report = await service_for(request, dry_run=dry_run).failures.retry(principal, run_ids)
    return json_response(retry_report_json(report, request_language(request), dry_run=dry_run))
