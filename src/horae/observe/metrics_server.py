"""A node's own small door to look in at: `/metrics`, `/healthz`, `/readyz`. One question, one answer, no framework."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple

from ..clock import Clock
from ..errors import HoraeError, NotAllowed, NotAuthenticated, NotFound, StoreError
from ..ports.full_store import Keeping
from ..wire.problems import told_of
from .exposition import CONTENT_TYPE
from .health import condition
from .observer import Observer
from .scrape_access import Authenticate, Policy, admit, knows_key

OWN: Final = "/metrics/process"
"""The numbers of the process alone: what the process that serves the API asks for."""
LOG: Final = logging.getLogger("horae")
_LONGEST_HEAD: Final = 16_384
_PATIENCE: Final = 5.0
_JSON: Final = "application/json"
_MOST_AT_ONCE: Final = 32
_STATUSES: Final = ((NotAuthenticated, 401), (NotAllowed, 403), (NotFound, 404), (StoreError, 503))


@dataclass(frozen=True, slots=True)
class Room:
    """What can be looked at, and by whom. `key` is known to the process beside this one, and to nobody else."""

    observer: Observer
    store: Keeping
    clock: Clock
    authenticate: Authenticate
    policy: Policy = "local"
    key: str = ""


class _Asked(NamedTuple):
    path: str
    headers: Mapping[str, str]
    peer: str


class _Answer(NamedTuple):
    status: int
    body: str
    type: str = _JSON


@asynccontextmanager
async def opened(room: Room, line: socket.socket) -> AsyncIterator[None]:
    """For as long as this is open."""
    going: set[asyncio.Task[None]] = set()

    def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(going) >= _MOST_AT_ONCE:
            writer.close()
            return
        job = asyncio.ensure_future(_serve(room, reader, writer))
        going.add(job)
        job.add_done_callback(going.discard)

    server = await asyncio.start_server(came, sock=line, limit=_LONGEST_HEAD)
    try:
        yield
    finally:
        server.close()
        for job in going:
            job.cancel()
        await asyncio.gather(*going, return_exceptions=True)


async def _serve(room: Room, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            asked = _read(await reader.readuntil(b"\r\n\r\n"), writer)
            answer = _refused(400) if asked is None else await _answer(room, asked)
            writer.write(_written(answer))
            await writer.drain()
    except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # Whoever asks nothing, too slowly, or too much, gets nothing.
    except Exception:
        LOG.exception("the numbers of this node could not be told")
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _read(head: bytes, writer: asyncio.StreamWriter) -> _Asked | None:
    """None for what is no question that can be answered here."""
    first, *rest = head.decode("latin-1").split("\r\n")
    method, _, target = first.partition(" ")
    path, _, version = target.rpartition(" ")
    if method not in ("GET", "HEAD") or not version.startswith("HTTP/1."):
        return None
    pairs = (line.partition(":") for line in rest if line)
    peer = writer.get_extra_info("peername") or ("",)
    return _Asked(path.partition("?")[0], {name.strip().lower(): value.strip() for name, _, value in pairs}, peer[0])


async def _answer(room: Room, asked: _Asked) -> _Answer:
    try:
        if asked.path == "/healthz":
            return _Answer(200, json.dumps({"status": "ok"}))
        if asked.path == "/readyz":
            return await _readiness(room)
        if asked.path in ("/metrics", OWN):
            return await _metrics(room, asked)
    except HoraeError as error:
        return _refused(next((status for kind, status in _STATUSES if isinstance(error, kind)), 500))
    return _refused(404)


async def _metrics(room: Room, asked: _Asked) -> _Answer:
    if not knows_key(asked.headers, room.key):
        await admit(room.policy, asked.peer, asked.headers, room.authenticate)
    own = asked.path == OWN
    text = room.observer.own_text() if own else await room.observer.text(room.store)
    return _Answer(200, text, CONTENT_TYPE)


async def _readiness(room: Room) -> _Answer:
    found = await condition(room.store, room.clock, room.observer.writes)
    ready = found.parts.is_ready(engine=True)
    shape = {
        "status": "ready" if ready else "not ready",
        "parts": found.parts._asdict(),
        "clock_steps": found.steps_json(),
        "problem": told_of(found.problem),
    }
    return _Answer(200 if ready else 503, json.dumps(shape))


def _refused(status: int) -> _Answer:
    return _Answer(status, json.dumps({"status": status, "title": HTTPStatus(status).phrase}))


def _written(answer: _Answer) -> bytes:
    body = answer.body.encode()
    extra = "WWW-Authenticate: Bearer\r\n" if answer.status == 401 else ""
    head = (
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\nContent-Type: {answer.type}\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n{extra}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


class Neighbour(NamedTuple):
    """The engine's process beside this one: where its door is, and the key that opens it."""

    host: str
    port: int
    key: str

    async def text(self) -> str:
        """Its own numbers; empty when it does not answer: it may just be beginning anew."""
        try:
            async with asyncio.timeout(1.0):
                return await self._asked()
        except (TimeoutError, OSError, ValueError):
            return ""

    async def _asked(self) -> str:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(
                f"GET {OWN} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.key}\r\n\r\n".encode()
            )
            head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return body.decode() if head.startswith(b"HTTP/1.1 200 ") else ""
