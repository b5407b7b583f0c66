"""HTTP proxy on unix sockets: the identity of a run is its socket, and the key never enters the sandbox."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ...clock import Clock
from ...errors import Refusal
from ...outgoing.addresses import Networks, read_address
from ...outgoing.client import CONNECT_TIMEOUT, check_library
from ...outgoing.guard import CheckedUrl, check_url, parse_url
from ..model_prices import NO_PRICES, Prices
from ..protocol import ProtocolError
from ..protocol.documents import read_object
from .rules import PATHS, base_of, error_body, request_headers, response_headers, uses_tokens
from .usage import RunUsage, UsageReader, estimated_tokens

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, web

_LOG: Final = logging.getLogger(__name__)
_WINDOW: Final = 60.0
_BODY_SECONDS: Final = 60.0
_PROBE_SECONDS: Final = 1.0


class ProxyLimits(NamedTuple):
    """Of one run."""

    request_bytes: int = 32 * 1024 * 1024
    response_bytes: int = 64 * 1024 * 1024
    requests_per_minute: int = 120
    concurrent_requests: int = 8
    connections: int = 32
    seconds: float = 900.0
    """For one request with its whole response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """`read_key` is called for each request, so that a key can be replaced without a restart; "" is no key.

    `models` are those that an agent may name; all if it is empty. `allowed` are networks beyond the public ones. With
    `prices` the cost of each response is counted.
    """

    url: CheckedUrl
    read_key: Callable[[], Awaitable[str]]
    models: Collection[str] = ()
    allowed: Networks = ()
    prices: Prices = field(default_factory=dict)


def read_endpoint(
    url: str,
    read_key: Callable[[], Awaitable[str]],
    models: Collection[str] = (),
    allowed: Networks = (),
    prices: Prices = NO_PRICES,
) -> ModelEndpoint:
    """Check the URL of the settings. An address in it, or localhost, is the operator's word: it may be a private one."""
    parsed = parse_url(base_of(url))
    name = parsed.host.removesuffix(".")
    literal = read_address(parsed.host)
    if literal is not None:
        allowed = (*allowed, ip_network(literal))
    elif name == "localhost" or name.endswith(".localhost"):
        allowed = (*allowed, ip_network("127.0.0.0/8"), ip_network("::1"))
    checked = check_url(parsed.text, allowed)
    return ModelEndpoint(url=checked, read_key=read_key, models=frozenset(models), allowed=allowed, prices=prices)


@dataclass(slots=True)
class RunSocket:
    """The socket of one run, and what went through it: counted here, so that an agent cannot report less."""

    run: str
    path: Path
    usage: RunUsage = field(default_factory=RunUsage)
    starts: deque[float] = field(default_factory=deque)
    """Times of the requests in the last minute."""
    live_requests: int = 0


class ModelProxy:
    """Serves the sockets in `directory`, which only this user may enter: a runtime mounts a socket into its sandbox."""

    def __init__(
        self, endpoint: ModelEndpoint, directory: Path, clock: Clock, limits: ProxyLimits | None = None
    ) -> None:
        self._endpoint = endpoint
        self._base = endpoint.url.text.rstrip("/")
        self._directory = directory
        self._clock = clock
        self._limits = limits or ProxyLimits()

    def remove_stale_sockets(self) -> None:
        """Remove sockets of processes that were killed; those of other live processes are left."""
        for path in self._directory.glob("*.sock"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                try:
                    connect_to(probe, path)
                except ConnectionRefusedError:
                    path.unlink(missing_ok=True)
                except OSError:
                    continue

    @asynccontextmanager
    async def open_socket(self, run: str) -> AsyncIterator[RunSocket]:
        """Listen on a socket for this run until the context ends; its requests are cut off then."""
        check_library()
        from aiohttp import web  # noqa: PLC0415 - an optional library, loaded when an agent needs it

        from ...outgoing.session import open_session, system_lookup  # noqa: PLC0415

        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A hash: the name of a run may be longer than the name of a file.
        path = self._directory / f"{hashlib.sha256(run.encode()).hexdigest()[:16]}.sock"
        opened = RunSocket(run, path)
        session = open_session(self._endpoint.allowed, system_lookup, CONNECT_TIMEOUT)

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await self._handle(_Exchange(opened, request, session))

        server = web.Server(handle, handler_cancellation=True, access_log=None)
        limit = self._limits.connections
        listener = await asyncio.get_running_loop().create_unix_server(
            # An agent could otherwise use up the open files of this process.
            lambda: server() if len(server.connections) < limit else _RefusedConnection(),
            sock=_bind(path),
        )
        try:
            yield opened
        finally:
            listener.close()
            await server.shutdown(0.1)
            await session.close()
            path.unlink(missing_ok=True)

    async def _handle(self, exchange: _Exchange) -> web.StreamResponse:
        opened, request, path = exchange.opened, exchange.request, exchange.path
        if (request.method, path) not in PATHS:
            return _error(404, path, "not_found_error", "the model proxy does not forward this path")
        wait = self._wait(opened)
        if wait is not None:
            response = _error(429, path, "rate_limit_error", "the run makes too many requests to its model")
            response.headers["Retry-After"] = str(wait)
            return response
        opened.starts.append(self._clock.steady())
        opened.live_requests += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._forward(exchange)
        except TimeoutError:
            return exchange.fail(504, "timeout_error", "the model endpoint has not answered in time")
        finally:
            opened.live_requests -= 1

    def _wait(self, opened: RunSocket) -> int | None:
        """Return the seconds to wait if the run has reached a limit."""
        now = self._clock.steady()
        while opened.starts and opened.starts[0] <= now - _WINDOW:
            opened.starts.popleft()
        if len(opened.starts) >= self._limits.requests_per_minute:
            return int(opened.starts[0] + _WINDOW - now) + 1
        return 1 if opened.live_requests >= self._limits.concurrent_requests else None

    async def _forward(self, exchange: _Exchange) -> web.StreamResponse:
        from aiohttp import ClientError  # noqa: PLC0415 - an optional library

        from ...outgoing.session import to_unreachable  # noqa: PLC0415

        request = exchange.request
        body = await self._read_body(request)
        if body is None:
            return exchange.fail(413, "request_too_large", f"more than {self._limits.request_bytes} bytes")
        if request.method == "POST" and (self._endpoint.models or self._endpoint.prices):
            exchange.model = await asyncio.to_thread(_model_of, body)
        refused = self._refused_model(request.method, exchange.model)
        if refused is not None:
            return exchange.fail(403, "permission_error", refused)
        try:
            key = await self._endpoint.read_key()
        except Refusal as refusal:
            _LOG.warning("the key of the model cannot be read: %s", refusal.message)
            return exchange.fail(502, "api_error", "the host cannot read the key of the model; tell the operator")
        exchange.opened.usage.requests += 1
        try:
            async with exchange.session.request(
                request.method,
                self._base + exchange.path,
                data=body or None,
                headers=request_headers(request.headers.items(), exchange.path, key),
                allow_redirects=False,
            ) as response:
                return await self._relay(exchange, response, len(body))
        except asyncio.CancelledError:
            if not exchange.is_started and uses_tokens(exchange.path):
                # The agent did not wait for the answer: the endpoint may have read the request all the same.
                lost = UsageReader(is_stream=False)
                lost.input_tokens = estimated_tokens(len(body))
                exchange.opened.usage.add(lost, self._endpoint.prices, exchange.model)
            raise
        except (ClientError, Refusal, OSError, ValueError) as error:
            found = to_unreachable(error, self._endpoint.url.host_and_port)
            _LOG.warning("the model endpoint cannot be reached: %s", found.message)
            return exchange.fail(502, "api_error", f"the model endpoint cannot be reached: {found.message}")

    async def _read_body(self, request: web.BaseRequest) -> bytes | None:
        """Return the body, or None if it is too long."""
        data = bytearray()
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.content.iter_any():
                data += chunk
                if len(data) > self._limits.request_bytes:
                    return None
        return bytes(data)

    def _refused_model(self, method: str, name: str) -> str | None:
        """Return why the model of the request is not permitted; a body that is no JSON names none."""
        models = self._endpoint.models
        if not models or method != "POST" or name in models:
            return None
        return f"the model {name!r} is not permitted; permitted: {', '.join(sorted(models))}"

    async def _relay(self, exchange: _Exchange, found: ClientResponse, request_bytes: int) -> web.StreamResponse:
        """Pass the response on as it arrives, and count its tokens, also when it is cut off."""
        from aiohttp import web  # noqa: PLC0415

        response = web.StreamResponse(status=found.status, headers=response_headers(found.headers.items()))
        await response.prepare(exchange.request)
        exchange.is_started = True
        reader = UsageReader(is_stream=found.content_type == "text/event-stream")
        count = 0
        try:
            async for chunk in found.content.iter_any():
                count += len(chunk)
                if count > self._limits.response_bytes:
                    return exchange.fail(502, "api_error", "the response is too long")
                reader.feed(chunk)
                await response.write(chunk)
        finally:
            reader.finish()
            if found.ok and uses_tokens(exchange.path):
                reader.estimate(request_bytes)
            exchange.opened.usage.add(reader, self._endpoint.prices, exchange.model)
        await response.write_eof()
        return response


@dataclass(slots=True)
class _Exchange:
    """One request, the model that it names, and whether its status is sent already."""

    opened: RunSocket
    request: web.BaseRequest
    session: ClientSession
    model: str = ""
    is_started: bool = False

    @property
    def path(self) -> str:
        return self.request.path_qs

    def fail(self, status: int, kind: str, message: str) -> web.Response:
        """Return an error; after the status was sent, only the end of the connection can say that the rest is missing."""
        if self.is_started:
            if self.request.transport is not None:
                self.request.transport.abort()
            raise ConnectionResetError("the response was cut off")
        return _error(status, self.path, kind, message)


class _RefusedConnection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _bind(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_name(path) as name:
            made.bind(name)
        # Only this user can enter the directory; the user of the sandbox gets the socket by its mount.
        path.chmod(0o666)
    except BaseException:
        made.close()
        raise
    return made


def connect_to(probe: socket.socket, path: Path) -> None:
    probe.settimeout(_PROBE_SECONDS)
    with _short_name(path) as name:
        probe.connect(name)


@contextmanager
def _short_name(path: Path) -> Iterator[str]:
    """Name the path through the descriptor of its directory: the address of a socket has 107 bytes at most."""
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def _model_of(body: bytes) -> str:
    """Return the model that the body names. With a field twice, the endpoint could read another one: such a body has none."""
    try:
        return (read_object(body, len(body)).optional_text("model") or "")[:200]
    except ProtocolError:
        return ""


def _error(status: int, path: str, kind: str, message: str) -> web.Response:
    from aiohttp import web  # noqa: PLC0415

    return web.json_response(error_body(path, kind, message), status=status)
