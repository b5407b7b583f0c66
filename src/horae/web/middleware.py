"""The ASGI application, and its outermost middleware: request ids, default headers, HEAD requests, and a problem response for unhandled
errors."""

from __future__ import annotations

import logging
import re
from itertools import count
from secrets import token_hex
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem_response
from .rate_limit import BucketState
from .refusals import refuse
from .request_context import AppContext

LOG: Final = logging.getLogger("horae.web")
_ID_PREFIX: Final = f"req_{token_hex(6)}"
"""Random once per process, then a counter: a random id per request would cost more than the rest of this middleware."""
_COUNTER: Final = count(1)
_ACCEPTED_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_DEFAULT_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class RequestMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        if exchange.hosts != 1 and not (exchange.hosts == 0 and scope["http_version"] == "1.0"):
            # A proxy in front may have routed by the other one.
            refused = problem_response(Request(exchange.scope), refuse("bad_host", number=exchange.hosts))
            await refused(exchange.scope, receive, exchange.send)
            return
        try:
            await self._app(exchange.scope, receive, exchange.send)
        except ClientDisconnect:
            LOG.debug("%s went away", exchange.id)
        except Exception:
            LOG.exception("%s %s %s failed", exchange.id, scope["method"], scope["path"])
            if exchange.started:
                raise
            await problem_response(Request(exchange.scope), refuse("internal_error"))(
                exchange.scope, receive, exchange.send
            )


class _Exchange:
    """One request and its response: adds the headers, and serves HEAD as GET without a body. `hosts` is the number of
    Host headers."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.hosts, client_id = 0, b""
        for name, value in scope["headers"]:
            if name == b"host":
                self.hosts += 1
            elif name == b"x-request-id":
                client_id = client_id or value
        self.id = (
            client_id.decode()
            if client_id and _ACCEPTED_ID.fullmatch(client_id)
            else f"{_ID_PREFIX}{next(_COUNTER):06x}"
        )
        self.started = False
        self._send = send
        self._is_head = scope["method"] == "HEAD"
        # Every GET route also serves HEAD; the HTTP server drops the body.
        self.scope = {**scope, "method": "GET"} if self._is_head else scope
        self.scope.setdefault("state", {})["request_id"] = self.id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._add_headers(message)
            self.started = True
        elif self._is_head and message.get("more_body"):
            await self._send({**message, "more_body": False})
            # A HEAD response has no body: end the stream.
            raise ClientDisconnect
        await self._send(message)

    def _add_headers(self, message: Message) -> None:
        headers = message.setdefault("headers", [])
        present = {name.lower() for name, _ in headers}
        headers += [each for each in _DEFAULT_HEADERS if each[0] not in present]
        headers.append((b"x-request-id", self.id.encode()))
        bucket: BucketState | None = self.scope["state"].get("bucket")
        if bucket is not None:
            headers.append((b"ratelimit-policy", b'"default";q=%d;w=60' % bucket.limit))
            headers.append((b"ratelimit", b'"default";r=%d;t=%d' % (bucket.remaining, bucket.full_in)))


class Application(Starlette):
    """Starlette adds two layers that turn exceptions into responses; here routes and `RequestMiddleware` do that, so both
    are left out: they would cost a twentieth of the time of a get."""

    def __init__(self, router: Router, context: AppContext, middleware: list[Middleware]) -> None:
        super().__init__(middleware=middleware)
        self.router = router
        self.context = context
        self.console_path: str | None = None
        """Where the console is mounted; None: its library is not installed."""

    async def close_streams(self) -> None:
        """End the event streams, which would never end by themselves."""
        await self.context.tail.close()

    def build_middleware_stack(self) -> ASGIApp:
        stack: ASGIApp = self.router
        for layer in reversed(self.user_middleware):
            stack = layer.cls(stack, *layer.args, **layer.kwargs)
        return stack


def console_path(request: Request) -> str | None:
    """Return the path of the console of the application that serves this request; None if it has none."""
    path: str | None = request.scope["app"].console_path
    return path
