"""Liveness and readiness probes, without a token."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...observe.health import HealthReport, check_health
from ...observe.metrics_server import Observability
from ...version import __version__
from ...web.language import request_language
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.instants import utc
from ...wire.problems import public_error_json
from ..openapi import Operation

routes: Final = RouteGroup("", "health", authenticated=False)


@routes.get("/healthz", Operation("healthz", "The process is alive", "Health", public=True))
async def healthz(_request: Request) -> Response:
    return json_response({"status": "ok", "version": __version__})


async def _load_condition(request: Request) -> HealthReport:
    context = app_context(request)
    observability: Observability = context.observability
    return await check_health(
        context.service.store,
        context.clock,
        observability.observer.write_probe,
        tolerance=observability.tolerance,
        grace=observability.grace,
    )


async def is_ready(request: Request) -> bool:
    """Return whether `/readyz` would answer 200."""
    return (await _load_condition(request)).readiness.is_ready(engine=app_context(request).settings.expects_engine)


@routes.get(
    "/readyz",
    Operation(
        "readyz",
        "It can do its work; if not (503), which part is missing",
        "Readiness",
        public=True,
        also={503: "Readiness"},
    ),
)
async def readyz(request: Request) -> Response:
    state = await _load_condition(request)
    ready = state.readiness.is_ready(engine=app_context(request).settings.expects_engine)
    data: dict[str, Any] = {
        "status": "ready" if ready else "not ready",
        "version": __version__,
        "now": utc(app_context(request).clock.now()),
        "parts": state.readiness._asdict(),
        "clock_steps": state.steps_json(),
        "problem": public_error_json(state.problem, request_language(request)),
    }
    return json_response(data, 200 if ready else 503, None if ready else {"Retry-After": "2"})
