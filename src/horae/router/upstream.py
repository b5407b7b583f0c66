"""Connections of the router to one deployment: lookups, requests and WebSockets, over TCP or a unix socket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from yarl import URL

from ..api.resources.credential_lookup import LOOKUP_PATH
from ..client.connection import unix_path
from ..model.accounts.account import TOKEN_KIND
from ..service.accounts.credential_lookup import Credential, CredentialLocation, read_location
from .deployment_map import Deployment
from .refusals import refuse

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, ClientWebSocketResponse

CONNECT_SECONDS: Final = 5.0
_LOOKUP_SECONDS: Final = 10.0
_SILENCE_SECONDS: Final = 90.0
"""Longer than an event stream is silent, and than a request may take to send its body."""
_KEEP_ALIVE_SECONDS: Final = 5.0
"""Much shorter than that of a deployment: a request is hardly ever sent on a connection that is being closed."""
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_READ_BYTES: Final = 64 * 1024
_UNIX_BASE: Final = "http://horae"
_OK: Final = 200
_NOTHING: Final = Credential(TOKEN_KIND, "tok_", "")
LOG: Final = logging.getLogger("horae.router")


class Upstream:
    """Open connections to one deployment. No redirect is followed, and what may change something is sent once."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self._has_warned = False
        path = unix_path(deployment.url)
        self._base = deployment.url if path is None else _UNIX_BASE
        self._session = _open_session(path)

    async def locate(self, credential: Credential) -> CredentialLocation | None:
        """Return the state of a credential there; None where the deployment does not answer as one."""
        import aiohttp  # noqa: PLC0415 - an extra

        try:
            async with (
                asyncio.timeout(_LOOKUP_SECONDS),
                self._session.post(
                    f"{self._base}{LOOKUP_PATH}", json=credential._asdict(), allow_redirects=False
                ) as response,
            ):
                if response.status == _OK:
                    return read_location(await response.json())
                self._warn()
                return None
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return None

    def _warn(self) -> None:
        """Report once that the deployment is there, and does not know this router."""
        if not self._has_warned:
            self._has_warned = True
            LOG.warning(
                "deployment %s answers no lookups: put this router into its trusted_proxies", self.deployment.name
            )

    async def trusts_router(self) -> bool:
        """Whether the deployment answers lookups, without which no request can be routed there."""
        return await self.locate(_NOTHING) is not None

    async def is_reachable(self) -> bool:
        """Whether the HTTP API answers at all; whether it is ready is its own report."""
        import aiohttp  # noqa: PLC0415

        try:
            async with asyncio.timeout(_LOOKUP_SECONDS), self._session.get(f"{self._base}/healthz") as response:
                return response.status == _OK
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    async def send(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: AsyncIterable[bytes] | bytes | None
    ) -> ClientResponse:
        """Send a request whose target goes out exactly as given; return the response with its body still to be read.

        Raises `deployment_unavailable` where nothing was sent, or nothing is done twice by sending it again.
        """
        import aiohttp  # noqa: PLC0415 - an extra

        is_safe = method in _SAFE_METHODS
        # An idle connection may end as a request is sent on it. Only what changes nothing is then sent on a new one.
        attempts = 2 if is_safe and body is None else 1
        for attempt in range(attempts):
            try:
                return await self._session.request(
                    method, self._url(target), headers=_as_headers(headers), data=body, allow_redirects=False
                )
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
                break
            except TimeoutError:
                raise refuse("deployment_timeout") from None
            except (aiohttp.ClientError, OSError):
                if not is_safe:
                    raise refuse("deployment_answer_lost") from None
                if attempt == attempts - 1:
                    break
        raise refuse("deployment_unavailable")

    async def connect_websocket(
        self, target: str, headers: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> ClientWebSocketResponse:
        """Open a WebSocket. Raises `WSServerHandshakeError` where the deployment denies it."""
        import aiohttp  # noqa: PLC0415

        try:
            return await self._session.ws_connect(
                self._url(target), headers=_as_headers(headers), protocols=protocols, heartbeat=30.0, max_msg_size=0
            )
        except aiohttp.WSServerHandshakeError:
            raise
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise refuse("deployment_unavailable") from None

    async def close(self) -> None:
        await self._session.close()

    def _url(self, target: str) -> URL:
        return URL(f"{self._base}{target}", encoded=True)


def _open_session(socket_path: str | None) -> ClientSession:
    import aiohttp  # noqa: PLC0415

    options: dict[str, Any] = {"limit": 0, "keepalive_timeout": _KEEP_ALIVE_SECONDS}
    connector = (
        aiohttp.TCPConnector(**options) if socket_path is None else aiohttp.UnixConnector(socket_path, **options)
    )
    session = aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=_SILENCE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        read_bufsize=_READ_BYTES,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        max_line_size=MAX_HEAD_BYTES,
        max_field_size=MAX_HEAD_BYTES,
    )
    # The library would send PUT and DELETE again on a new connection when one is lost; only the client may decide that.
    session._retry_connection = False  # noqa: SLF001 - it has no public name
    return session


MAX_HEAD_BYTES: Final = 32_768


def _as_headers(headers: Sequence[tuple[str, str]]) -> Any:
    from multidict import CIMultiDict  # noqa: PLC0415 - it comes with aiohttp

    return CIMultiDict(headers)
