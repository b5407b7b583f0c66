"""Overview of the deployment, and the identity of the caller."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...version import __version__
from ...web.language import request_language
from ...web.parameters import Query
from ...web.request_context import app_context
from ...web.responses import json_response, no_content
from ...web.routing import RouteGroup
from ...wire.accounts import quotas_json
from ...wire.overview import overview_json
from ..openapi import Operation
from ..parameters import System, caller_zone, parse_time, reader_of

routes: Final = RouteGroup("/v1", "overview")


@routes.get("/whoami", Operation("whoami", "Who this token says you are, and what it lets you do", "Whoami"))
async def whoami(request: Request, principal: Principal) -> Response:
    data: dict[str, Any] = {
        "owner": principal.owner,
        "admin": principal.admin,
        "scopes": sorted(scope.value for scope in principal.scopes),
        "agent": principal.agent,
        "zone": caller_zone(request, principal),
        "owner_zone": principal.zone,
        "language": principal.language,
        "quotas": quotas_json(principal.quotas),
        "token": principal.actor,
        "version": __version__,
    }
    return json_response(data)


@routes.get(
    "/overview",
    Operation("get_overview", "At a glance: alive, on time, what broke, what is next", "Overview"),
)
async def get_overview(request: Request, principal: Principal, *, system: System = False) -> Response:
    overview = await app_context(request).service.overview.now(reader_of(principal, system=system))
    return json_response(overview_json(overview, request_language(request)))


@routes.delete(
    "/overview/outage",
    Operation("dismiss_outage", "Leave outages that ended until then out of your overview", None, status=204),
)
async def dismiss_outage(
    request: Request,
    principal: Principal,
    *,
    until: Annotated[str | None, Query(max_length=200, description="The end of the outage; now without it.")] = None,
) -> Response:
    context = app_context(request)
    at = parse_time(until, caller_zone(request, principal), context.clock.now())
    await context.service.outage_reviews.dismiss(principal, at or context.clock.now())
    return no_content()
