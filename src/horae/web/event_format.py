"""Event stream responses: server-sent events or newline-delimited JSON, with heartbeats and notices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..errors import StoreError
from ..model.accounts.principal import Principal
from ..service.events.event_bodies import EncodedEvent
from ..service.events.event_tail import Batch, EventFilter, Listener, ListenerClosed
from ..service.events.owner_sequence import Gap
from ..service.runs.log_watch import LogState
from .event_streams import Credential, EventStreams, Stream

SSE: Final = "text/event-stream"
NDJSON: Final = "application/x-ndjson"
DIRECT_WRITE: Final = "horae.straight"
"""Name of the ASGI extension under which the server offers direct writes to its socket."""


class StreamFormat(NamedTuple):
    """Format of a stream. `by_position`: an admin reads all owners and resumes by the position in the log; an owner
    resumes by the number of its own event."""

    type: str
    heartbeat: bytes
    by_position: bool

    def events(self, rendered: Iterable[EncodedEvent]) -> bytes:
        events = list(rendered)
        bodies = with_positions(events) if self.by_position else [each.body for each in events]
        if self.type == NDJSON:
            return b"".join(body + b"\n" for body in bodies)
        cursors = [each.position if self.by_position else each.sequence for each in events]
        return b"".join(map(_frame, cursors, events, bodies))

    def chunk(self, rendered: Iterable[EncodedEvent]) -> bytes:
        """Encode as one HTTP/1.1 chunk."""
        body = self.events(rendered)
        return b"%x\r\n%b\r\n" % (len(body), body)

    def opening(self, position: int) -> bytes:
        """Return the opening bytes with the starting id, so that a client cut off before the first event can resume."""
        return b": horae\nretry: 1000\nid: %d\n\n" % position if self.type == SSE else b"\n"

    def notice(self, name: str, **facts: int | str) -> bytes:
        """Encode a notice about the stream itself, which is no event of the log."""
        if self.type == SSE:
            return f"event: {name}\ndata: {json.dumps(facts)}\n\n".encode()
        return json.dumps({"stream": name, **facts}).encode() + b"\n"


STREAM_FORMATS: Final = {
    (type_, by_position): StreamFormat(type_, heartbeat, by_position)
    for type_, heartbeat in ((SSE, b":\n\n"), (NDJSON, b"\n"))
    for by_position in (False, True)
}


class StreamRequest(NamedTuple):
    """Parameters of a stream: caller, credential, filter and start. `gap` is the range that was requested but is no longer
    in the log."""

    principal: Principal
    credential: Credential
    event_filter: EventFilter
    after: int | None
    gap: Gap | None = None
    log_of: str | None = None
    """A run whose new log lines are announced."""


class EventStreamResponse(Response):
    def __init__(self, streams: EventStreams, request: StreamRequest, stream_format: StreamFormat) -> None:
        super().__init__(media_type=stream_format.type)
        del self.headers["content-length"]
        self.headers["X-Accel-Buffering"] = "no"
        self._streams = streams
        self._request = request
        self._format = stream_format

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal, credential, event_filter, after, _, log_of = self._request
        async with self._streams.listen(principal, credential, event_filter, after, log_of) as stream:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            disconnect = asyncio.ensure_future(_end_on_disconnect(receive, stream.listener))
            direct_write = scope.get("extensions", {}).get(DIRECT_WRITE)
            if direct_write is not None:
                stream.listener.sink = partial(self._write_directly, stream, direct_write)
            try:
                await self._run(stream, send)
            except asyncio.CancelledError:
                if not stream.is_stuck:
                    raise
            finally:
                disconnect.cancel()

    async def _run(self, stream: Stream, send: Send) -> None:
        listener, stream_format = stream.listener, self._format
        opening = stream_format.opening(listener.cursor)
        if self._request.gap is not None:
            opening += stream_format.notice("gap", after=self._request.gap.after, resumes=self._request.gap.resumes)
        await self._send(stream, send, opening)
        await self._send(stream, send, await self._send_events(stream, send), more=False)

    async def _send_events(self, stream: Stream, send: Send) -> bytes:
        """Send batches and heartbeats until the stream ends; returns the closing notice."""
        listener, stream_format = stream.listener, self._format
        try:
            while True:
                await self._send(stream, send, self._encode(await listener.next()))
        except ListenerClosed as cut:
            return stream_format.notice("end", reason=cut.reason, after=cut.cursor)
        except StoreError:
            return stream_format.notice("end", reason="store", after=listener.cursor)

    def _encode(self, item: Batch | LogState | None) -> bytes:
        if item is None:
            return self._format.heartbeat
        if isinstance(item, LogState):
            return self._format.notice("log", last=item.last, live=item.live)
        return item.render(self._format.events)

    def _write_directly(self, stream: Stream, direct_write: Callable[[bytes], bool], batch: Batch) -> bool:
        """Write a batch past the ASGI layers, without a task switch: with a thousand streams those are most of the
        cost."""
        if not direct_write(batch.render(self._format.chunk)):
            return False
        stream.sent_at = self._streams.now
        return True

    async def _send(self, stream: Stream, send: Send, body: bytes, *, more: bool = True) -> None:
        stream.is_sending, stream.sent_at = True, self._streams.now
        await send({"type": "http.response.body", "body": body, "more_body": more})
        stream.is_sending = False


async def _end_on_disconnect(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.close("gone")


def with_positions(rendered: Iterable[EncodedEvent]) -> list[bytes]:
    """Return bodies for an admin, each with the log position after which a reader can resume."""
    return [each.body[:-1] + b',"position":%d}' % each.position for each in rendered]


def _frame(cursor: int, rendered: EncodedEvent, body: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (cursor, rendered.event.kind.value.encode(), body)
