"""Destinations of messages to people: set, list, remove, test; and their notices. A URL is never returned."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...web.pagination import decode_cursor, page_response
from ...web.parameters import Body, Path
from ...web.request_context import app_context
from ...web.responses import json_response, no_content
from ...web.routing import RouteGroup
from ...wire.destinations import destination_json, notice_delivery_json
from ..openapi import Operation
from ..parameters import Cursor, DryRun, Limit, service_for
from ..parameters import Owner as OwnerQuery

routes: Final = RouteGroup("/v1/destinations", "destinations")

DestinationName = Annotated[str, Path(max_length=200, description="The name of a destination.")]
_DESTINATION: Final = {"url": "json://hooks.example.com/horae", "zone": "Europe/Berlin", "quiet": "22:00-07:00"}


@routes.get("", Operation("list_destinations", "Destinations of messages to people", "DestinationPage"))
async def list_destinations(
    request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.destinations.page(principal, after, limit)
    return page_response(request, principal, page, destination_json)


@routes.get("/{name}", Operation("get_destination", "One destination", "Destination", problems=(404,)))
async def get_destination(
    request: Request, principal: Principal, name: DestinationName, *, owner: OwnerQuery = None
) -> Response:
    return json_response(destination_json(await app_context(request).service.destinations.get(principal, name, owner)))


@routes.put(
    "/{name}",
    Operation(
        "put_destination",
        "A destination, or other values for the given fields of one; the URL is stored encrypted",
        "Destination",
        problems=(404, 409),
    ),
)
async def put_destination(
    request: Request,
    principal: Principal,
    name: DestinationName,
    body: Annotated[Any, Body("DestinationFields", "destination", example=_DESTINATION)],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    destinations = service_for(request, dry_run=dry_run).destinations
    return json_response(destination_json(await destinations.put(principal, name, owner, **body)))


@routes.delete(
    "/{name}",
    Operation("remove_destination", "Remove a destination and its URL", None, status=204, problems=(404, 409)),
)
async def remove_destination(
    request: Request, principal: Principal, name: DestinationName, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    await service_for(request, dry_run=dry_run).destinations.remove(principal, name, owner)
    return no_content()


@routes.post(
    "/{name}/test",
    Operation("test_destination", "Send a test message now, and return its delivery", "Notice", problems=(404,)),
)
async def test_destination(
    request: Request,
    principal: Principal,
    name: DestinationName,
    *,
    owner: OwnerQuery = None,  # noqa: PT028 - a route, no test
) -> Response:
    delivery = await app_context(request).service.destinations.test(principal, name, owner)
    return json_response(notice_delivery_json(delivery))


@routes.get(
    "/{name}/notices",
    Operation("list_notices", "Notices to it, newest first; kept for seven days", "NoticePage", problems=(404,)),
)
async def list_notices(
    request: Request,
    principal: Principal,
    name: DestinationName,
    *,
    owner: OwnerQuery = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.destinations.deliveries(principal, name, owner, after, limit)
    return page_response(request, principal, page, notice_delivery_json)
