"""Signs of life of a process for the one that started it: for as long as it turns, and its engine claims what is due."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ...clock import Clock
from ...errors import StoreError
from ...model.entry import CLAIMABLE
from .supervisor import BEAT

if TYPE_CHECKING:
    from ...app import Horae

GRACE: Final = timedelta(seconds=60)
"""What could be claimed, is due for so long and is still there at the next look was forgotten."""
_PATIENCE_SECONDS: Final = 5.0

Head = tuple[str, datetime] | None


async def beat(line: socket.socket, every: float, clock: Clock, well: Callable[[], bool] = lambda: True) -> None:
    """Until it is cancelled, or nobody is there any more who could hear it."""
    try:
        while True:
            if well():
                line.sendall(BEAT)
            await clock.pause(every)
    except OSError:
        return


@asynccontextmanager
async def beating(line: socket.socket, every: float | None, clock: Clock) -> AsyncIterator[None]:
    """Signs of life from within; `every` None: nobody waits for any."""
    going = None if every is None else asyncio.ensure_future(beat(line, every, clock))
    try:
        yield
    finally:
        if going is not None:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)


class Punctuality:
    """Whether the engine of this process still does its work.

    A store that does not answer, a lane that is full and a crowd that takes its time are no reason for silence: to begin
    again would help in none of these cases.
    """

    def __init__(self, app: Horae, grace: timedelta = GRACE) -> None:
        self._app = app
        self._grace = grace
        self._before: Head = None
        self.kept = True

    async def watch(self, every: float) -> None:
        while True:
            await self._app.clock.pause(every)
            await self.look()

    async def look(self) -> None:
        head = await self._overdue() if self._could_claim() else None
        self.kept = head is None or head != self._before
        self._before = head

    def _could_claim(self) -> bool:
        engine = self._app.engine
        return (
            engine is not None and not engine.is_draining and engine.lease.is_held and engine.runner.free_capacity > 0
        )

    async def _overdue(self) -> Head:
        """What has waited longest, if that is too long."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                found = await self._app.store.upcoming(None, 1)
        except (StoreError, TimeoutError):
            return None
        for facts in found:
            due = min(each.due for each in facts.entries if each.state in CLAIMABLE)
            if self._app.clock.now() - due > self._grace:
                return facts.task.id, due
        return None
