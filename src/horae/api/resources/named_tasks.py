"""Tasks by natural key, or by any unique name or id prefix."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.refusals import refuse
from ...web.etags import expected_version, is_create_only
from ...web.parameters import Body, Path
from ...web.refusals import refuse as refuse_request
from ...web.request_context import app_context
from ...web.routing import RouteGroup
from ..create_task import TaskCreator, parse_task
from ..field_selection import Fields, task_entity
from ..openapi import IF_MATCH, IF_NONE_MATCH, NEW_TASK, Operation
from ..parameters import DryRun, Include, Owner, parse_include
from .tasks import Paused

routes: Final = RouteGroup("/v1/tasks", "tasks")

Key = Annotated[str, Path(max_length=200, description="The natural key that its owner gave it.")]
Name = Annotated[str, Path(max_length=200, description="An id, a name, a key, or as much of id or name as is unique.")]


@routes.get(
    "/by-key/{key:path}",
    Operation("get_task_by_key", "The task with this key", "Task", problems=(404,), headers=(IF_NONE_MATCH,)),
)
async def get_by_key(
    request: Request,
    principal: Principal,
    key: Key,
    *,
    owner: Owner = None,
    include: Include = None,
    fields: Fields = None,
) -> Response:
    facts = await _find_by_key(request, principal, key, owner)
    if facts is None:
        raise refuse("no_such_task", id=key)
    return await task_entity(request, principal, facts, include, fields)


@routes.put(
    "/by-key/{key:path}",
    Operation(
        "put_task_by_key",
        "Create or edit the task with this key; the same request twice changes nothing",
        "Receipt",
        problems=(404, 409, 412),
        headers=(IF_MATCH, IF_NONE_MATCH),
        also={201: "Receipt"},
        description="201 when it was created, 200 when it existed. `If-None-Match: *` changes nothing that exists.",
    ),
)
async def put_by_key(  # noqa: PLR0913 - one keyword for each parameter
    request: Request,
    principal: Principal,
    key: Key,
    body: Annotated[Any, Body("NewTask", example=NEW_TASK)],
    *,
    owner: Owner = None,
    dry_run: DryRun = False,
    paused: Paused = None,
    include: Include = None,
) -> Response:
    fixed = {"key": key} if owner is None else {"key": key, "owner": owner}
    parsed = await parse_task(request, principal, {**body, **fixed} if isinstance(body, dict) else body)
    before = await _find_by_key(request, principal, key, parsed.request.owner)
    if before is None and "if-match" in request.headers:
        raise refuse_request("version_changed", current="nothing is there")
    if before is not None:
        if is_create_only(request):
            raise refuse_request(
                "version_changed", current=f"version {before.task.version}", version=before.task.version
            )
        expected_version(request, before.task.version)
    return await TaskCreator(request, principal, parse_include(include), dry_run=dry_run).create(parsed, paused)


@routes.get(
    "/named/{name:path}",
    Operation(
        "find_task", "One task by any name that is unique", "Task", problems=(404, 409), headers=(IF_NONE_MATCH,)
    ),
)
async def find_task(
    request: Request, principal: Principal, name: Name, *, include: Include = None, fields: Fields = None
) -> Response:
    facts = await app_context(request).service.tasks.find_by_name(principal, name)
    return await task_entity(request, principal, facts, include, fields)


async def _find_by_key(request: Request, principal: Principal, key: str, owner: str | None) -> Facts | None:
    return await app_context(request).service.tasks.find_by_key(principal, key, owner)
