"""Heartbeats of a child process to its supervisor, withheld while the engine leaves due work unclaimed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..clock import Clock
from ..errors import StoreError
from ..model.entry import CLAIMABLE
from .control_socket import BEAT

if TYPE_CHECKING:
    from ..app import Horae

GRACE: Final = timedelta(seconds=60)
"""A claimable entry that is overdue by more than this at two checks in a row means that the engine is stuck."""
_STORE_TIMEOUT_SECONDS: Final = 5.0

Head = tuple[str, datetime] | None


async def send_beats(
    control: socket.socket, every: float, clock: Clock, is_healthy: Callable[[], bool] = lambda: True
) -> None:
    """Send a heartbeat every so many seconds, until it is cancelled or the supervisor is gone."""
    try:
        while True:
            if is_healthy():
                control.sendall(BEAT)
            await clock.pause(every)
    except OSError:
        return


@asynccontextmanager
async def run_heartbeat(control: socket.socket, every: float | None, clock: Clock) -> AsyncIterator[None]:
    """Send heartbeats while the block runs; `every` None: no watchdog waits for them."""
    sender = None if every is None else asyncio.ensure_future(send_beats(control, every, clock))
    try:
        yield
    finally:
        if sender is not None:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)


class EngineHealth:
    """Checks whether the engine of this process still claims due work.

    A store that does not answer, a full lane and a long backlog do not count as unhealthy: a restart would help with none
    of them.
    """

    def __init__(self, app: Horae, grace: timedelta = GRACE) -> None:
        self._app = app
        self._grace = grace
        self._previous: Head = None
        self.is_healthy = True

    async def watch(self, every: float) -> None:
        while True:
            await self._app.clock.pause(every)
            await self.check()

    async def check(self) -> None:
        """Update `is_healthy`: false if the same entry is overdue as at the last check."""
        head = await self._overdue() if self._can_claim() else None
        self.is_healthy = head is None or head != self._previous
        self._previous = head

    def _can_claim(self) -> bool:
        engine = self._app.engine
        return (
            engine is not None and not engine.is_draining and engine.lease.is_held and engine.runner.free_capacity > 0
        )

    async def _overdue(self) -> Head:
        """Return the entry at the head of the agenda, if it is overdue by more than the grace."""
        try:
            async with asyncio.timeout(_STORE_TIMEOUT_SECONDS):
                upcoming = await self._app.store.upcoming(None, 1)
        except (StoreError, TimeoutError):
            return None
        for facts in upcoming:
            due = min(each.due for each in facts.entries if each.state in CLAIMABLE)
            if self._app.clock.now() - due > self._grace:
                return facts.task.id, due
        return None
