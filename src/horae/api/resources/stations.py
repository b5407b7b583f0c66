"""Stations: list them with who has joined, allow a key, remove a key or a station."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.refusals import refuse
from ...service.stations.stations import StationStatus
from ...web.pagination import decode_cursor, page_response
from ...web.parameters import Body, Path, Query
from ...web.request_context import app_context
from ...web.responses import json_response, no_content
from ...web.routing import RouteGroup
from ...wire.stations import station_json
from ..openapi import Operation
from ..parameters import Cursor, DryRun, Limit, service_for
from ..parameters import Owner as OwnerQuery

routes: Final = RouteGroup("/v1/stations", "stations")

StationName = Annotated[str, Path(max_length=200, description="The name of a station.")]
KeyQuery = Annotated[str | None, Query(max_length=100, description="Remove this key only.")]
_KEY: Final = {"key": "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "kind": "api"}


@routes.get("", Operation("list_stations", "Stations, and who has joined", "StationPage"))
async def list_stations(
    request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.stations.page(principal, after, limit)
    return page_response(request, principal, page, station_json)


@routes.get("/{name}", Operation("get_station", "One station", "Station", problems=(404,)))
async def get_station(
    request: Request, principal: Principal, name: StationName, *, owner: OwnerQuery = None
) -> Response:
    return json_response(station_json(await app_context(request).service.stations.get(principal, name, owner)))


@routes.put(
    "/{name}",
    Operation("allow_station", "Allow a key to join as this station", "Station", problems=(404, 409, 422)),
)
async def allow_station(
    request: Request,
    principal: Principal,
    name: StationName,
    body: Annotated[Any, Body("StationKey", "key", example=_KEY)],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    if "key" not in body:
        raise refuse("missing_field", name="key")
    stations = service_for(request, dry_run=dry_run).stations
    station = await stations.allow(
        principal, name, body["key"], kind=body.get("kind"), worker=body.get("worker"), owner=owner
    )
    return json_response(station_json(StationStatus(station, ())))


@routes.delete(
    "/{name}",
    Operation("remove_station", "Remove a station, or one of its keys", None, status=204, problems=(404, 409)),
)
async def remove_station(
    request: Request,
    principal: Principal,
    name: StationName,
    *,
    key: KeyQuery = None,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    await service_for(request, dry_run=dry_run).stations.remove(principal, name, key, owner)
    return no_content()
