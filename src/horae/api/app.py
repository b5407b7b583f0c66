"""Assembles the Starlette application: routes, middleware and the application context."""

from __future__ import annotations

from typing import Any, Final

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from ..clock import Clock
from ..observe.metric_definitions import EVENT_READERS
from ..observe.metrics_server import Observability
from ..observe.observer import Observer
from ..observe.requests import ObservedRequests
from ..service.service import Service
from ..web.event_streams import EventStreams
from ..web.middleware import Application, RequestMiddleware
from ..web.rate_limit import RateLimits
from ..web.request_context import AppContext, ExternalSignIn, WebSettings
from ..web.routing import ApiRoute, IndexedRouter
from ..web.trusted_proxies import TrustedProxyMiddleware
from ..web.websocket import WebSocketMiddleware
from .compat import health as scheduler_health
from .compat import plan_notifications, schedule_actions, scheduled_tasks
from .compat import plans as compat_plans
from .compat import schedules as compat_schedules
from .resources import (
    bulk_tasks,
    destinations,
    doctor,
    documentation,
    events,
    failures,
    functions,
    health,
    lanes,
    metrics,
    named_tasks,
    nodes,
    operations,
    overview,
    planned,
    root,
    runs,
    schedules,
    stations,
    task_actions,
    tasks,
    views,
    webhooks,
)
from .resources.accounts import agent_safety, agents, audit, calendar_tokens, owners, secrets, sessions, tokens
from .resources.chats import chats, deliveries, groups, streams
from .resources.credential_lookup import LOOKUP_ROUTE

ROUTES: Final[tuple[ApiRoute, ...]] = (
    # Hot routes first; otherwise fixed path segments before path parameters in the same place.
    *tasks.routes,
    *named_tasks.routes,
    *bulk_tasks.routes,
    *task_actions.routes,
    *root.routes,
    *health.routes,
    *metrics.routes,
    *documentation.routes,
    *runs.routes,
    *runs.callbacks,
    *failures.routes,
    *operations.routes,
    *schedules.routes,
    *overview.routes,
    *planned.routes,
    *nodes.routes,
    *doctor.routes,
    *lanes.routes,
    *functions.routes,
    *owners.routes,
    *tokens.routes,
    *sessions.routes,
    *calendar_tokens.routes,
    *agent_safety.routes,
    *agents.routes,
    *secrets.routes,
    *views.routes,
    *audit.routes,
    *events.routes,
    *webhooks.routes,
    *destinations.routes,
    *stations.routes,
    *groups.routes,
    *groups.unregistered_routes,
    *streams.routes,
    *chats.routes,
    *deliveries.routes,
    *scheduled_tasks.browser_routes,
    *scheduled_tasks.routes,
    *schedule_actions.routes,
    *compat_schedules.routes,
    *compat_plans.routes,
    *plan_notifications.routes,
    *scheduler_health.routes,
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
        "Idempotent-Replayed",
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


def make_app(
    service: Service,
    clock: Clock,
    settings: WebSettings | None = None,
    *,
    tail: Any = None,
    observability: Observability | None = None,
    external_sign_in: ExternalSignIn | None = None,
) -> Application:
    """Build the application. `tail` serves the event streams, `observability` provides health and metrics."""
    web_settings = WebSettings() if settings is None else settings
    observability = observability or Observability(Observer("api", clock))
    observer = observability.observer
    streams = tail or EventStreams(service, clock, web_settings.max_streams)
    observer.metrics.gauge(EVENT_READERS).set_callback(lambda: streams.listening)
    cors = (
        [Middleware(CORSMiddleware, allow_origins=list(web_settings.origins), **_CORS)] if web_settings.origins else []
    )
    router = IndexedRouter(ROUTES)
    trusted = web_settings.trusted_proxies
    if trusted:
        router.routes.append(LOOKUP_ROUTE)
    return Application(
        router,
        AppContext(service, clock, web_settings, RateLimits(clock), streams, observability, external_sign_in),
        [
            *([Middleware(TrustedProxyMiddleware, trusted)] if trusted else []),
            Middleware(WebSocketMiddleware),
            Middleware(RequestMiddleware),
            *cors,
            Middleware(ObservedRequests, observer.metrics, clock, observer.tracing),
        ],
    )
