"""Overview of the deployment, and the identity of the caller."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...version import __version__
from ...web.authentication import Who
from ...web.language import language
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.accounts import quotas_json
from ...wire.overview import overview_json
from ..openapi import told
from ..parameters import zone_of

router: Final = resource("/v1", "overview")


@router.get("/whoami", **told("whoami", "Who this token says you are, and what it lets you do", "Whoami"))
async def whoami(request: Request, principal: Who) -> Response:
    data: dict[str, Any] = {
        "owner": principal.owner,
        "admin": principal.admin,
        "scopes": sorted(scope.value for scope in principal.scopes),
        "agent": principal.agent,
        "zone": zone_of(request, principal),
        "owner_zone": principal.zone,
        "quotas": quotas_json(principal.quotas),
        "token": principal.actor,
        "version": __version__,
    }
    return answer(data)


@router.get("/overview", **told("get_overview", "At a glance: alive, on time, what broke, what is next", "Overview"))
async def get_overview(request: Request, principal: Who) -> Response:
    return answer(overview_json(await house_of(request).service.overview.now(principal), language(request)))
