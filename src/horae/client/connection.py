"""HTTP connection to one server with one token: sends requests with retries and idempotency keys, and raises problem
responses as exceptions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from ..choices import Language
from ..clock import Clock
from ..errors import HoraeError
from ..model.refusals import refuse as refuse_part
from ..version import __version__
from ..wire.accounts import DEPLOYMENT_HEADER
from .problems import error_from
from .refusals import refuse

if TYPE_CHECKING:
    import aiohttp

QueryParameters: TypeAlias = Sequence[tuple[str, str]]
_CONNECT_SECONDS: Final = 10.0
_RESPONSE_SECONDS: Final = 60.0
_MAX_WAITS: Final = 5
_MAX_WAIT_SECONDS: Final = 70.0
"""Wait after a rate limit, or while the first request with the same key is running; a rate limit bucket is full after a
minute."""
_RETRYABLE_CODES: Final = frozenset({"too_many_requests", "still_in_progress"})
_VERSION_MISMATCH_CODES: Final = frozenset({"no_such_path", "bad_method", "unknown_parameter", "unknown_field"})
"""Codes that this client only gets from a server of another version."""
_SAFE_CHARACTERS: Final = "-_.~:@"
_UNIX: Final = "unix:"
_LOCAL_BASE: Final = "http://localhost"
"""Origin of requests over a unix socket."""


class ServerResponse(NamedTuple):
    """Decoded response: the JSON value, and its ETag if it has one."""

    json: Any
    etag: str = ""


class Connection:
    """`token` None: only unauthenticated requests. Every request states the language of the response.

    `plain_http`: allow an unencrypted connection to a remote server, where the network path can read the token.
    """

    def __init__(
        self, server: str, token: str | None, clock: Clock, language: Language = "en", *, plain_http: bool = False
    ) -> None:
        self.server = check_address(server)
        self._socket_path = unix_path(self.server)
        self._base = self.server if self._socket_path is None else _LOCAL_BASE
        if not plain_http:
            refuse_plain_http(self.server)
        self.language: Language = language
        self._token = token
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self.deployment = ""
        """Deployment that answered, where the server is a router that said so."""

    async def get(self, path: str, query: QueryParameters = ()) -> Any:
        return (await self.request("GET", path, query)).json

    async def post(self, path: str, body: Any = None, query: QueryParameters = ()) -> Any:
        return (await self.request("POST", path, query, body)).json

    async def put(self, path: str, body: Any, query: QueryParameters = ()) -> Any:
        return (await self.request("PUT", path, query, body)).json

    async def delete(self, path: str, query: QueryParameters = ()) -> Any:
        return (await self.request("DELETE", path, query)).json

    async def request(
        self,
        method: str,
        path: str,
        query: QueryParameters = (),
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        """Send a request and return its response. A POST carries an idempotency key, so that a repeated POST takes
        effect once; rate limits and running duplicates are waited for."""
        all_headers = {**(headers or {})}
        if method == "POST":
            all_headers["Idempotency-Key"] = uuid4().hex
        for _ in range(_MAX_WAITS):
            response, wait = await self._try_with_reconnect(method, path + _query(query), body, all_headers)
            if response is not None:
                return response
            await self._clock.pause(min(wait, _MAX_WAIT_SECONDS))
        return await self._last_try(method, path + _query(query), body, all_headers)

    async def _last_try(self, method: str, target: str, body: Any, headers: Mapping[str, str]) -> ServerResponse:
        status, response_headers, value = await self._send(method, target, body, headers)
        if status >= HTTPStatus.BAD_REQUEST:
            raise await self._refusal_from(status, value)
        return ServerResponse(value, response_headers.get("ETag", ""))

    async def _try_with_reconnect(
        self, method: str, target: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[ServerResponse | None, float]:
        """Return the response, or the seconds to wait before the next attempt. GET and POST are sent again once after a
        lost connection."""
        import aiohttp  # noqa: PLC0415 - only where there is a server

        try:
            status, response_headers, value = await self._send(method, target, body, headers)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError) as error:
            if isinstance(error, aiohttp.ClientConnectorError) or method not in ("GET", "POST"):
                raise self._unreachable_error(error, method) from None
            try:
                status, response_headers, value = await self._send(method, target, body, headers)
            except (aiohttp.ClientError, TimeoutError) as again:
                raise self._unreachable_error(again, method) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable_error(error, method) from None
        if status < HTTPStatus.BAD_REQUEST:
            return ServerResponse(value, response_headers.get("ETag", "")), 0
        if isinstance(value, Mapping) and value.get("code") in _RETRYABLE_CODES:
            return None, float(response_headers.get("Retry-After", "1"))
        raise await self._refusal_from(status, value)

    async def _send(
        self, method: str, target: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], Any]:
        session = self._open_session()
        data = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        content_type = {} if data is None else {"Content-Type": "application/json"}
        # A redirect would carry the token to wherever it leads.
        async with session.request(
            method,
            _verbatim_url(self._base + target),
            data=data,
            headers={**self._headers(), **content_type, **headers},
            allow_redirects=False,
        ) as response:
            raw = await response.read()
            self.deployment = response.headers.get(DEPLOYMENT_HEADER, "")
            return response.status, response.headers, self._read(response.status, raw)

    @asynccontextmanager
    async def stream(
        self, path: str, query: QueryParameters, headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the lines of an endless response; silence for more than a minute counts as a lost connection."""
        import aiohttp  # noqa: PLC0415

        timeouts = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=_RESPONSE_SECONDS)
        try:
            async with self._open_session().get(
                _verbatim_url(self._base + path + _query(query)),
                headers={**self._headers(), **headers},
                timeout=timeouts,
                allow_redirects=False,
            ) as response:
                if response.status >= HTTPStatus.BAD_REQUEST:
                    raise await self._refusal_from(response.status, self._read(response.status, await response.read()))
                yield aiter(response.content)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable_error(error, "GET") from None

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            try:
                import aiohttp  # noqa: PLC0415
            except ModuleNotFoundError:
                raise refuse_part("missing_part", library="aiohttp", extra="http") from None
            timeouts = aiohttp.ClientTimeout(total=_RESPONSE_SECONDS, connect=_CONNECT_SECONDS)
            connector = None if self._socket_path is None else aiohttp.UnixConnector(self._socket_path)
            self._session = aiohttp.ClientSession(
                timeout=timeouts, cookie_jar=aiohttp.DummyCookieJar(), connector=connector
            )
        return self._session

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Language": self.language, "User-Agent": f"horae/{__version__}"}
        return headers if self._token is None else {**headers, "Authorization": f"Bearer {self._token}"}

    def _read(self, status: int, raw: bytes) -> Any:
        if not raw:
            return None
        try:
            return json.loads(raw)
        except ValueError:
            raise refuse("not_our_server", server=self.server, problem=f"status {status}, no JSON") from None

    def _unreachable_error(self, error: Exception, method: str) -> HoraeError:
        import aiohttp  # noqa: PLC0415

        problem = "no answer in time" if isinstance(error, TimeoutError) else _first_line(error)
        is_ambiguous = method != "GET" and not isinstance(error, aiohttp.ClientConnectorError)
        return refuse("answer_lost" if is_ambiguous else "server_unreachable", server=self.server, problem=problem)

    async def _refusal_from(self, status: int, value: Any) -> HoraeError:
        if not isinstance(value, Mapping) or "code" not in value:
            return refuse("not_our_server", server=self.server, problem=f"status {status}")
        if value["code"] in _VERSION_MISMATCH_CODES:
            return await self.incompatibility_error(str(value.get("detail", "")))
        return error_from(status, value)

    async def incompatibility_error(self, problem: str) -> HoraeError:
        """Return the error for an unreadable response: another version of the server is the likeliest cause."""
        server_version = await self.version()
        if server_version is None or server_version == __version__:
            return refuse("not_our_server", server=self.server, problem=problem)
        return refuse("other_version", server=self.server, theirs=server_version, ours=__version__, problem=problem)

    async def readiness(self) -> Mapping[str, Any]:
        """Return the readiness report of the server, also when it is not ready."""
        import aiohttp  # noqa: PLC0415

        try:
            _, _, value = await self._send("GET", "/readyz", None, {})
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable_error(error, "GET") from None
        return value if isinstance(value, Mapping) else {}

    async def version(self) -> str | None:
        """Return the server's version; None if it does not report one."""
        import aiohttp  # noqa: PLC0415

        try:
            _, _, value = await self._send("GET", "/healthz", None, {})
        except (aiohttp.ClientError, TimeoutError, HoraeError):
            return None
        reported = value.get("version") if isinstance(value, Mapping) else None
        return reported if isinstance(reported, str) else None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def check_address(server: str) -> str:
    """Return the address without a trailing slash. Refuses an address with credentials, query or fragment, and one that
    is not HTTP; `unix:PATH` is a socket of this machine."""
    path = unix_path(server)
    if path is not None:
        if not path.startswith("/") or not path.isprintable():
            raise refuse("bad_server_address", server=server)
        return f"{_UNIX}{path}"
    try:
        parts = urlsplit(server)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        raise refuse("bad_server_address", server=server) from None
    is_http = parts.scheme in ("http", "https") and parts.hostname and port_fits and server.isprintable()
    if not is_http or parts.username is not None or parts.query or parts.fragment or " " in server:
        raise refuse("bad_server_address", server=_without_userinfo(server))
    return server.rstrip("/")


def unix_path(server: str) -> str | None:
    """Return the path of `unix:PATH` (or `unix://PATH`); None for another address."""
    return server.removeprefix(_UNIX).removeprefix("//") if server.startswith(_UNIX) else None


def refuse_plain_http(server: str) -> None:
    """Refuse `http://` to another machine."""
    if not is_encrypted(server) and not is_loopback(server):
        raise refuse("plain_http", server=server)


def is_encrypted(server: str) -> bool:
    return urlsplit(server).scheme == "https"


def is_loopback(server: str) -> bool:
    if unix_path(server) is not None:
        return True
    host = urlsplit(server).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _without_userinfo(server: str) -> str:
    return server.rpartition("@")[2] if "@" in server else server


def path_segment(text: str) -> str:
    """Percent-encode one path segment."""
    return quote(text, safe=_SAFE_CHARACTERS)


def _query(query: QueryParameters) -> str:
    return f"?{urlencode(query)}" if query else ""


def _verbatim_url(address: str) -> Any:
    """Build a URL that is sent exactly as written, without another round of encoding."""
    from yarl import URL  # noqa: PLC0415 - it comes with aiohttp

    return URL(address, encoded=True)


def _first_line(error: Exception) -> str:
    cause = getattr(error, "os_error", None) or error
    text = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    return text.partition("\n")[0].rstrip(".")
