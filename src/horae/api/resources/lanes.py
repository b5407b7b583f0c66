"""Lanes: list with their use, and set the limit of concurrent runs."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...model.refusals import refuse
from ...web.authentication import Who
from ...web.body import json_body
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.fields import check_fields
from ...wire.overview import lane_json
from ..examples import LANE
from ..openapi import told
from ..parameters import DryRun, acting

router: Final = resource("/v1", "lanes")


@router.get("/lanes", **told("list_lanes", "The lanes, and how full they are", "LaneList"))
async def list_lanes(request: Request, principal: Who) -> Response:
    lanes = await house_of(request).service.lanes.all(principal)
    return answer({"items": [lane_json(each) for each in lanes], "next_cursor": None})


@router.put(
    "/lanes/{lane:path}",
    **told(
        "put_lane",
        "Limit the concurrent runs of a lane across all nodes; with 0 none starts",
        "Lane",
        request_body="LaneLimit",
        example=LANE,
    ),
)
async def put_lane(
    request: Request, principal: Who, lane: Annotated[str, Path(max_length=200)], *, dry_run: DryRun = False
) -> Response:
    body = check_fields("body", await json_body(request), ("limit",))
    if "limit" not in body:
        raise refuse("missing_field", name="limit")
    return answer(lane_json(await acting(request, dry_run=dry_run).lanes.limit(principal, lane, body["limit"])))
