"""Host of agents: order of start and stop, leases of channels with several hosts, channels that a service refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager

import pytest

from horae.agents.channels.refusals import refuse
from horae.agents.delivery.sender import DeliverySender
from horae.agents.host.channel_states import load_channel_states
from horae.agents.host.host import AgentHost
from horae.agents.host.sender_file import SenderFile
from horae.model.accounts.principal import LOCAL
from horae.ports.channel import Channel
from horae.service.service import Service
from horae.stores.memory import MemoryStore
from horae.virtual_time import VirtualClock
from tests.agents.host.host_harness import HostHarness
from tests.agents.host.local_channel import LocalChannel


def make_host(
    service: Service, clock: VirtualClock, channel: LocalChannel, name: str = "a", **others: Channel
) -> AgentHost:
    def make_sender(held: Mapping[str, Channel], known: Callable[[], Collection[str]]) -> DeliverySender:
        return DeliverySender(service.store, held, clock, known)

    return AgentHost(
        service, clock, {"test": channel, **others}, name=name, senders=SenderFile(None), make_sender=make_sender
    )


@asynccontextmanager
async def running(host: AgentHost) -> AsyncIterator[AgentHost]:
    await host.connect()
    host.start()
    try:
        yield host
    finally:
        await host.stop()


@pytest.fixture
def harness(clock: VirtualClock) -> HostHarness:
    store = MemoryStore()
    harness = HostHarness(store)
    harness.clock = clock
    harness.service._clock = clock
    return harness


async def test_a_command_is_answered_through_the_channel(harness: HostHarness, clock: VirtualClock) -> None:
    await harness.service.groups.add(LOCAL, "family", "test:1")
    channel = LocalChannel(clock)
    async with running(make_host(harness.service, clock, channel)) as host:
        channel.say("@Andy /tasks")
        await channel.on_sent.wait()

        assert channel.sent == [("1", "There are no tasks.")]
        assert host.report == (("test",), ("family",))
    assert channel.is_closed


async def test_one_host_receives_and_sends_and_another_takes_over(harness: HostHarness, clock: VirtualClock) -> None:
    group = await harness.service.groups.add(LOCAL, "family", "test:1")
    first, second = LocalChannel(clock), LocalChannel(clock)
    one, two = make_host(harness.service, clock, first, "a"), make_host(harness.service, clock, second, "b")
    async with running(two):
        async with running(one):
            await clock.pause(60)
            assert (first.connections, second.connections) == (0, 1)
            await two.stop()
            await clock.pause(20)
            assert first.connections == 1
            await one.outbox.send(group, "hello", "x", "test")
            await first.on_sent.wait()

        assert (first.sent, second.sent) == ([("1", "hello")], [])


async def test_a_channel_that_its_service_refuses_is_visible_and_tried_again(
    harness: HostHarness, clock: VirtualClock
) -> None:
    channel = LocalChannel(clock)
    channel.refusal = refuse("channel_credentials", service="Test", problem="revoked")
    await harness.service.groups.add(LOCAL, "work", "other:1")
    other = LocalChannel(clock)
    async with running(make_host(harness.service, clock, channel, other=other)) as host:
        other.say("@Andy /help")
        await other.on_sent.wait()
        await clock.pause(1)
        await host.states.finish()
        states = {state.name: state for state in await load_channel_states(harness.store)}
        assert states["other"].is_connected
        state = states["test"]
        assert (state.is_connected, state.is_final) == (False, True)
        assert "revoked" in state.problem
        channel.refusal = None
        await clock.pause(60)
        await host.states.finish()

        assert all(each.is_connected for each in await load_channel_states(harness.store))
        kinds = [each.event.kind for each in await harness.store.events(0)]
        assert [kind for kind in kinds if kind.startswith("channel.")] == ["channel.failed", "channel.connected"]


async def test_messages_that_arrive_while_the_host_is_down_are_received_at_the_next_start(
    harness: HostHarness, clock: VirtualClock
) -> None:
    await harness.service.groups.add(LOCAL, "family", "test:1")
    channel = LocalChannel(clock)
    channel.say("@Andy /help")
    async with running(make_host(harness.service, clock, channel)):
        await channel.on_sent.wait()

    assert len(channel.sent) == 1


async def test_a_message_is_noticed_at_once_and_one_of_another_process_within_two_seconds(
    harness: HostHarness, clock: VirtualClock
) -> None:
    await harness.service.groups.add(LOCAL, "family", "test:1")
    channel = LocalChannel(clock)
    async with running(make_host(harness.service, clock, channel)):
        await clock.pause(10)
        began = clock.now()
        channel.say("@Andy /help")
        await channel.on_sent.wait()
        assert (clock.now() - began).total_seconds() < 0.1

        channel.on_sent.clear()
        await clock.pause(1)
        began = clock.now()
        await harness.say("@Andy /tasks", id="90", source_id="1:90")
        await asyncio.wait_for(channel.on_sent.wait(), 3)
        assert (clock.now() - began).total_seconds() <= 2.1
