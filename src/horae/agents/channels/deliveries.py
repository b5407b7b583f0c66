"""Passes the HTTP callbacks of a service to the open connection; without one it answers 503, so that the service delivers later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from ...clock import Clock
from ...ports.channel import ChannelListener, DeliveryReceipt, IncomingMessage
from .api_calls import ServiceUnreachable
from .intake import Intake, ListenerFailed
from .reconnect import LOG, ConnectionReport, keep_connected


class _Open(NamedTuple):
    intake: Intake
    listener: ChannelListener
    ended: asyncio.Future[None]


class Deliveries:
    def __init__(self, service: str) -> None:
        self._service = service
        self._open: _Open | None = None

    async def keep_connected(
        self, listener: ChannelListener, clock: Clock, check: Callable[[], Awaitable[object]]
    ) -> None:
        """Connect a channel that a service calls: `check` makes a call with its credentials, then deliveries are taken."""
        intake = Intake(listener)

        async def run_session(report: ConnectionReport) -> None:
            try:
                await check()
            except ServiceUnreachable as unreachable:
                raise unreachable.for_session() from unreachable
            report.connected()
            await self.stay_open(intake, listener)

        await keep_connected(run_session, listener, clock, self._service)

    async def stay_open(self, intake: Intake, listener: ChannelListener) -> None:
        """Take deliveries until cancelled; one that is being kept then is given up, so that the service repeats it."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open = _Open(intake, listener, ended)
        try:
            await asyncio.shield(ended)
        finally:
            self._open = None
            ended.cancel()

    async def accept(self, message: IncomingMessage) -> bool:
        """Whether the message was kept; False: the service has to deliver it again."""
        current = self._open
        return current is not None and await self._finish(current.intake.accept(message), current)

    async def report(self, receipt: DeliveryReceipt) -> bool:
        current = self._open
        return current is not None and await self._finish(current.listener.on_receipt(receipt), current)

    async def _finish(self, work: Coroutine[Any, Any, None], current: _Open) -> bool:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait([task, current.ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
        if not task.done():
            return False
        error = task.exception()
        if isinstance(error, ListenerFailed):
            LOG.warning("%s: %s; the service will deliver it again", self._service, error)
        elif error is not None:
            LOG.warning("%s: a receipt could not be stored (%s)", self._service, type(error).__name__)
        return error is None
