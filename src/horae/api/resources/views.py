"""Saved views: named queries of the lists of tasks and runs, of the caller's owner."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.refusals import refuse
from ...service.accounts.views import LISTS
from ...web.parameters import Body, Path, Query
from ...web.request_context import app_context
from ...web.responses import json_response, no_content
from ...web.routing import RouteGroup
from ...wire.accounts import view_json
from ...wire.fields import text_or_none
from ..openapi import VIEW, Operation
from ..parameters import DryRun, service_for

routes: Final = RouteGroup("/v1", "views")

ListName = Annotated[str, Path(max_length=20, description="The list that the view filters: `tasks` or `runs`.")]
ViewName = Annotated[str, Path(max_length=200, description="The name of a view.")]


@routes.get("/views", Operation("list_views", "Your saved views, by name", "ViewList"))
async def list_views(
    request: Request,
    principal: Principal,
    *,
    list_name: Annotated[
        str | None, Query(name="list", choices=LISTS, description="Only those of one list: `tasks` or `runs`.")
    ] = None,
) -> Response:
    views = await app_context(request).service.views.all(principal, list_name)
    return json_response({"items": [view_json(each) for each in views], "next_cursor": None})


@routes.get(
    "/views/{list_name}/{view_name:path}",
    Operation("get_view", "One saved view", "View", problems=(404,)),
)
async def get_view(request: Request, principal: Principal, list_name: ListName, view_name: ViewName) -> Response:
    return json_response(view_json(await app_context(request).service.views.get(principal, list_name, view_name)))


@routes.put(
    "/views/{list_name}/{view_name:path}",
    Operation("put_view", "A saved view, or a new query for one", "View", problems=(409,)),
)
async def put_view(
    request: Request,
    principal: Principal,
    list_name: ListName,
    view_name: ViewName,
    body: Annotated[Any, Body("ViewQuery", "view", example=VIEW)],
    *,
    dry_run: DryRun = False,
) -> Response:
    query = text_or_none("query", body.get("query"))
    if query is None:
        raise refuse("missing_field", name="query")
    service = service_for(request, dry_run=dry_run)
    return json_response(view_json(await service.views.save(principal, list_name, view_name, query)))


@routes.delete(
    "/views/{list_name}/{view_name:path}",
    Operation("delete_view", "Remove a saved view", None, status=204, problems=(404,)),
)
async def delete_view(
    request: Request, principal: Principal, list_name: ListName, view_name: ViewName, *, dry_run: DryRun = False
) -> Response:
    await service_for(request, dry_run=dry_run).views.remove(principal, list_name, view_name)
    return no_content()
