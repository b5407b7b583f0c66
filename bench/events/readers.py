"""Many event readers on separate connections, and the delivery latency of each event."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Final, cast
from urllib.parse import urlsplit

from horae.clock import SystemClock

_TIME: Final = re.compile(rb'"time":"([^"]+)"')


class Reader(asyncio.Protocol):
    """Plain bytes: a library that reads events would cost more than the server that is measured."""

    def __init__(self, request: bytes, heard: Callable[[float], None], ready: Callable[[], None]) -> None:
        self._request = request
        self._heard = heard
        self._ready = ready
        self._is_ready = False
        self._clock = SystemClock()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        now = self._clock.now()
        if not self._is_ready and b"retry:" in data:
            self._is_ready = True
            self._ready()
        for text in _TIME.findall(data):
            self._heard((now - datetime.fromisoformat(text.decode())).total_seconds())


@asynccontextmanager
async def listening(base: str, token: str, number: int, asked: Sequence[str] = ("",)) -> AsyncIterator[list[float]]:
    """All readers are connected; the list grows with each received event. `asked` are queries, in alternation."""
    heard: list[float] = []
    there = asyncio.Semaphore(0)
    place = urlsplit(base)
    head = f"HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
    requests = [f"GET /v1/events{query} {head}".encode() for query in asked]
    loop = asyncio.get_running_loop()
    lines = []
    for each in range(number):
        reader = partial(Reader, requests[each % len(requests)], heard.append, there.release)
        line, _ = await loop.create_connection(reader, place.hostname or "", place.port or 80)
        lines.append(line)
    for _ in range(number):
        await there.acquire()
    try:
        yield heard
    finally:
        for line in lines:
            line.close()
