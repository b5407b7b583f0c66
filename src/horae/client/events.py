"""Events of a server: pages, and a stream of server-sent events that reconnects with back-off at the last cursor."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from ..clock import Clock
from ..errors import ServerUnreachable
from ..model.accounts.principal import Principal
from ..model.events.event import Event, EventKind, SequencedEvent
from ..model.page import MAX_HTTP_PAGE_SIZE
from ..wire.instants import parse_instant
from .connection import Connection
from .decode import decode_response

_BACKOFF_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before each reconnection; after the last one the error is raised."""


def event_from_json(value: Any) -> SequencedEvent:
    """Read an event from its CloudEvent, with the cursor after which a reader can resume."""
    data = value["data"]
    event = Event(
        EventKind(data["kind"]),
        parse_instant(value["time"]),
        data["owner"],
        data["task_id"],
        data["run_id"],
        data["detail"],
    )
    return SequencedEvent(value.get("position", data["number"]), data["number"], event)


class RemoteEvents:
    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    async def after(self, principal: Principal, number: int, limit: int = 1_000) -> tuple[SequencedEvent, ...]:
        del principal
        events: list[SequencedEvent] = []
        while len(events) < limit:
            query = [("after", str(number)), ("limit", str(min(limit - len(events), MAX_HTTP_PAGE_SIZE)))]
            response = await self._connection.get("/v1/events", query)
            page = await decode_response(
                self._connection, lambda each: [event_from_json(one) for one in each["items"]], response
            )
            events += page
            if not page:
                break
            number = page[-1].cursor
        return tuple(events)

    async def last(self, principal: Principal) -> int:
        del principal
        response = await self._connection.get("/v1/events", [("limit", "1")])
        return await decode_response(self._connection, lambda each: int(each["last"]), response)

    def follow(self, principal: Principal, number: int) -> AsyncIterator[SequencedEvent]:
        del principal
        return stream_events(self._connection, self._clock, number)


async def stream_events(connection: Connection, clock: Clock, number: int) -> AsyncIterator[SequencedEvent]:
    """Yield every event after `number`, each once, without end. A restarting server is reconnected to; raises
    ServerUnreachable when the back-off is used up."""
    failed = 0
    while True:
        try:
            async for each in _read_until_disconnected(connection, number):
                number, failed = each.cursor, 0
                yield each
        except ServerUnreachable:
            if failed == len(_BACKOFF_SECONDS):
                raise
            await clock.pause(_BACKOFF_SECONDS[failed])
            failed += 1


async def _read_until_disconnected(connection: Connection, number: int) -> AsyncIterator[SequencedEvent]:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(number)}
    async with connection.stream("/v1/events", [], headers) as lines:
        async for data in _messages(lines):
            yield await decode_response(connection, _parse_event, data)


def _parse_event(data: str) -> SequencedEvent:
    return event_from_json(json.loads(data))


async def _messages(lines: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each server-sent event; events end at an empty line, and lines that start with a colon are
    heartbeats."""
    data: list[str] = []
    async for raw in lines:
        line = raw.decode(errors="replace").rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
