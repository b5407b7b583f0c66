"""WebSocket client with SSRF protection: the URL and every connection's address are checked as for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import Refusal
from .addresses import Networks
from .client import CONNECT_TIMEOUT, check_library
from .exchange import FailureKind, Unreachable
from .guard import CheckedUrl, check_url

if TYPE_CHECKING:
    from aiohttp import ClientSession, ClientWebSocketResponse

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
_HEARTBEAT_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 0.3
_SCHEMES: Final = {"wss": "https", "ws": "http"}


class WebSocketFailed(Exception):  # noqa: N818 - a condition of the network, not a defect
    """No connection. `reason` names the host at most."""

    def __init__(self, reason: Unreachable) -> None:
        self.reason = reason
        super().__init__(reason.message)


class WebSocket:
    """One open connection. Pings detect one that is dead."""

    def __init__(self, session: ClientSession, connection: ClientWebSocketResponse) -> None:
        self._session = session
        self._connection = connection

    async def receive(self) -> str | None:
        """Return the next text; None when the connection has ended, or sends anything else."""
        from aiohttp import WSMsgType  # noqa: PLC0415 - an optional library

        message = await self._connection.receive()
        return str(message.data) if message.type is WSMsgType.TEXT else None

    async def send(self, text: str) -> bool:
        """Send a text; False when the connection has ended."""
        try:
            await self._connection.send_str(text)
        except (ConnectionError, RuntimeError):
            return False
        return not self._connection.closed

    async def close(self) -> None:
        try:
            await self._connection.close()
        finally:
            await self._session.close()


async def open_websocket(
    url: str,
    allowed: Networks = (),
    timeout: float = CONNECT_TIMEOUT,  # noqa: ASYNC109 - aiohttp ends it
) -> WebSocket:
    """Connect to a `wss:` or `ws:` URL; raises `WebSocketFailed`."""
    check_library()
    from aiohttp import ClientError, ClientWSTimeout, WSServerHandshakeError  # noqa: PLC0415 - an optional library
    from yarl import URL  # noqa: PLC0415

    from .session import open_session, system_lookup, to_unreachable  # noqa: PLC0415

    checked = check_websocket_url(url, allowed)
    session = open_session(allowed, system_lookup, timeout)
    try:
        connection = await session.ws_connect(
            URL(checked.text, encoded=True),
            heartbeat=_HEARTBEAT_SECONDS,
            max_msg_size=MAX_MESSAGE_BYTES,
            timeout=ClientWSTimeout(ws_close=_CLOSE_SECONDS),
        )
    except WSServerHandshakeError as error:
        await session.close()
        place = checked.host_and_port
        raise WebSocketFailed(
            Unreachable(FailureKind.MALFORMED, f"{place} refused the connection with status {error.status}")
        ) from None
    except (ClientError, OSError, TimeoutError, Refusal, ValueError) as error:
        await session.close()
        raise WebSocketFailed(to_unreachable(error, checked.host_and_port)) from None
    except BaseException:
        await session.close()
        raise
    return WebSocket(session, connection)


def check_websocket_url(url: str, allowed: Networks) -> CheckedUrl:
    """Return the URL as HTTP spells it; raises `WebSocketFailed` for one that may not be called."""
    scheme, colon, rest = url.partition(":")
    try:
        return check_url(f"{_SCHEMES.get(scheme.lower(), scheme)}{colon}{rest}", allowed)
    except Refusal as refusal:
        raise WebSocketFailed(Unreachable(FailureKind.FORBIDDEN, refusal.message)) from None
