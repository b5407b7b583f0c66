"""One server and one token: requests go out, answers come back, and what went wrong is an exception of ours."""

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
from .problems import error_from
from .refusals import refuse

if TYPE_CHECKING:
    import aiohttp

Asked: TypeAlias = Sequence[tuple[str, str]]
_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_MOST_WAITS: Final = 5
_LONGEST_WAIT: Final = 70.0
"""Who asked too often, or whose first request is still at work, waits; a bucket is full again after a minute."""
_WAITS: Final = frozenset({"too_many_requests", "still_in_progress"})
_UNKNOWN_THERE: Final = frozenset({"no_such_path", "bad_method", "unknown_parameter", "unknown_field"})
"""What only another version would say to us."""
_SAFE: Final = "-_.~:@"


class Answered(NamedTuple):
    """What came back: the JSON, and the version that it is of, where it is of one."""

    value: Any
    etag: str = ""


class Connection:
    """`token` None: only what anybody may ask. Every question says in which language the answer is wanted.

    `plain_http`: a remote server may be asked without encryption, so that others on the way can read the token.
    """

    def __init__(
        self, server: str, token: str | None, clock: Clock, language: Language = "en", *, plain_http: bool = False
    ) -> None:
        self.server = checked_address(server)
        if not plain_http:
            refuse_plain_http(self.server)
        self.language: Language = language
        self._token = token
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str, asked: Asked = ()) -> Any:
        return (await self.ask("GET", path, asked)).value

    async def post(self, path: str, body: Any = None, asked: Asked = ()) -> Any:
        return (await self.ask("POST", path, asked, body)).value

    async def put(self, path: str, body: Any, asked: Asked = ()) -> Any:
        return (await self.ask("PUT", path, asked, body)).value

    async def delete(self, path: str, asked: Asked = ()) -> Any:
        return (await self.ask("DELETE", path, asked)).value

    async def ask(
        self, method: str, path: str, asked: Asked = (), body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answered:
        """One question, one answer. A POST carries a key, so that the same one sent again is done once."""
        sent = {**(headers or {})}
        if method == "POST":
            sent["Idempotency-Key"] = uuid4().hex
        for _ in range(_MOST_WAITS):
            answer, wait = await self._try_twice(method, path + _query(asked), body, sent)
            if answer is not None:
                return answer
            await self._clock.pause(min(wait, _LONGEST_WAIT))
        return await self._last_try(method, path + _query(asked), body, sent)

    async def _last_try(self, method: str, target: str, body: Any, headers: Mapping[str, str]) -> Answered:
        status, came, value = await self._once(method, target, body, headers)
        if status >= HTTPStatus.BAD_REQUEST:
            raise await self._refused(status, value)
        return Answered(value, came.get("ETag", ""))

    async def _try_twice(
        self, method: str, target: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[Answered | None, float]:
        """The answer, or how long to wait before the next try."""
        import aiohttp  # noqa: PLC0415 - only where there is a server

        try:
            status, came, value = await self._once(method, target, body, headers)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError) as error:
            if isinstance(error, aiohttp.ClientConnectorError) or method not in ("GET", "POST"):
                raise self._unreached(error, method) from None
            try:
                status, came, value = await self._once(method, target, body, headers)
            except (aiohttp.ClientError, TimeoutError) as again:
                raise self._unreached(again, method) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreached(error, method) from None
        if status < HTTPStatus.BAD_REQUEST:
            return Answered(value, came.get("ETag", "")), 0
        if isinstance(value, Mapping) and value.get("code") in _WAITS:
            return None, float(came.get("Retry-After", "1"))
        raise await self._refused(status, value)

    async def _once(
        self, method: str, target: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], Any]:
        session = self._opened()
        data = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        # A redirect would carry the token to wherever it leads.
        async with session.request(
            method,
            _whole(self.server + target),
            data=data,
            headers={**self._headers(), **kind, **headers},
            allow_redirects=False,
        ) as response:
            raw = await response.read()
            return response.status, response.headers, self._read(response.status, raw)

    @asynccontextmanager
    async def stream(self, path: str, asked: Asked, headers: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Lines of an answer that does not end by itself; silence for longer than a minute is a lost connection."""
        import aiohttp  # noqa: PLC0415

        patience = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=_ANSWER_SECONDS)
        try:
            async with self._opened().get(
                _whole(self.server + path + _query(asked)),
                headers={**self._headers(), **headers},
                timeout=patience,
                allow_redirects=False,
            ) as response:
                if response.status >= HTTPStatus.BAD_REQUEST:
                    raise await self._refused(response.status, self._read(response.status, await response.read()))
                yield aiter(response.content)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreached(error, "GET") from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            try:
                import aiohttp  # noqa: PLC0415
            except ModuleNotFoundError:
                raise refuse_part("missing_part", library="aiohttp", extra="http") from None
            patience = aiohttp.ClientTimeout(total=_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(timeout=patience, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _headers(self) -> dict[str, str]:
        said = {"Accept": "application/json", "Accept-Language": self.language, "User-Agent": f"horae/{__version__}"}
        return said if self._token is None else {**said, "Authorization": f"Bearer {self._token}"}

    def _read(self, status: int, raw: bytes) -> Any:
        if not raw:
            return None
        try:
            return json.loads(raw)
        except ValueError:
            raise refuse("not_our_server", server=self.server, problem=f"status {status}, no JSON") from None

    def _unreached(self, error: Exception, method: str) -> HoraeError:
        import aiohttp  # noqa: PLC0415

        problem = "no answer in time" if isinstance(error, TimeoutError) else _first_words(error)
        lost = method != "GET" and not isinstance(error, aiohttp.ClientConnectorError)
        return refuse("answer_lost" if lost else "server_unreachable", server=self.server, problem=problem)

    async def _refused(self, status: int, value: Any) -> HoraeError:
        if not isinstance(value, Mapping) or "code" not in value:
            return refuse("not_our_server", server=self.server, problem=f"status {status}")
        if value["code"] in _UNKNOWN_THERE:
            return await self.misunderstood(str(value.get("detail", "")))
        return error_from(status, value)

    async def misunderstood(self, problem: str) -> HoraeError:
        """Why the two sides speak past each other: another version is the likeliest reason."""
        theirs = await self.version()
        if theirs is None or theirs == __version__:
            return refuse("not_our_server", server=self.server, problem=problem)
        return refuse("other_version", server=self.server, theirs=theirs, ours=__version__, problem=problem)

    async def state(self) -> Mapping[str, Any]:
        """What the server says of its parts, also where one of them is missing."""
        import aiohttp  # noqa: PLC0415

        try:
            _, _, value = await self._once("GET", "/readyz", None, {})
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreached(error, "GET") from None
        return value if isinstance(value, Mapping) else {}

    async def version(self) -> str | None:
        """Of the server; None where it does not say."""
        import aiohttp  # noqa: PLC0415

        try:
            _, _, value = await self._once("GET", "/healthz", None, {})
        except (aiohttp.ClientError, TimeoutError, HoraeError):
            return None
        found = value.get("version") if isinstance(value, Mapping) else None
        return found if isinstance(found, str) else None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def checked_address(server: str) -> str:
    """The address without a slash at its end; what is none, or would carry more than an address, is refused."""
    try:
        parts = urlsplit(server)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        raise refuse("bad_server_address", server=server) from None
    sound = parts.scheme in ("http", "https") and parts.hostname and port_fits and server.isprintable()
    if not sound or parts.username is not None or parts.query or parts.fragment or " " in server:
        raise refuse("bad_server_address", server=_without_userinfo(server))
    return server.rstrip("/")


def refuse_plain_http(server: str) -> None:
    """Refuses `http://` to another machine."""
    if not is_encrypted(server) and not is_loopback(server):
        raise refuse("plain_http", server=server)


def is_encrypted(server: str) -> bool:
    return urlsplit(server).scheme == "https"


def is_loopback(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _without_userinfo(server: str) -> str:
    return server.rpartition("@")[2] if "@" in server else server


def segment(text: str) -> str:
    """A part of a path, whatever is in it."""
    return quote(text, safe=_SAFE)


def _query(asked: Asked) -> str:
    return f"?{urlencode(asked)}" if asked else ""


def _whole(address: str) -> Any:
    """As it is written: nothing of it is spelled anew on the way."""
    from yarl import URL  # noqa: PLC0415 - it comes with aiohttp

    return URL(address, encoded=True)


def _first_words(error: Exception) -> str:
    cause = getattr(error, "os_error", None) or error
    text = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    return text.partition("\n")[0].rstrip(".")
