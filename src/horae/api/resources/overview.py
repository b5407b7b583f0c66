"""Overview of the deployment, and the identity of the caller."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...version import __version__
from ...web.language import request_language
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.accounts import quotas_json
from ...wire.overview import overview_json
from ..openapi import Operation
from ..parameters import caller_zone

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
        "quotas": quotas_json(principal.quotas),
        "token": principal.actor,
        "version": __version__,
    }
    return json_response(data)


@routes.get(
    "/overview",
    Operation("get_overview", "At a glance: alive, on time, what broke, what is next", "Overview"),
)
async def get_overview(request: Request, principal: Principal) -> Response:
    return json_response(
        overview_json(await app_context(request).service.overview.now(principal), request_language(request))
    )
