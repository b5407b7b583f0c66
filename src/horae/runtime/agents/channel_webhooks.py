"""Channels whose service calls back over HTTP, mounted in the API under `/channels/NAME`; their signature is the authentication."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from ...agents.channels.channel_settings import KIND
from ...agents.delivery.receipts import Receipts
from ...agents.host.channel_states import ChannelStates
from ...agents.host.intake import ChannelIntake, ChatGroups, IntakeParts
from ...agents.host.known_chats import KnownChats
from ...agents.host.sender_file import SenderFile
from ...agents.settings import read_settings
from ...errors import Refusal
from ...ports.channel import Channel
from ...service.chats.delivery_records import DeliveryRecords
from ...settings import Settings
from ...store_retry import restart_on_error
from .channel_kinds import open_channels
from .runtime import AGENT, with_agent_defaults

if TYPE_CHECKING:
    from ...web.middleware import Application

LOG: Final = logging.getLogger("horae.channels")
WEBHOOK_PATH: Final = "/channels"
_CONNECTED_KINDS: Final = frozenset({"slack", "telegram", "xmpp"})
"""Built-in kinds that open a connection of their own, in the worker."""


class _Webhook:
    """ASGI application of one channel."""

    def __init__(self, serve: Any) -> None:
        self._serve = serve

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._serve(scope, receive, send)


def _webhook_settings(settings: Settings) -> Settings:
    """Return the settings with the tables of these channels only: the worker opens the others."""
    tables = {name: settings.channel(name) for name in settings.channel_names}
    names = [name for name, table in tables.items() if table.get(KIND, name) not in _CONNECTED_KINDS]
    prefixes = tuple(f"channels.{name}." for name in names)
    return Settings(
        {
            path: value
            for path, value in settings.overrides.items()
            if not path.startswith("channels.") or path.startswith(prefixes)
        }
    )


@asynccontextmanager
async def mounted_webhooks(app: Application, settings: Settings, url: str) -> AsyncIterator[None]:
    """Mount the webhooks of the settings, and keep what they report, while the block runs."""
    service, clock = app.context.service, app.context.clock
    try:
        opened = open_channels(_webhook_settings(settings), clock, service.secrets)
    except Refusal as refusal:
        LOG.warning("no chat channel receives over HTTP: %s", refusal)
        opened = {}
    channels: dict[str, Any] = {name: channel for name, channel in opened.items() if hasattr(channel, "webhook")}
    if not channels:
        yield
        return
    from starlette.routing import Route  # noqa: PLC0415 - an extra

    table = with_agent_defaults(settings.target(AGENT), url)
    store = service.store
    agent_settings = read_settings(table)
    parts = IntakeParts(
        service,
        clock,
        ChatGroups(service.groups, clock),
        KnownChats(store, clock),
        SenderFile(None if agent_settings.directory is None else agent_settings.sender_list),
        ChannelStates(store, clock),
        lambda _group: service.note_write(),
        Receipts(store, DeliveryRecords(store), clock).on_receipt,
    )
    jobs = []
    for name, channel in channels.items():
        app.router.routes.append(Route(f"{WEBHOOK_PATH}/{name}", _Webhook(channel.webhook), include_in_schema=False))
        jobs.append(asyncio.ensure_future(_receive(name, channel, parts)))
    try:
        yield
    finally:
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        for channel in channels.values():
            await channel.aclose()
        await parts.states.finish()


async def _receive(name: str, channel: Channel, parts: IntakeParts) -> None:
    intake = ChannelIntake(name, parts)
    await restart_on_error(f"channel {name}", lambda: channel.connect(intake), parts.clock)
