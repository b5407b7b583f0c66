"""uvicorn's httptools protocol with limits on the size of a request's head and the time to receive head and body."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..web.event_format import DIRECT_WRITE
from ..web.websocket import WEBSOCKET_PATHS
from .http_server import MAX_HEAD_BYTES

HEAD_TIMEOUT: Final = 15.0
"""Seconds from the first byte of a connection, or of the next request on it, to the end of the head."""
BODY_TIMEOUT: Final = 60.0
"""Seconds from there to the end of the body: a client that sends a byte a minute would otherwise hold a connection for
ever, even without a valid token."""
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n"
    b"x-content-type-options: nosniff\r\n\r\n"
)


_HEADER_OVERHEAD: Final = 4
"""Bytes of a header besides name and value: colon, space and line end."""

_CHUNK_OVERHEAD: Final = 32
"""Bytes of framing that each chunk of a chunked body may have."""


class _HeadTooLargeError(Exception):
    """Raised to the parser, which then reads no further."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose head is too large, or whose head or body takes too long to arrive."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Also where a program has configured the loggers: URLs of calendar feeds and sign-in links hold secrets.
        self.access_log = False
        self._received_bytes = 0
        self._parsed_bytes = 0
        self._reading_head = True
        self._too_large = False
        self._awaited_seconds = 0.0
        self._timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._timeout = self.loop.call_later(HEAD_TIMEOUT, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._await(0.0)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        super().data_received(data)
        # A request that arrived in one packet, as most do, is complete here and needs no timer.
        if self._awaited_seconds and self._timeout is None:
            self._timeout = self.loop.call_later(self._awaited_seconds, self.transport.close)
        if self.transport.is_closing() or self._received_bytes - self._parsed_bytes <= MAX_HEAD_BYTES:
            return
        if self._reading_head:
            self._reject_head()
        else:
            # Trailers have the same limit as headers; a response may have been sent already, so just close.
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        extensions: dict[str, Any] = {DIRECT_WRITE: self._write_chunk}
        self.scope["extensions"] = extensions
        self._reading_head = True
        self._awaited_seconds = HEAD_TIMEOUT

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers, after the body, are dropped: a proxy in front has not checked them like headers.
        if self._reading_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        # A head that came in one packet was not counted while it arrived, and may exceed the limit.
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers))) + _HEADER_OVERHEAD * len(self.headers)
        if size > MAX_HEAD_BYTES:
            self._too_large = True
            raise _HeadTooLargeError
        self._reading_head = False
        self._parsed_bytes = self._received_bytes
        self._await(BODY_TIMEOUT)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._parsed_bytes += len(body) + _CHUNK_OVERHEAD
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._received_bytes = self._parsed_bytes = 0
        self._await(0.0)
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._reject_head()
        else:
            super().send_400_response(msg)

    def _should_upgrade_to_ws(self) -> bool:
        path = self.url.partition(b"?")[0].decode("latin-1")
        return path in WEBSOCKET_PATHS and bool(super()._should_upgrade_to_ws())

    def _reject_head(self) -> None:
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _write_chunk(self, chunk: bytes) -> bool:
        """Write a chunk of a started response directly to the socket: the fast path of event streams with many readers.

        Returns False if the caller must use the ordinary path: the client reads too slowly, or the response is not chunked.
        """
        cycle = self.cycle
        if cycle.chunked_encoding is not True or cycle.response_complete or cycle.disconnected:
            return False
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(chunk)
        return True

    def _await(self, seconds: float) -> None:
        """End the timer of the part that has arrived; the next one gets its own if it is still missing after the packet."""
        self._awaited_seconds = seconds
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None
