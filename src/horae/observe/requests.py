"""Around each request over HTTP: counted by the route that took it, timed until its answer begins, and part of a trace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from ..clock import Clock
from . import catalogue
from .counters import Figures
from .log_context import bind
from .traces import RequestSpan, Tracing, incoming

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NOWHERE: Final = "(none)"
"""The route of what has none: however many paths somebody makes up, they are one."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"
_TOO_MUCH: Final = 429
_LEFT: Final = 499
"""The client closed the connection before there was an answer, which is no failure of the server."""


class ObservedRequests:
    """It stands where each request has its id already, and where what no route could cope with still comes by."""

    def __init__(self, app: App, figures: Figures, clock: Clock, tracing: Tracing | None = None) -> None:
        self._app = app
        self._steady = clock.steady
        self._requests = figures.counter(catalogue.REQUESTS)
        self._seconds = figures.histogram(catalogue.REQUEST_SECONDS)
        self._limited = figures.counter(catalogue.RATE_LIMITED)
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, answered, left = self._steady(), False, False
        came = incoming(scope["headers"])
        span = None if self._tracing is None else self._tracing.request(came, scope["method"])
        bind(request=scope["state"].get("request_id", ""), trace=_trace(span, came))

        async def sent(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start" and not answered:
                answered = True
                self._count(scope, message["status"], self._steady() - begun)
                if span is not None:
                    span.answered(scope, message)
            await send(message)

        async def received() -> Message:
            nonlocal left
            message = await receive()
            left = left or message["type"] == "http.disconnect"
            return message

        try:
            await self._app(scope, received, sent)
        except Exception:
            if not answered:
                self._count(scope, _LEFT if left else 500, self._steady() - begun)
            raise
        finally:
            if span is not None:
                span.end()

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_of(scope)
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        self._requests.add((route, method, str(status)))
        self._seconds.add(seconds, (route,))
        if status == _TOO_MUCH:
            self._limited.add((_limited_by(scope["state"]),))


def route_of(scope: Scope) -> str:
    """As the code wrote it, with its parameters as names."""
    return getattr(scope.get("route"), "path", None) or NOWHERE


def _limited_by(state: MutableMapping[str, Any]) -> str:
    allowance = state.get("allowance")
    if allowance is not None and allowance.wait:
        return "owner"
    return "address" if state.get("caller") is None else "quota"


def _trace(span: RequestSpan | None, came: str) -> str:
    traceparent = came if span is None else span.traceparent
    return traceparent[3:35]
