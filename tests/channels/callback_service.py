"""The side of a service that calls webhooks: it delivers again what was not accepted, and never stops trying."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from horae.clock import SystemClock
from horae.ports.channel import Channel, WebhookChannel
from horae.testing.contracts.channels import ChatService
from horae.testing.contracts.channels.harness import PATIENCE
from tests.channels.asgi_call import Answer

Deliver = Callable[[WebhookChannel], Awaitable[Answer]]
_AT_ONCE = 3


class CallbackChats(ChatService):
    """`statuses` are the answers to the deliveries so far."""

    def __init__(self) -> None:
        super().__init__()
        self.statuses: list[int] = []
        self._channel: WebhookChannel | None = None
        self._missing: list[Deliver] = []
        self._redelivery: asyncio.Task[None] | None = None

    @property
    def channel(self) -> WebhookChannel:
        assert self._channel is not None
        return self._channel

    def attach(self, channel: Channel) -> None:
        self._channel = channel  # type: ignore[assignment]
        if self._missing:
            self._redelivery = asyncio.create_task(self._redeliver())

    async def deliver(self, deliver: Deliver) -> None:
        for _ in range(_AT_ONCE):
            answer = await deliver(self.channel)
            self.statuses.append(answer.status)
            if answer.status == 200:
                return
        self._missing.append(deliver)

    async def _redeliver(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self._missing:
                answer = await self._missing[0](self.channel)
                self.statuses.append(answer.status)
                if answer.status == 200:
                    self._missing.pop(0)
                else:
                    await SystemClock().pause(0.005)
