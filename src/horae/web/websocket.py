"""WebSocket handshakes as HTTP requests: the same routes, authentication, limits and problem responses answer them."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .refusals import refuse

WEBSOCKET_PATHS: Final = frozenset({"/plans/notify"})
"""Paths that accept WebSockets; elsewhere the request to upgrade is ignored, as HTTP allows."""
CREDENTIAL_PREFIX: Final = "horae.token."
"""Prefix of the subprotocol with the token: pages cannot send the header `Authorization` with a WebSocket."""
_EXTENSION: Final = "horae.websocket"
_DENIAL: Final = "websocket.http.response"
_SWITCHING_PROTOCOLS: Final = 101


class ServerWebSocket:
    """One WebSocket of a client that only receives; a message from it ends the connection."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.protocols: tuple[str, ...] = tuple(scope.get("subprotocols", ()))
        self._receive = receive
        self._send = send
        self._can_deny = _DENIAL in scope.get("extensions", {})

    async def receive_request(self) -> Message:
        """Return the handshake as an HTTP request without a body; later, wait for the end of the connection."""
        if (await self._receive())["type"] == "websocket.connect":
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.disconnect"}

    async def wait_for_end(self) -> bool:
        """Wait until the client closes the connection, or sends a message; return whether it was a message."""
        message = await self._receive()
        while message["type"] == "websocket.connect":
            message = await self._receive()
        return bool(message["type"] == "websocket.receive")

    async def send_response(self, message: Message) -> None:
        """Send an HTTP response as the answer to the handshake: 101 accepts it, every other one denies it."""
        if message["type"] == "http.response.start" and message["status"] == _SWITCHING_PROTOCOLS:
            await self._send({"type": "websocket.accept", "headers": message["headers"], "subprotocol": self.protocol})
        elif self._can_deny:
            await self._send({**message, "type": message["type"].replace("http", "websocket.http", 1)})
        elif message["type"] == "http.response.start":
            await self._send({"type": "websocket.close"})

    @property
    def protocol(self) -> str | None:
        """Return the subprotocol of the answer: the first one that is no token."""
        return next((each for each in self.protocols if not each.startswith(CREDENTIAL_PREFIX)), None)

    async def send_text(self, text: str) -> None:
        await self._send({"type": "websocket.send", "text": text})

    async def close(self, code: int, reason: str) -> None:
        await self._send({"type": "websocket.close", "code": code, "reason": reason})


class WebSocketMiddleware:
    """Outermost ASGI middleware: gives a WebSocket handshake to the application as a GET request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        socket = ServerWebSocket(scope, receive, send)
        if scope["path"].removeprefix(scope.get("root_path", "")) not in WEBSOCKET_PATHS:
            await receive()
            await send({"type": "websocket.close"})
            return
        await self._app(_as_request(scope, socket), socket.receive_request, socket.send_response)


def _as_request(scope: Scope, socket: ServerWebSocket) -> Scope:
    tokens = [each.removeprefix(CREDENTIAL_PREFIX) for each in socket.protocols if each.startswith(CREDENTIAL_PREFIX)]
    headers = [each for each in scope["headers"] if each[0] != b"sec-websocket-protocol"]
    headers += [(b"authorization", f"Bearer {each}".encode()) for each in tokens]
    return {
        **scope,
        "type": "http",
        "method": "GET",
        "scheme": "https" if scope.get("scheme") == "wss" else "http",
        "headers": headers,
        "extensions": {_EXTENSION: socket},
    }


def require_websocket(request: Request, origins: tuple[str, ...]) -> ServerWebSocket:
    """Return the WebSocket of a handshake; refuses an ordinary request, and one from a page of another origin."""
    socket: Any = request.scope.get("extensions", {}).get(_EXTENSION)
    if not isinstance(socket, ServerWebSocket):
        raise refuse("websocket_required", path=request.url.path)
    origin = request.headers.get("origin")
    if origin is not None and not _is_allowed(origin, request.headers.get("host", ""), origins):
        raise refuse("websocket_origin", origin=origin)
    return socket


def _is_allowed(origin: str, host: str, origins: tuple[str, ...]) -> bool:
    """Whether the page is one of this server, or of an origin in the settings. The rules of CORS do not hold for
    WebSockets: a browser connects from every page."""
    return origin in origins or "*" in origins or (bool(host) and urlsplit(origin).netloc.lower() == host.lower())


async def accept(send: Send) -> None:
    """Accept the handshake, through the middleware that observes responses."""
    await send({"type": "http.response.start", "status": _SWITCHING_PROTOCOLS, "headers": []})


async def close_quietly(socket: ServerWebSocket, code: int, reason: str, seconds: float) -> None:
    """Close the connection; a client that reads nothing is left to the server."""
    try:
        async with asyncio.timeout(seconds):
            await socket.close(code, reason)
    except (TimeoutError, OSError):
        return
