"""Lanes: list with their use, and set the limit of concurrent runs."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...model.refusals import refuse
from ...web.authentication import Caller
from ...web.body import read_json_body
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routers import resource_router
from ...wire.fields import check_fields
from ...wire.overview import lane_json
from ..examples import LANE
from ..openapi import describe_operation
from ..parameters import DryRun, service_for

router: Final = resource_router("/v1", "lanes")


@router.get("/lanes", **describe_operation("list_lanes", "The lanes, and how full they are", "LaneList"))
async def list_lanes(request: Request, principal: Caller) -> Response:
    lanes = await app_context(request).service.lanes.all(principal)
    return json_response({"items": [lane_json(each) for each in lanes], "next_cursor": None})


@router.put(
    "/lanes/{lane:path}",
    **describe_operation(
        "put_lane",
        "Limit the concurrent runs of a lane across all nodes; with 0 none starts",
        "Lane",
        request_body="LaneLimit",
        example=LANE,
    ),
)
async def put_lane(
    request: Request, principal: Caller, lane: Annotated[str, Path(max_length=200)], *, dry_run: DryRun = False
) -> Response:
    body = check_fields("body", await read_json_body(request), ("limit",))
    if "limit" not in body:
        raise refuse("missing_field", name="limit")
    return json_response(
        lane_json(await service_for(request, dry_run=dry_run).lanes.limit(principal, lane, body["limit"]))
    )
