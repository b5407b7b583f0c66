"""Lanes: list with their use and with what waits in them, and set the limit of concurrent runs and the rate of starts."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.lanes.rate import RateChange, parse_rate
from ...model.refusals import refuse
from ...web.language import request_language
from ...web.parameters import Body, Path
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.lanes import lane_detail_json, lane_status_json
from ...wire.overview import lane_json, lane_queue_json
from ..openapi import LANE, Operation
from ..parameters import DryRun, Limit, service_for

routes: Final = RouteGroup("/v1", "lanes")


@routes.get("/lanes", Operation("list_lanes", "The lanes, and how full they are", "LaneList"))
async def list_lanes(request: Request, principal: Principal) -> Response:
    lanes = await app_context(request).service.lanes.statuses(principal)
    return json_response({"items": [lane_status_json(each) for each in lanes], "next_cursor": None})


@routes.get("/lanes/queues", Operation("list_lane_queues", "The lanes in which due entries wait", "LaneQueueList"))
async def list_lane_queues(request: Request, principal: Principal) -> Response:
    queues = await app_context(request).service.lanes.queues(principal)
    return json_response({"items": [lane_queue_json(each) for each in queues], "next_cursor": None})


@routes.get(
    "/lanes/{lane:path}",
    Operation("get_lane", "A lane with its runs, and the entries that wait in it in their order", "LaneDetail"),
)
async def get_lane(
    request: Request,
    principal: Principal,
    lane: Annotated[str, Path(max_length=200)],
    *,
    limit: Limit = 50,
) -> Response:
    detail = await app_context(request).service.lanes.show(principal, lane, limit)
    return json_response(lane_detail_json(detail, request_language(request)))


@routes.put(
    "/lanes/{lane:path}",
    Operation(
        "put_lane",
        "Limit the concurrent runs of a lane across all nodes (with 0 none starts), or its starts within a period",
        "Lane",
    ),
)
async def put_lane(
    request: Request,
    principal: Principal,
    lane: Annotated[str, Path(max_length=200)],
    body: Annotated[Any, Body("LaneLimit", "body", example=LANE)],
    *,
    dry_run: DryRun = False,
) -> Response:
    if "limit" not in body and "rate" not in body:
        raise refuse("missing_field", name="limit")
    lanes = service_for(request, dry_run=dry_run).lanes
    found = await lanes.limit(principal, lane, body.get("limit"), rate=_read_rate(body))
    return json_response(lane_json(found))


def _read_rate(body: dict[str, Any]) -> RateChange:
    if "rate" not in body:
        return "keep"
    return None if body["rate"] is None else parse_rate(body["rate"])
