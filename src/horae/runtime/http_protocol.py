"""HTTP as our server reads it: uvicorn's protocol, with a bound on how large the head of a request is, and how long all takes."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..api.event_format import STRAIGHT
from .http_server import LARGEST_HEAD

LONGEST_HEAD: Final = 15.0
"""Seconds from the first byte of a connection, or of the next request on it, to the end of the head."""
LONGEST_BODY: Final = 60.0
"""Seconds from there to the end of the body: whoever sends a byte a minute would hold a connection for ever, also where
nobody has looked at their token yet."""
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n"
    b"x-content-type-options: nosniff\r\n\r\n"
)


_BETWEEN: Final = 4
"""What stands between a header's name and its value, and behind it."""

_AROUND: Final = 32
"""What may stand around each piece of a body that does not say its length beforehand."""


class _HeadTooLargeError(Exception):
    """Raised to the parser, which then reads no further."""


class BoundedProtocol(HttpToolsProtocol):
    """What never ends its head or its body is cut off, however slowly it comes."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = 0
        self._understood = 0
        self._reading = True
        self._too_large = False
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._end = self.loop.call_later(LONGEST_HEAD, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self._head - self._understood <= LARGEST_HEAD:
            return
        if self._reading:
            self._refuse()
        else:
            # Trailers are bounded like headers. What was answered by now was answered.
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        extensions: dict[str, Any] = {STRAIGHT: self._straight}
        self.scope["extensions"] = extensions
        self._reading = True
        if self._end is None:
            self._end = self.loop.call_later(LONGEST_HEAD, self.transport.close)

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come behind the body. They are not headers: a proxy in front has not looked at them.
        if self._reading:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        # One that came whole was never counted while it came: a single packet can be larger than a head may be.
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers))) + _BETWEEN * len(self.headers)
        if size > LARGEST_HEAD:
            self._too_large = True
            raise _HeadTooLargeError
        self._reading = False
        self._understood = self._head
        self._in_time()
        self._end = self.loop.call_later(LONGEST_BODY, self.transport.close)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._understood += len(body) + _AROUND
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = self._understood = 0
        self._in_time()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def _straight(self, chunk: bytes) -> bool:
        """One more chunk of a body that has begun, to the socket itself: a stream that many hear has no time for more.
        False: not now, because somebody takes in less than comes, or not so at all."""
        cycle = self.cycle
        if cycle.chunked_encoding is not True or cycle.response_complete or cycle.disconnected:
            return False
        if self.flow.write_paused or self.transport.is_closing():
            return False
        self.transport.write(chunk)
        return True

    def _in_time(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
