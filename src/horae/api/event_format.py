"""A stream of events as it goes over the wire: server-sent events, or one JSON object a line."""

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
from ..service.events.event_bodies import Told
from ..service.events.event_tail import Batch, CutOff, Listener, Wanted
from ..service.events.owner_sequence import Gap
from .event_streams import Hearing, Stream

SSE: Final = "text/event-stream"
NDJSON: Final = "application/x-ndjson"
STRAIGHT: Final = "horae.straight"
"""Where the server offers a way to its socket, it is found under this name among the extensions of a request."""


class Manner(NamedTuple):
    """The format of a stream. `by_position`: an admin hears all owners and resumes by the position in the log; an owner by
    the number of the owner's own event."""

    type: str
    heartbeat: bytes
    by_position: bool

    def events(self, told: Iterable[Told]) -> bytes:
        events = list(told)
        bodies = with_positions(events) if self.by_position else [each.body for each in events]
        if self.type == NDJSON:
            return b"".join(body + b"\n" for body in bodies)
        cursors = [each.position if self.by_position else each.sequence for each in events]
        return b"".join(map(_frame, cursors, events, bodies))

    def chunk(self, told: Iterable[Told]) -> bytes:
        """The same, framed as HTTP/1.1 has it."""
        body = self.events(told)
        return b"%x\r\n%b\r\n" % (len(body), body)

    def greeting(self, position: int) -> bytes:
        """Where it begins is said at once: who is cut off before the first event can resume all the same."""
        return b": horae\nretry: 1000\nid: %d\n\n" % position if self.type == SSE else b"\n"

    def notice(self, name: str, **facts: int | str) -> bytes:
        """About the stream itself, not an event of the log."""
        if self.type == SSE:
            return f"event: {name}\ndata: {json.dumps(facts)}\n\n".encode()
        return json.dumps({"stream": name, **facts}).encode() + b"\n"


MANNERS: Final = {
    (type_, by_position): Manner(type_, heartbeat, by_position)
    for type_, heartbeat in ((SSE, b":\n\n"), (NDJSON, b"\n"))
    for by_position in (False, True)
}


class Request(NamedTuple):
    """Who wants to hear what, from where on. `gap` is what they asked for and cannot have."""

    who: Principal
    token: str
    wanted: Wanted
    after: int | None
    gap: Gap | None = None


class EventStream(Response):
    def __init__(self, hearing: Hearing, asked: Request, manner: Manner) -> None:
        super().__init__(media_type=manner.type)
        del self.headers["content-length"]
        self.headers["X-Accel-Buffering"] = "no"
        self._hearing = hearing
        self._asked = asked
        self._manner = manner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who, token, wanted, after, _ = self._asked
        async with self._hearing.listen(who, token, wanted, after) as stream:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            gone = asyncio.ensure_future(_until_gone(receive, stream.listener))
            straight = scope.get("extensions", {}).get(STRAIGHT)
            if straight is not None:
                stream.listener.sink = partial(self._say_straight, stream, straight)
            try:
                await self._speak(stream, send)
            except asyncio.CancelledError:
                if not stream.is_stuck:
                    raise
            finally:
                gone.cancel()

    async def _speak(self, stream: Stream, send: Send) -> None:
        listener, manner = stream.listener, self._manner
        opening = manner.greeting(listener.cursor)
        if self._asked.gap is not None:
            opening += manner.notice("gap", after=self._asked.gap.after, resumes=self._asked.gap.resumes)
        await self._say(stream, send, opening)
        await self._say(stream, send, await self._until_over(stream, send), more=False)

    async def _until_over(self, stream: Stream, send: Send) -> bytes:
        """Says what there is to say; the answer is the last word."""
        listener, manner = stream.listener, self._manner
        try:
            while True:
                batch = await listener.next()
                await self._say(stream, send, manner.heartbeat if batch is None else batch.rendered(manner.events))
        except CutOff as cut:
            return manner.notice("end", reason=cut.why, after=cut.cursor)
        except StoreError:
            return manner.notice("end", reason="store", after=listener.cursor)

    def _say_straight(self, stream: Stream, straight: Callable[[bytes], bool], batch: Batch) -> bool:
        """Past all that wraps an answer, and without waking anybody: where a thousand listen, that is most of the cost."""
        if not straight(batch.rendered(self._manner.chunk)):
            return False
        stream.said_at = self._hearing.now
        return True

    async def _say(self, stream: Stream, send: Send, body: bytes, *, more: bool = True) -> None:
        stream.is_saying, stream.said_at = True, self._hearing.now
        await send({"type": "http.response.body", "body": body, "more_body": more})
        stream.is_saying = False


async def _until_gone(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.end("gone")


def with_positions(told: Iterable[Told]) -> list[bytes]:
    """Bodies for an admin, each with the position in the log after which a reader can resume."""
    return [each.body[:-1] + b',"position":%d}' % each.position for each in told]


def _frame(cursor: int, told: Told, body: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (cursor, told.event.kind.value.encode(), body)
