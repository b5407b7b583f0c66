"""Event stream of one chat: new messages, states of deliveries, and whether the agent works.

It follows the event log for what changed and reads the messages themselves from their stream, so that a client resumes by
the number of its last message.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..errors import HoraeError, StoreError
from ..model.accounts.principal import Principal
from ..model.agents.group import Group
from ..model.events.event import Event, EventKind
from ..model.messages import PAGE_MESSAGES
from ..service.events.event_tail import Batch, EventFilter, ListenerClosed
from ..service.service import Service
from ..web.event_format import SSE
from ..web.event_streams import Credential, EventStreams, Stream
from ..wire.chats import transcript_message_json

WORKING_POLL_SECONDS: Final = 2.0
_DELIVERY_KINDS: Final = frozenset({EventKind.DELIVERY_SENT, EventKind.DELIVERY_DELAYED, EventKind.DELIVERY_FAILED})
_FILTER: Final = EventFilter(_DELIVERY_KINDS | {EventKind.MESSAGE_APPENDED})
_HEARTBEAT: Final = b":\n\n"


class ChatEventResponse(Response):
    """`after` is the number of the last message that the client has; None begins with new messages."""

    def __init__(
        self,
        streams: EventStreams,
        service: Service,
        principal: Principal,
        credential: Credential,
        group: Group,
        after: int | None,
    ) -> None:
        super().__init__(media_type=SSE)
        del self.headers["content-length"]
        self.headers["X-Accel-Buffering"] = "no"
        self._streams = streams
        self._service = service
        self._principal = principal
        self._credential = credential
        self._group = group
        self._after = after
        self._is_working = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        async with self._streams.listen(self._principal, self._credential, _FILTER, None) as stream:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            disconnect = asyncio.ensure_future(_end_on_disconnect(receive, stream))
            try:
                await self._run(stream, send)
            except asyncio.CancelledError:
                if not stream.is_stuck:
                    raise
            finally:
                disconnect.cancel()

    async def _run(self, stream: Stream, send: Send) -> None:
        if self._after is None:
            self._after = (await self._service.chats.transcript(self._principal, self._group.chat, limit=1)).last
        await self._send(stream, send, b": horae\nretry: 1000\nid: %d\n\n" % self._after)
        await self._send(stream, send, await self._follow(stream, send), more=False)

    async def _follow(self, stream: Stream, send: Send) -> bytes:
        """Send until the stream ends; return the closing notice."""
        listening: asyncio.Future[Any] = asyncio.ensure_future(stream.listener.next())
        try:
            await self._send_messages(stream, send)
            while True:
                await self._send_working(stream, send)
                await asyncio.wait([listening], timeout=WORKING_POLL_SECONDS)
                if not listening.done():
                    continue
                item = listening.result()
                listening = asyncio.ensure_future(stream.listener.next())
                if isinstance(item, Batch):
                    await self._send_batch(stream, send, item)
                else:
                    await self._send(stream, send, _HEARTBEAT)
        except ListenerClosed as cut:
            return _frame("end", {"reason": cut.reason})
        except StoreError:
            return _frame("end", {"reason": "store"})
        except HoraeError:
            # The group was removed, or is no longer visible.
            return _frame("end", {"reason": "gone"})
        finally:
            listening.cancel()

    async def _send_batch(self, stream: Stream, send: Send, batch: Batch) -> None:
        own = [each.event for each in batch.events if each.event.owner == self._group.owner]
        details = [(event, json.loads(event.detail or "{}")) for event in own]
        if any(event.kind is EventKind.MESSAGE_APPENDED and self._is_of_chat(detail) for event, detail in details):
            await self._send_messages(stream, send)
        for frame in self._delivery_frames(details):
            await self._send(stream, send, frame)

    def _is_of_chat(self, detail: dict[str, Any]) -> bool:
        return detail.get("stream") == self._group.stream

    def _delivery_frames(self, details: list[tuple[Event, dict[str, Any]]]) -> Iterator[bytes]:
        for event, detail in details:
            if event.kind in _DELIVERY_KINDS and detail.get("chat") == self._group.chat:
                names = ("delivery", "state", "problem")
                yield _frame("delivery", {name: detail[name] for name in names if name in detail})

    async def _send_messages(self, stream: Stream, send: Send) -> None:
        """Send all messages after the last one that the client has."""
        while True:
            found = await self._service.chats.transcript(self._principal, self._group.chat, self._after, PAGE_MESSAGES)
            for row in found.messages:
                self._after = row.message.number
                await self._send(stream, send, _frame("message", transcript_message_json(row), self._after))
            if found.next_after is None:
                return

    async def _send_working(self, stream: Stream, send: Send) -> None:
        is_working = await self._service.chats.is_working(self._group)
        if is_working is not self._is_working:
            self._is_working = is_working
            await self._send(stream, send, _frame("working", {"is_working": is_working}))

    async def _send(self, stream: Stream, send: Send, body: bytes, *, more: bool = True) -> None:
        stream.is_sending, stream.sent_at = True, self._streams.now
        await send({"type": "http.response.body", "body": body, "more_body": more})
        stream.is_sending = False


async def _end_on_disconnect(receive: Receive, stream: Stream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.listener.close("gone")


def _frame(name: str, data: dict[str, Any], number: int | None = None) -> bytes:
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
