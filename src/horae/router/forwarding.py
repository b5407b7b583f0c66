"""One HTTP exchange with a deployment: the body is streamed there, and the response back, both with backpressure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from ..errors import HoraeError
from ..web.refusals import refuse

if TYPE_CHECKING:
    from aiohttp import ClientResponse

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
"""The most that any path of a deployment takes; most take less, and refuse more themselves."""
_EVENT_STREAMS: Final = frozenset({"text/event-stream", "application/x-ndjson"})
_MAX_KEPT_BYTES: Final = 256 * 1024
"""Bodies up to this size can be sent to a second deployment, when the first one says that the owner has moved."""


class RequestBody:
    """Body of one request. It is received once, and at most `MAX_BODY_BYTES` of it."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"").decode("latin-1")
        if length.isdecimal() and int(length[:12]) > MAX_BODY_BYTES:
            raise refuse("body_too_large", most=MAX_BODY_BYTES)
        self.is_empty = b"transfer-encoding" not in headers and not int(length[:12] or "0" if length.isdecimal() else 0)
        self.is_complete = self.is_empty
        self.refusal: HoraeError | None = None
        """Why the body was not sent to its end."""
        self._receive = receive
        self._kept: list[bytes] = []
        self._most_kept = _MAX_KEPT_BYTES
        self._size = 0

    @property
    def is_repeatable(self) -> bool:
        """Whether everything that was received is still known."""
        return self._size <= self._most_kept

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body from its beginning, as long as it is repeatable."""
        for part in self._kept:
            yield part
        while not self.is_complete:
            part = await self._next_part()
            if part:
                yield part

    async def read(self) -> bytes:
        """Return the whole body; it can be streamed afterwards."""
        self._most_kept = MAX_BODY_BYTES
        return b"".join([part async for part in self.stream()])

    async def _next_part(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        self.is_complete = not message.get("more_body", False)
        self._size += len(part)
        if self._size > MAX_BODY_BYTES:
            self.refusal = refuse("body_too_large", most=MAX_BODY_BYTES)
            raise self.refusal
        if self.is_repeatable:
            self._kept.append(part)
        else:
            self._kept.clear()
        return part


async def return_response(
    response: ClientResponse,
    headers: list[tuple[bytes, bytes]],
    read: bytes,
    body: RequestBody,
    channel: tuple[Receive, Send],
    closing: asyncio.Event,
) -> None:
    """Send the response of a deployment to the client; `read` is what was read of it before. An event stream ends when the client goes away, or the router ends.

    A response that the deployment does not finish is not finished here either: the connection ends without its last chunk.
    """
    receive, send = channel
    if not body.is_complete:
        # What is left of the body must not be taken for the next request.
        headers = [*headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    relay = asyncio.ensure_future(_relay_body(response, read, send))
    ends: set[asyncio.Future[Any]] = {relay}
    is_stream = response.content_type in _EVENT_STREAMS
    if is_stream:
        ends.add(asyncio.ensure_future(closing.wait()))
    if body.is_complete:
        ends.add(asyncio.ensure_future(_wait_for_disconnect(receive)))
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        is_relayed = relay.done()
    finally:
        for each in ends:
            each.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
    if is_relayed:
        relay.result()
    elif is_stream and closing.is_set():
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _relay_body(response: ClientResponse, read: bytes, send: Send) -> None:
    from aiohttp import ClientError  # noqa: PLC0415 - an extra

    if read:
        await send({"type": "http.response.body", "body": read, "more_body": True})
    try:
        async for chunk in response.content.iter_any():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except (ClientError, OSError, TimeoutError):
        raise ClientDisconnect from None
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive) -> None:
    message: Message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
