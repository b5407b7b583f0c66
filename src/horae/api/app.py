"""The application: every router, every handler, one envelope."""

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
from ..observe.catalogue import READERS
from ..observe.observer import Observer
from ..observe.requests import ObservedRequests
from ..observe.scrape_settings import Looking
from ..service.service import Service
from ..version import __version__
from ..web.fast_routes import ShortWay
from ..web.middleware import Envelope
from ..web.problems import on_invalid, on_refusal, on_status
from ..web.rate_limit import Allowances
from ..web.request_context import House, WebSettings
from .compat import ROUTERS as COMPATIBLE
from .event_streams import Hearing
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
    # What is asked most is found first; else what has a fixed word comes before what takes any word in its place.
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
_SHARED: Final[dict[str, Any]] = {
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
"""What a page of an origin that was named may ask and see; cookies are not among it."""
_UNTOLD: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""The framework's own, which would tell of each request a second time."""
_PARAMETER: Final = re.compile(r"\{\w+(:path)?\}")


def make_app(
    service: Service,
    clock: Clock,
    settings: WebSettings | None = None,
    *,
    tail: Any = None,
    looking: Looking | None = None,
) -> FastAPI:
    """`tail` is what reads the event log for those who listen, `looking` how others see that all is well."""
    chosen = WebSettings() if settings is None else settings
    app = FastAPI(
        title="Horae",
        version=__version__,
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry=_UNTOLD,
        exception_handlers={
            HoraeError: on_refusal,
            HTTPException: on_status,
            RequestValidationError: on_invalid,
        },
    )
    looking = looking or Looking(Observer("api", clock))
    observer = looking.observer
    hearing = tail or Hearing(service, clock, chosen.streams)
    observer.figures.gauge(READERS).is_(lambda: hearing.listening)
    app.state.house = House(service, clock, chosen, Allowances(clock), hearing, looking)
    for router in ROUTERS:
        # Put in as they are: what the framework does to include a router is done again with every request.
        app.router.routes.extend(router.routes)
    app.state.paths = [(_pattern(path), methods) for path, methods in route_table()]
    app.add_middleware(ShortWay, app.router.routes)
    app.add_middleware(ObservedRequests, observer.figures, clock, observer.tracing)
    if chosen.origins:
        app.add_middleware(CORSMiddleware, allow_origins=list(chosen.origins), **_SHARED)
    app.add_middleware(Envelope)
    return app


def route_table() -> Iterator[tuple[str, set[str]]]:
    """Every path with its methods, as the routers have them."""
    for router in ROUTERS:
        for route in router.routes:
            yield getattr(route, "path", ""), set(getattr(route, "methods", None) or ())


def _pattern(path: str) -> re.Pattern[str]:
    """As the framework matches it."""
    written, at = "", 0
    for found in _PARAMETER.finditer(path):
        written += re.escape(path[at : found.start()]) + (".*" if found[1] else "[^/]+")
        at = found.end()
    return re.compile(written + re.escape(path[at:]))
