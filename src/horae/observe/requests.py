"""ASGI middleware for HTTP metrics and traces: counts requests by route and status, times them until the response starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from ..clock import Clock
from . import metric_definitions
from .counters import MetricSet
from .logs import bind_ids
from .traces import RequestSpan, Tracing, read_traceparent

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NO_ROUTE: Final = "(none)"
"""Route label of requests without a route: one series, however many paths clients invent."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"
_TOO_MANY_REQUESTS: Final = 429
_CLIENT_CLOSED: Final = 499
"""The client closed the connection before the response, which is no failure of the server."""


class ObservedRequests:
    """Sits inside the middleware that assigns request ids; exceptions that no route handled still pass through it."""

    def __init__(self, app: App, figures: MetricSet, clock: Clock, tracing: Tracing | None = None) -> None:
        self._app = app
        self._steady = clock.steady
        self._requests = figures.counter(metric_definitions.REQUESTS)
        self._seconds = figures.histogram(metric_definitions.REQUEST_SECONDS)
        self._limited = figures.counter(metric_definitions.RATE_LIMITED)
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, has_response, is_disconnected = self._steady(), False, False
        parent = read_traceparent(scope["headers"])
        span = None if self._tracing is None else self._tracing.request(parent, scope["method"])
        bind_ids(request=scope["state"].get("request_id", ""), trace=_trace_id(span, parent))

        async def observed_send(message: Message) -> None:
            nonlocal has_response
            if message["type"] == "http.response.start" and not has_response:
                has_response = True
                self._count(scope, message["status"], self._steady() - started)
                if span is not None:
                    span.record_response(scope, message)
            await send(message)

        async def observed_receive() -> Message:
            nonlocal is_disconnected
            message = await receive()
            is_disconnected = is_disconnected or message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, observed_receive, observed_send)
        except Exception:
            if not has_response:
                self._count(scope, _CLIENT_CLOSED if is_disconnected else 500, self._steady() - started)
            raise
        finally:
            if span is not None:
                span.end()

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_template(scope)
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        self._requests.add((route, method, str(status)))
        self._seconds.add(seconds, (route,))
        if status == _TOO_MANY_REQUESTS:
            self._limited.add((_limited_by(scope["state"]),))


def route_template(scope: Scope) -> str:
    """Return the route's path template, with names for its parameters."""
    return getattr(scope.get("route"), "path", None) or NO_ROUTE


def _limited_by(state: MutableMapping[str, Any]) -> str:
    bucket = state.get("bucket")
    if bucket is not None and bucket.retry_after:
        return "owner"
    return "address" if state.get("caller") is None else "quota"


def _trace_id(span: RequestSpan | None, parent: str) -> str:
    traceparent = parent if span is None else span.traceparent
    return traceparent[3:35]
