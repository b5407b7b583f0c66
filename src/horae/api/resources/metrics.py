"""Prometheus metrics of this process, of the engine process next to it, and of the deployment."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...observe.exposition import CONTENT_TYPE
from ...observe.metrics_server import Observability, scrape_engines
from ...observe.scrape_access import check_access
from ...web.authentication import authenticate_caller
from ...web.request_context import app_context
from ...web.routing import RouteGroup
from ..openapi import Operation

routes: Final = RouteGroup("", "health", authenticated=False)


@routes.get(
    "/metrics",
    Operation(
        "metrics",
        "Metrics in the Prometheus format; from this machine without a token, else with an admin's",
        None,
        public=True,
        problems=(401, 403, 404, 429, 503),
        media_type="text/plain",
    ),
)
async def metrics(request: Request) -> Response:
    context = app_context(request)
    observability: Observability = context.observability
    peer = "" if request.client is None else request.client.host

    async def authenticate(_token: str) -> Principal:
        # Through the usual authentication, so that its rate limits apply.
        return await authenticate_caller(request)

    await check_access(observability.policy, peer, request.headers, authenticate)
    engine_texts = await scrape_engines(observability.engine_peers)
    return Response(await observability.observer.text(context.service.store, engine_texts), media_type=CONTENT_TYPE)
