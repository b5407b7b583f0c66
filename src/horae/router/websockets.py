"""One WebSocket between a client and a deployment: texts and the end of the connection go both ways."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from starlette.types import Message, Receive, Scope, Send

from ..web.websocket import CREDENTIAL_PREFIX
from .heads import websocket_headers
from .upstream import Upstream

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

_GOING_AWAY: Final = 1001
_CONFLICT: Final = 409
_UNAUTHENTICATED: Final = 401


class DeniedWebSocket(Exception):  # noqa: N818 - an answer, not a defect
    """The deployment answered the handshake with another status than 101."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(str(status))

    @property
    def may_have_moved(self) -> bool:
        """Whether the credential may be valid in another deployment meanwhile."""
        return self.status in (_CONFLICT, _UNAUTHENTICATED)


def websocket_token(scope: Scope) -> str | None:
    """Return the token among the subprotocols: pages cannot send the header `Authorization` with a WebSocket."""
    offered = scope.get("subprotocols", ())
    return next((each.removeprefix(CREDENTIAL_PREFIX) for each in offered if each.startswith(CREDENTIAL_PREFIX)), None)


async def connect(upstream: Upstream, scope: Scope, target: str, request_id: str) -> ClientWebSocketResponse:
    """Open the WebSocket of the deployment. Raises `DeniedWebSocket`, or `deployment_unavailable`."""
    import aiohttp  # noqa: PLC0415 - an extra

    headers = websocket_headers(scope, request_id, upstream.deployment.name)
    try:
        return await upstream.connect_websocket(target, headers, tuple(scope.get("subprotocols", ())))
    except aiohttp.WSServerHandshakeError as error:
        raise DeniedWebSocket(error.status) from None


async def relay(connection: ClientWebSocketResponse, receive: Receive, send: Send, closing: asyncio.Event) -> None:
    """Accept the client's WebSocket and pass on what either side sends, until one of them or the router ends."""
    await send({"type": "websocket.accept", "headers": [], "subprotocol": connection.protocol})
    downwards = asyncio.ensure_future(_pass_to_client(connection, send))
    ends = {
        downwards,
        asyncio.ensure_future(_pass_to_deployment(connection, receive)),
        asyncio.ensure_future(closing.wait()),
    }
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        code, reason = downwards.result() if downwards.done() else (_GOING_AWAY, "")
    finally:
        for each in ends:
            each.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
        await connection.close()
    await send({"type": "websocket.close", "code": code, "reason": reason})


async def _pass_to_client(connection: ClientWebSocketResponse, send: Send) -> tuple[int, str]:
    """Pass on messages until the deployment closes the connection; return its code and reason."""
    from aiohttp import WSMsgType  # noqa: PLC0415 - an extra

    while True:
        message = await connection.receive()
        if message.type is WSMsgType.TEXT:
            await send({"type": "websocket.send", "text": message.data})
        elif message.type is WSMsgType.BINARY:
            await send({"type": "websocket.send", "bytes": message.data})
        elif message.type is WSMsgType.CLOSE:
            return int(message.data), str(message.extra or "")
        else:
            return _GOING_AWAY, ""


async def _pass_to_deployment(connection: ClientWebSocketResponse, receive: Receive) -> None:
    message: Message = await receive()
    while message["type"] == "websocket.receive":
        if message.get("text") is not None:
            await connection.send_str(message["text"])
        else:
            await connection.send_bytes(message["bytes"])
        message = await receive()
