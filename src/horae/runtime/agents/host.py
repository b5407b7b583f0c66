"""Composition of the host of agents: channels of the settings, sender, watcher of requests, and the agent target of the node."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from ...agents.delivery.sender import DeliverySender
from ...agents.host.host import AgentHost, HostReport
from ...agents.host.sender_file import SenderFile
from ...agents.requests.request_host import RequestHost
from ...agents.requests.snapshots import KnownChat
from ...agents.target.target import AgentTarget
from ...clock import Clock
from ...engine.process_identity import own_home
from ...errors import Refusal
from ...model.agents.delivery import UncertainPolicy
from ...model.refusals import refuse
from ...ports.channel import Channel
from ...ports.full_store import FullStore
from ...service.service import Service
from ...settings import Settings
from .channel_kinds import open_channels
from .runtime import AGENT

AGENT_SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {AGENT: {"enabled": True}}
"""Settings of the target on a node that runs a host of agents."""


class AgentCompanion:
    """Runs a host of agents beside the engine of a node (`app/environment.py`)."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._host: AgentHost | None = None
        self._requests: RequestHost | None = None
        self._runtime = ""

    @property
    def report(self) -> tuple[str, HostReport] | None:
        """The runtime, and what the host runs; None before the start."""
        return None if self._host is None else (self._runtime, self._host.report)

    async def connect(self, service: Service, targets: Mapping[str, Any]) -> None:
        """Check that agents can run here, then connect the channels; a runtime that does not work is refused first."""
        target: AgentTarget | Refusal = targets[AGENT]
        if isinstance(target, Refusal):
            raise target
        channels = open_channels(self._settings, self._clock, service.secrets)
        self._runtime = target.settings.runtime
        self._host = self._make_host(service, channels, target)
        await self._host.connect()

    def start(self) -> None:
        if self._host is not None:
            self._host.start()

    def wake(self) -> None:
        if self._host is not None:
            self._host.wake()
        if self._requests is not None:
            self._requests.note_tasks_changed()

    async def stop(self) -> None:
        host, self._host, self._requests = self._host, None, None
        if host is not None:
            await host.stop()

    def _make_host(self, service: Service, channels: Mapping[str, Channel], target: AgentTarget) -> AgentHost:
        clock = self._clock

        def make_sender(held: Mapping[str, Channel], known: Callable[[], Collection[str]]) -> DeliverySender:
            return make_delivery_sender(service.store, clock, self._settings, held, known)

        def wake_agent(folder: str) -> None:
            target.notify(folder)

        host = AgentHost(
            service,
            clock,
            channels,
            name=f"{platform.node()}/{own_home()}",
            senders=SenderFile(target.settings.sender_list),
            make_sender=make_sender,
            on_turn=wake_agent,
        )
        service.deliveries.on_change = host.sender.notify
        requests = RequestHost(
            service,
            clock,
            target.workspace,
            mask=target.mask,
            chats=_UnregisteredChats(host),
            on_delivery=host.sender.notify,
        )
        if isinstance(host.sender, DeliverySender):
            host.sender.tools.on_moved = host.follow_move
        target.before_start = requests.write_snapshots
        target.on_delivery = host.sender.notify
        host.add_loop("watcher of requests", requests.run)
        host.on_groups = requests.note_groups_changed
        self._requests = requests
        return host


class _UnregisteredChats:
    """Chats that the channels know and no group has, for the snapshots of the main group."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host

    async def chats(self) -> Sequence[KnownChat]:
        return [KnownChat(each.chat, each.name, each.last_activity) for each in await self._host.known_chats.chats()]


_POLICY_SETTING = "delivery_uncertain"


def read_uncertain_policy(settings: Settings) -> UncertainPolicy:
    """Return what happens to a text that a service did not confirm; refuses an unknown word."""
    text = str(settings.value(_POLICY_SETTING)).strip().lower()
    try:
        return UncertainPolicy(text)
    except ValueError:
        raise refuse("bad_choice", name=_POLICY_SETTING, value=text, allowed=", ".join(UncertainPolicy)) from None


def make_delivery_sender(
    store: FullStore,
    clock: Clock,
    settings: Settings,
    held: Mapping[str, Channel],
    known: Callable[[], Collection[str]],
) -> DeliverySender:
    """Return the sender for the channels that this process holds; `known` returns the names of all channels."""
    return DeliverySender(store, held, clock, known, read_uncertain_policy(settings))
