"""Assembles the FastAPI application: routers, exception handlers, middleware and the application context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from ..clock import Clock
from ..errors import HoraeError
from ..observe.catalogue import EVENT_READERS
from ..observe.observer import Observer
from ..observe.requests import ObservedRequests
from ..observe.scrape_access import Observability
from ..service.service import Service
from ..version import __version__
from ..web.fast_routes import FastRouter
from ..web.middleware import RequestMiddleware
from ..web.problems import handle_http_error, handle_invalid_parameter, handle_refusal
from ..web.rate_limit import RateLimits
from ..web.request_context import AppContext, WebSettings
from .compat import ROUTERS as COMPATIBLE
from .event_streams import EventStreams
from .resources import (
    agents,
    audit,
    bulk_tasks,
    documentation,
    events,
    functions,
    health,
    lanes,
    metrics,
    named_tasks,
    nodes,
    operations,
    overview,
    owners,
    root,
    runs,
    schedules,
    secrets,
    task_actions,
    tasks,
    tokens,
    webhooks,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    # Hot routes first; otherwise fixed path segments before path parameters in the same place.
    tasks.router,
    named_tasks.router,
    bulk_tasks.router,
    task_actions.router,
    root.router,
    health.router,
    metrics.router,
    documentation.router,
    runs.router,
    runs.callbacks,
    operations.router,
    schedules.router,
    overview.router,
    nodes.router,
    lanes.router,
    functions.router,
    owners.router,
    tokens.router,
    agents.router,
    secrets.router,
    audit.router,
    events.router,
    webhooks.router,
    *COMPATIBLE,
)
_CORS: Final[dict[str, Any]] = {
    "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": [
        "Authorization",
        "Content-Type",
        "If-Match",
        "If-None-Match",
        "Idempotency-Key",
        "Prefer",
        "X-Request-Id",
    ],
    "expose_headers": [
        "ETag",
        "Link",
        "Location",
        "Preference-Applied",
        "RateLimit",
        "RateLimit-Policy",
        "Retry-After",
        "X-Request-Id",
    ],
    "max_age": 600,
}
"""CORS rules for configured origins; cookies are not allowed."""
_NO_TELEMETRY: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""The framework's own telemetry is off: it would report each request a second time."""
_PARAMETER: Final = re.compile(r"\{\w+(:path)?\}")


def make_app(
    service: Service,
    clock: Clock,
    settings: WebSettings | None = None,
    *,
    tail: Any = None,
    observability: Observability | None = None,
) -> FastAPI:
    """Build the application. `tail` serves the event streams, `observability` provides health and metrics."""
    web_settings = WebSettings() if settings is None else settings
    app = FastAPI(
        title="Horae",
        version=__version__,
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
        exception_handlers={
            HoraeError: handle_refusal,
            HTTPException: handle_http_error,
            RequestValidationError: handle_invalid_parameter,
        },
    )
    observability = observability or Observability(Observer("api", clock))
    observer = observability.observer
    streams = tail or EventStreams(service, clock, web_settings.max_streams)
    observer.metrics.gauge(EVENT_READERS).set_callback(lambda: streams.listening)
    app.state.context = AppContext(service, clock, web_settings, RateLimits(clock), streams, observability)
    for router in ROUTERS:
        # Added as they are: an included router costs extra work on every request.
        app.router.routes.extend(router.routes)
    app.state.paths = [(_pattern(path), methods) for path, methods in route_table()]
    app.add_middleware(FastRouter, app.router.routes)
    app.add_middleware(ObservedRequests, observer.metrics, clock, observer.tracing)
    if web_settings.origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(web_settings.origins), **_CORS)
    app.add_middleware(RequestMiddleware)
    return app


def route_table() -> Iterator[tuple[str, set[str]]]:
    """Yield every path with its methods."""
    for router in ROUTERS:
        for route in router.routes:
            yield getattr(route, "path", ""), set(getattr(route, "methods", None) or ())


def _pattern(path: str) -> re.Pattern[str]:
    """Compile a path to the regular expression with which the framework matches it."""
    pattern, at = "", 0
    for parameter in _PARAMETER.finditer(path):
        pattern += re.escape(path[at : parameter.start()]) + (".*" if parameter[1] else "[^/]+")
        at = parameter.end()
    return re.compile(pattern + re.escape(path[at:]))
