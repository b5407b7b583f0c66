"""Minimal HTTP server of a node for `/metrics`, `/healthz` and `/readyz`: one request per connection, no framework."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final, NamedTuple

from ..clock import Clock
from ..errors import HoraeError, NotAllowed, NotAuthenticated, NotFound, StoreError
from ..ports.full_store import FullStore
from ..wire.problems import public_error_json
from .exposition import CONTENT_TYPE
from .health import GRACE, TOLERANCE, check_health
from .observer import Observer
from .scrape_access import Authenticate, Policy, check_access, has_key

PROCESS_PATH: Final = "/metrics/process"
"""Path of the metrics of this process alone, scraped by the API process."""
LOG: Final = logging.getLogger("horae")
_MAX_HEAD_BYTES: Final = 16_384
_REQUEST_TIMEOUT: Final = 5.0
_JSON: Final = "application/json"
_MAX_CONNECTIONS: Final = 32
_STATUSES: Final = ((NotAuthenticated, 401), (NotAllowed, 403), (NotFound, 404), (StoreError, 503))


@dataclass(frozen=True, slots=True)
class MetricsEndpoint:
    """What the server shows, and its access policy. `key` is shared with the API process of the same `horae up` only."""

    observer: Observer
    store: FullStore
    clock: Clock
    authenticate: Authenticate
    policy: Policy = "local"
    key: str = ""
    engine_peers: tuple[EnginePeer, ...] = ()
    """Other engine processes of the same supervisor, whose metrics `/metrics` shows too."""


class _Request(NamedTuple):
    path: str
    headers: Mapping[str, str]
    peer: str


class _Response(NamedTuple):
    status: int
    body: str
    type: str = _JSON


@asynccontextmanager
async def serve_metrics(endpoint: MetricsEndpoint, listener: socket.socket) -> AsyncIterator[None]:
    """Serve on the socket while the block runs."""
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(connections) >= _MAX_CONNECTIONS:
            writer.close()
            return
        connection = asyncio.ensure_future(_serve(endpoint, reader, writer))
        connections.add(connection)
        connection.add_done_callback(connections.discard)

    server = await asyncio.start_server(accept, sock=listener, limit=_MAX_HEAD_BYTES)
    try:
        yield
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _serve(room: MetricsEndpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(_REQUEST_TIMEOUT):
            request = _parse_request(await reader.readuntil(b"\r\n\r\n"), writer)
            response = _error_response(400) if request is None else await _respond(room, request)
            writer.write(_encode(response))
            await writer.drain()
    except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # An incomplete, slow or oversized request gets no response.
    except Exception:
        LOG.exception("the metrics of this node could not be served")
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _parse_request(head: bytes, writer: asyncio.StreamWriter) -> _Request | None:
    """Parse the head; None for a malformed request or another method than GET and HEAD."""
    first, *rest = head.decode("latin-1").split("\r\n")
    method, _, target = first.partition(" ")
    path, _, version = target.rpartition(" ")
    if method not in ("GET", "HEAD") or not version.startswith("HTTP/1."):
        return None
    pairs = (line.partition(":") for line in rest if line)
    peer = writer.get_extra_info("peername") or ("",)
    return _Request(path.partition("?")[0], {name.strip().lower(): value.strip() for name, _, value in pairs}, peer[0])


async def _respond(room: MetricsEndpoint, request: _Request) -> _Response:
    try:
        if request.path == "/healthz":
            return _Response(200, json.dumps({"status": "ok"}))
        if request.path == "/readyz":
            return await _readiness(room)
        if request.path in ("/metrics", PROCESS_PATH):
            return await _metrics(room, request)
    except HoraeError as error:
        return _error_response(next((status for kind, status in _STATUSES if isinstance(error, kind)), 500))
    return _error_response(404)


async def _metrics(room: MetricsEndpoint, request: _Request) -> _Response:
    if not has_key(request.headers, room.key):
        await check_access(room.policy, request.peer, request.headers, room.authenticate)
    if request.path == PROCESS_PATH:
        text = room.observer.render_process()
    else:
        text = await room.observer.text(room.store, await scrape_engines(room.engine_peers))
    return _Response(200, text, CONTENT_TYPE)


async def _readiness(room: MetricsEndpoint) -> _Response:
    health = await check_health(room.store, room.clock, room.observer.write_probe)
    is_ready = health.readiness.is_ready(engine=True)
    body = {
        "status": "ready" if is_ready else "not ready",
        "parts": health.readiness._asdict(),
        "clock_steps": health.steps_json(),
        "problem": public_error_json(health.problem),
    }
    return _Response(200 if is_ready else 503, json.dumps(body))


def _error_response(status: int) -> _Response:
    return _Response(status, json.dumps({"status": status, "title": HTTPStatus(status).phrase}))


def _encode(response: _Response) -> bytes:
    body = response.body.encode()
    extra = "WWW-Authenticate: Bearer\r\n" if response.status == 401 else ""
    head = (
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\nContent-Type: {response.type}\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{extra}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


class EnginePeer(NamedTuple):
    """Another engine process of the same supervisor: address of its metrics server, and the shared key."""

    host: str
    port: int
    key: str

    async def scrape(self) -> str:
        """Scrape the engine process's metrics; empty when it does not answer, for example while it restarts."""
        try:
            async with asyncio.timeout(1.0):
                return await self._scrape()
        except (TimeoutError, OSError, ValueError):
            return ""

    async def _scrape(self) -> str:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(
                f"GET {PROCESS_PATH} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.key}\r\n\r\n".encode()
            )
            head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return body.decode() if head.startswith(b"HTTP/1.1 200 ") else ""


async def scrape_engines(peers: Sequence[EnginePeer]) -> list[str]:
    """Scrape the metrics of other engine processes at once; one that does not answer has an empty text."""
    return await asyncio.gather(*(peer.scrape() for peer in peers))


class Observability(NamedTuple):
    """`engine_peers` are the other engine processes of the same supervisor."""

    observer: Observer
    policy: Policy = "local"
    engine_peers: tuple[EnginePeer, ...] = ()
    tolerance: timedelta = TOLERANCE
    grace: timedelta = GRACE
