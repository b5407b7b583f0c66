"""Real servers on loopback for the outgoing client: an ordinary one and one that sends arbitrary bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from horae.outgoing.addresses import read_networks
from horae.outgoing.client import Client
from horae.outgoing.exchange import Reply, Request
from horae.outgoing.guard import CheckedUrl

LOOPBACK = read_networks(["127.0.0.0/8"])


class Wire:
    """Raw server on loopback. `heads` has the head of each request, `connections` counts the accepted connections."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.port = 0
        self.connections = 0
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.arrived = asyncio.Event()
        self.gone = asyncio.Event()

    def url(self, target: str = "/", host: str | None = None) -> CheckedUrl:
        return CheckedUrl("http", host or self.host, self.port, target)


Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def wire(speak: Speak, host: str = "127.0.0.1") -> AsyncIterator[Wire]:
    """Run a server that reads a request and then calls `speak` with the connection."""
    made = Wire(host)
    going: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        going.add(task)
        made.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            made.heads.append(head)
            made.bodies.append(await reader.readexactly(_length(head)))
            made.arrived.set()
            await speak(writer)
        writer.close()
        made.gone.set()
        going.discard(task)

    server = await asyncio.start_server(serve, host, 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tuple(going):
            task.cancel()
        await server.wait_closed()
        await asyncio.gather(*going, return_exceptions=True)


def _length(head: str) -> int:
    for line in head.lower().split("\r\n"):
        if line.startswith("content-length:"):
            return int(line.partition(":")[2])
    return 0


def saying(*parts: bytes) -> Speak:
    async def speak(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return speak


def answering(
    status: int = 200, body: bytes = b"", headers: tuple[tuple[str, str], ...] = (), length: int | None = None
) -> Speak:
    """Respond with a complete response and its length."""
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers)]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return saying("\r\n".join([*lines, "", ""]).encode() + body)


def endlessly(head: bytes, piece: bytes) -> Speak:
    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return speak


async def silence(_writer: asyncio.StreamWriter) -> None:
    """Never answers."""
    await asyncio.Event().wait()


def a_request(url: CheckedUrl, within: float = 30, **changes: object) -> Request:
    return Request("GET", url, (), None, within)._replace(**changes)  # type: ignore[arg-type]


@asynccontextmanager
async def a_client(client: Client | None = None) -> AsyncIterator[Client]:
    made = Client(LOOPBACK) if client is None else client
    try:
        yield made
    finally:
        await made.close()


async def reply_to(speak: Speak, **changes: object) -> Reply:
    """Return the reply of a client that may call loopback, for a server with this `speak`."""
    async with wire(speak) as server, a_client() as client:
        return await client.send(a_request(server.url(), **changes))  # type: ignore[arg-type]
