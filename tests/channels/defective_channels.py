"""Channels with one defect each, which the contract has to find."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from horae.agents.channels import telegram
from horae.agents.channels.intake import Intake
from horae.agents.channels.reconnect import ConnectionReport
from horae.agents.channels.refusals import refuse
from horae.agents.channels.telegram import TelegramChannel
from horae.ports.channel import (
    ChannelListener,
    DeliveryDelayed,
    DeliveryRefused,
    IncomingMessage,
    MessageChange,
    Sent,
)


class ConfirmsFirst(TelegramChannel):
    """Moves the offset when updates arrive, before they are kept."""

    async def _poll(self, intake: Intake, report: ConnectionReport) -> None:
        report.connected()
        while True:
            reply = await self._call("getUpdates", {"offset": self._offset, "timeout": 50})
            updates: list[Mapping[str, Any]] = reply.document.get("result", [])
            for update in updates:
                self._offset = update["update_id"] + 1
            await self._call("getUpdates", {"offset": self._offset, "timeout": 0})
            for update in updates:
                message = telegram._read_update(update, "", self._clock.now())
                if message is not None:
                    await intake.accept(message)


class Wrapped(TelegramChannel):
    """Passes each message through `change` on its way to the listener."""

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        await super().connect(_Changed(listener, self), since)

    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        raise NotImplementedError


class _Changed:
    def __init__(self, listener: ChannelListener, channel: Wrapped) -> None:
        self._channel = channel
        self._listener = listener
        self.on_state = listener.on_state
        self.on_receipt = listener.on_receipt

    async def on_message(self, message: IncomingMessage) -> None:
        await self._channel.change(message, self._listener)


class ReportsTwice(Wrapped):
    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        await listener.on_message(message)
        await listener.on_message(message)


class LosesUnkept(Wrapped):
    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        with suppress(Exception):
            await listener.on_message(message)


class EqualTextsAreOne(Wrapped):
    seen: frozenset[str] = frozenset()

    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        if message.text not in self.seen:
            self.seen |= {message.text}
            await listener.on_message(message)


class EditsLookNew(Wrapped):
    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        await listener.on_message(message._replace(change=MessageChange.NEW))


class DropsQuotes(Wrapped):
    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        await listener.on_message(message._replace(quoted=None))


class ReportsOwnTexts(Wrapped):
    listener: ChannelListener | None = None

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        self.listener = listener
        await super().connect(listener, since)

    async def change(self, message: IncomingMessage, listener: ChannelListener) -> None:
        await listener.on_message(message)

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        sent = await super().send(chat, text, key=key)
        assert self.listener is not None
        await self.listener.on_message(
            IncomingMessage(chat, sent.id, f"own{sent.id}", "me", "me", text, self._clock.now())
        )
        return sent


class LosesTheEnd(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        return await super().send(chat, text[:-2] if len(text) > 100 else text, key=key)


class Escapes(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        return await super().send(chat, text.replace("&", "&amp;"), key=key)


class CutsLongTexts(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        return await super().send(chat, text[: self.limit.most], key=key)


class GivesUpWhenLimited(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        try:
            return await super().send(chat, text, key=key)
        except DeliveryDelayed as delayed:
            raise DeliveryRefused(refuse("channel_rejected", service="x", problem=delayed.problem)) from None


class RetriesForEver(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        try:
            return await super().send(chat, text, key=key)
        except DeliveryRefused as refused:
            raise DeliveryDelayed(str(refused), timedelta(seconds=1)) from None


class IgnoresTheAskedDelay(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        try:
            return await super().send(chat, text, key=key)
        except DeliveryDelayed as delayed:
            raise DeliveryDelayed(delayed.problem, timedelta(seconds=1)) from None


class NeverReconnects(TelegramChannel):
    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        del since
        report = ConnectionReport(listener, "x")
        with suppress(Exception):
            await self._poll(Intake(listener), report)
        report.failed("gone", 1)
        await asyncio.Event().wait()


class IgnoresCancellation(TelegramChannel):
    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        with suppress(asyncio.CancelledError):
            await super().connect(listener, since)


class LeavesTasks(TelegramChannel):
    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        asyncio.ensure_future(keep_busy()).set_name("horae.agents.channels")
        await super().connect(listener, since)


async def keep_busy() -> None:
    await asyncio.Event().wait()


class ShowsTheToken(TelegramChannel):
    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        try:
            return await super().send(chat, text, key=key)
        except DeliveryDelayed as delayed:
            raise DeliveryDelayed(f"{await self._token.read()}: {delayed.problem}", delayed.after) from None
