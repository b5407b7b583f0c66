"""Host of agents in a process: connects the channels, routes their messages, and sends the pending deliveries.

With several hosts each channel, and the router, belongs to one of them at a time, by a lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.principal import LOCAL
from ...model.agents.group import Group
from ...model.messages import PAGE_MESSAGES
from ...ports.channel import Channel, DeliveryReceipt
from ...ports.chat_messages import read_chat_message
from ...service.service import Service
from ...store_retry import restart_on_error
from .channel_states import ChannelStates
from .chat_commander import ChatCommander
from .intake import ChannelIntake, ChatGroups, IntakeParts, follow_move
from .known_chats import KnownChats
from .lease import CHANNEL_DUTY, ROUTER_DUTY, Lease
from .outbox import Outbox
from .router import Router
from .sender_file import SenderFile

LOG: Final = logging.getLogger("horae.agents")
_REFUSED_SECONDS: Final = 60.0
"""A channel that the service refuses is tried again so often: its secret may have been replaced."""
_MAX_GROUPS: Final = 500
_MAX_SIGNS: Final = 100
"""Marks of read messages that are under way at once; further ones are left out."""
Loop = Callable[[], Awaitable[None]]


class Sender(Protocol):
    """Sends the pending deliveries of the channels that this process holds."""

    def notify(self) -> None: ...
    async def on_receipt(self, channel: str, receipt: DeliveryReceipt) -> None: ...
    async def run(self) -> None: ...


class NoSender:
    """Of a process that sends nothing."""

    def notify(self) -> None: ...
    async def on_receipt(self, channel: str, receipt: DeliveryReceipt) -> None:
        """Ignore the receipt: another process applies it."""

    async def run(self) -> None: ...


class HostReport(NamedTuple):
    """What a host runs: names of its channels and groups."""

    channels: tuple[str, ...]
    groups: tuple[str, ...]


class AgentHost:
    """`held` are the channels that this process holds now. `make_sender` gets them, and the names of all channels.

    `on_turn` wakes the live agent of a group.
    """

    def __init__(  # noqa: PLR0913 - parts of the host, each by its name
        self,
        service: Service,
        clock: Clock,
        channels: Mapping[str, Channel],
        *,
        name: str,
        senders: SenderFile,
        make_sender: Callable[[Mapping[str, Channel], Callable[[], Collection[str]]], Sender] | None = None,
        on_turn: Callable[[str], None] = lambda _folder: None,
    ) -> None:
        self._service = service
        self._clock = clock
        self._channels = dict(channels)
        self._name = name
        self.held: dict[str, Channel] = {}
        self.sender: Sender = NoSender() if make_sender is None else make_sender(self.held, lambda: self._channels)
        self.outbox = Outbox(service, clock, self.sender.notify)
        self.states = ChannelStates(service.store, clock)
        self.known_chats = KnownChats(service.store, clock)
        self._groups = ChatGroups(service.groups, clock)
        commander = ChatCommander(service, clock, self.outbox)
        self.router = Router(service, clock, commander, self.outbox, on_turn)
        self._parts = IntakeParts(
            service,
            clock,
            self._groups,
            self.known_chats,
            senders,
            self.states,
            self.router.note,
            self.sender.on_receipt,
            self._confirm_read,
        )
        self._signs: set[asyncio.Task[None]] = set()
        self._loops: dict[str, Loop] = {}
        self.on_groups: Callable[[], None] = lambda: None
        """Called after each change of a group in this process."""
        self._jobs: list[asyncio.Task[None]] = []
        self._report = HostReport(tuple(self._channels), ())

    @property
    def report(self) -> HostReport:
        return self._report

    def add_loop(self, name: str, loop: Loop) -> None:
        """Run another loop beside the router, such as the watcher of requests."""
        self._loops[name] = loop

    def intake(self, name: str) -> ChannelIntake:
        """Return the listener of a channel."""
        return ChannelIntake(name, self._parts)

    async def follow_move(self, before: str, after: str) -> None:
        """Give the group of a chat that its service has replaced the new address."""
        await follow_move(self._parts, before, after)

    def _confirm_read(self, chat: str, message_id: str) -> None:
        """Mark a message as read in the background, where the service has such a mark."""
        name, _, chat_id = chat.partition(":")
        channel = self.held.get(name)
        if channel is not None and len(self._signs) < _MAX_SIGNS:
            sign = asyncio.ensure_future(channel.confirm_read(chat_id, message_id))
            self._signs.add(sign)
            sign.add_done_callback(self._signs.discard)

    def wake(self) -> None:
        """Look for new messages and deliveries now: something was written, here or in another process."""
        self.router.wake()
        self.sender.notify()

    async def connect(self) -> None:
        """Load the groups and begin to receive; what arrives before the router starts waits in the streams."""
        groups = (await self._service.groups.page(LOCAL, limit=_MAX_GROUPS)).items
        self._report = HostReport(tuple(self._channels), tuple(group.folder for group in groups))
        self._service.groups.on_change = self._on_groups
        for name, channel in self._channels.items():
            self._start(f"channel {name}", lambda name=name, channel=channel: self._hold_channel(name, channel))  # type: ignore[misc]

    def start(self) -> None:
        """Begin to route and to send, and run the other loops; the engine runs already."""
        for name, loop in self._loops.items():
            self._start(name, loop)
        router = Lease(self._service.store, self._clock, ROUTER_DUTY, self._name)
        self._start("router of messages", lambda: router.hold(self.router.run))
        self._start("sender of deliveries", self.sender.run)

    async def stop(self) -> None:
        """Stop in reverse order: the sender first, the connections last."""
        jobs, self._jobs = self._jobs, []
        for job in reversed(jobs):
            job.cancel()
            await asyncio.gather(job, return_exceptions=True)
        self._service.groups.on_change = lambda: None
        for sign in tuple(self._signs):
            sign.cancel()
        await asyncio.gather(*self._signs, return_exceptions=True)
        for name, channel in self._channels.items():
            try:
                await channel.aclose()
            except Exception as error:  # noqa: BLE001 - the other channels are closed, too
                LOG.warning("the channel %s could not be closed: %s", name, type(error).__name__)
        await self.states.finish()

    def _start(self, name: str, run: Loop) -> None:
        self._jobs.append(asyncio.ensure_future(restart_on_error(name, run, self._clock)))

    def _on_groups(self) -> None:
        self._groups.forget()
        self.router.refresh()
        self.on_groups()

    async def _hold_channel(self, name: str, channel: Channel) -> None:
        lease = Lease(self._service.store, self._clock, CHANNEL_DUTY + name, self._name)
        await lease.hold(lambda: self._serve_channel(name, channel))

    async def _serve_channel(self, name: str, channel: Channel) -> None:
        """Receive until cancelled. A channel that its service refuses goes on sending, and is tried again."""
        self.held[name] = channel
        self.sender.notify()
        try:
            while True:
                since = await self._newest_message(name)
                try:
                    await channel.connect(self.intake(name), since)
                except Refusal as refusal:
                    self.states.report(name, is_connected=False, problem=str(refusal), is_final=True)
                await self._clock.pause(_REFUSED_SECONDS)
        finally:
            self.held.pop(name, None)

    async def _newest_message(self, name: str) -> datetime | None:
        """Return when the newest message that this channel has reported was sent."""
        groups = (await self._service.groups.page(LOCAL, limit=_MAX_GROUPS)).items
        found = [await self._newest_of(group) for group in groups if group.channel == name]
        return max((each for each in found if each is not None), default=None)

    async def _newest_of(self, group: Group) -> datetime | None:
        store = self._service.store
        state = await store.stream(group.owner, group.stream)
        if state is None:
            return None
        after = max(0, state.stream.last - PAGE_MESSAGES)
        page = await store.read_messages(group.owner, group.stream, after, PAGE_MESSAGES)
        messages = () if page is None else map(read_chat_message, page.messages)
        return max((each.sent for each in messages if not each.is_own), default=None)
