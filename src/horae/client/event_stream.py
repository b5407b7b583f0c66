"""The event log of a server as it grows: read line by line, and taken up again where it broke off."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from ..clock import Clock
from ..errors import ServerUnreachable
from ..model.events.event import Event, EventKind, Sequenced
from ..wire.instants import instant
from .connection import Connection
from .decode import understood

_WAITS: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before each try to come back; after the last of them the reader is told."""


def sequenced_from(said: Any) -> Sequenced:
    """An event out of its CloudEvent, with the cursor after which its reader can resume."""
    data = said["data"]
    event = Event(
        EventKind(data["kind"]), instant(said["time"]), data["owner"], data["task_id"], data["run_id"], data["detail"]
    )
    return Sequenced(said.get("position", data["number"]), data["number"], event)


async def streamed(connection: Connection, clock: Clock, number: int) -> AsyncIterator[Sequenced]:
    """Everything after that number, each once, for ever; a server that restarts is waited for."""
    failed = 0
    while True:
        try:
            async for each in _until_cut(connection, number):
                number, failed = each.cursor, 0
                yield each
        except ServerUnreachable:
            if failed == len(_WAITS):
                raise
            await clock.pause(_WAITS[failed])
            failed += 1


async def _until_cut(connection: Connection, number: int) -> AsyncIterator[Sequenced]:
    wanted = {"Accept": "text/event-stream", "Last-Event-ID": str(number)}
    async with connection.stream("/v1/events", [], wanted) as lines:
        async for data in _messages(lines):
            yield await understood(connection, _read, data)


def _read(data: str) -> Sequenced:
    return sequenced_from(json.loads(data))


async def _messages(lines: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """What is said between two empty lines; a line that begins with a colon is only a sign of life."""
    said: list[str] = []
    async for raw in lines:
        line = raw.decode(errors="replace").rstrip("\r\n")
        if line.startswith("data:"):
            said.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and said:
            yield "\n".join(said)
            said = []
