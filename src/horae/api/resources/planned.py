"""Planned runs: the occurrences to come within a period, and their numbers per hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.page import MAX_HTTP_PAGE_SIZE
from ...web.parameters import Query
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.planned import planned_json
from ..openapi import Operation
from ..parameters import System, caller_zone, parse_time, reader_of

routes: Final = RouteGroup("/v1", "overview")

_DAY: Final = timedelta(days=1)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


@routes.get(
    "/planned",
    Operation(
        "list_planned",
        "What will run within a period, by the engine's own schedule code, and how many runs in each hour",
        "Planned",
    ),
)
async def list_planned(
    request: Request,
    principal: Principal,
    *,
    since: Annotated[str | None, Query(max_length=200, description="Due from this instant on. Default: now.")] = None,
    until: Annotated[
        str | None,
        Query(
            max_length=200, description="Due before this instant, at most 8 days later. Default: a day after `since`."
        ),
    ] = None,
    limit: Annotated[
        int, Query(minimum=1, maximum=MAX_HTTP_PAGE_SIZE, description="How many items at the most.")
    ] = 100,
    system: System = False,
) -> Response:
    context = app_context(request)
    now, zone = context.clock.now(), caller_zone(request, principal)
    begin = parse_time(since, zone, now) or now
    end = parse_time(until, zone, now) or begin + min(_DAY, _LAST - begin)
    planned = context.service.planned
    reader = reader_of(principal, system=system)
    hours = await planned.per_hour(reader, begin, end)
    return json_response(planned_json(await planned.list(reader, begin, end, limit), hours))
