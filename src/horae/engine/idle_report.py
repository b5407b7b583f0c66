"""Idle state of an active run: written to the store in the background, with the request to yield that it leads to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from ..clock import Clock
from ..model.lanes.idle import YieldReason
from ..ports.store import Agenda
from ..store_retry import TRANSIENT_ERRORS, StoreRetry

if TYPE_CHECKING:
    from .active_run import ActiveRun


class IdleReport:
    """One per run that ever declared itself idle. `declare` may be called from any thread, the rest on the event loop."""

    def __init__(self, store: Agenda, clock: Clock, active: ActiveRun, is_active: Callable[[], bool]) -> None:
        self.since: datetime | None = None
        self.reason: YieldReason | None = None
        """Why the run should yield, while it is idle."""
        self._store = store
        self._clock = clock
        self._active = active
        self._is_active = is_active
        self._written: datetime | None = None
        self._job: asyncio.Task[None] | None = None

    def declare(self, since: datetime | None) -> None:
        """Declare the run idle since an instant, or no longer idle (None); without an effect if it is so already."""
        job = self._active.job
        if (since is None) == (self.since is None) or job is None:
            return
        self.since, self.reason = since, None
        with suppress(RuntimeError):  # the event loop is closed
            job.get_loop().call_soon_threadsafe(self._start_writing)

    def request_yield(self, since: datetime, reason: YieldReason | None) -> None:
        """Take a request that is meant for the run as idle since that instant; an older one has no effect."""
        if reason is not None and self.reason is None and self.since == since:
            self.reason = reason
            self._active.log(f"asked to yield: {reason}")

    def _start_writing(self) -> None:
        # A run without lanes holds no slot that it could yield.
        if self._active.run.lanes and (self._job is None or self._job.done()):
            self._job = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        retry = StoreRetry("the idle state of a run", self._clock)
        run = self._active.run
        while self._written != self.since and self._is_active():
            # The end of an idle period is written before the next one begins.
            since = self.since if self._written is None else None
            try:
                reason = await self._store.declare_idle(run.id, run.token, since)
            except TRANSIENT_ERRORS as error:
                await retry.wait(error)
                continue
            retry.succeeded()
            self._written = since
            if since is not None:
                self.request_yield(since, reason)
