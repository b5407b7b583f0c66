"""Signs of typing: in the chat of each group whose agent works, and not while it is idle."""

from __future__ import annotations

import asyncio

from horae.agents.channels.web import WEB
from horae.agents.delivery.sender import DeliverySender
from horae.agents.delivery.typing_signs import EVERY_SECONDS
from horae.model.agents.delivery import DeliveryState, UncertainPolicy
from horae.ports.channel import ChannelTools, ConnectionState, DeliveryReceipt, IncomingMessage
from horae.runtime.agents.host import make_delivery_sender, read_uncertain_policy
from horae.service.tasks.task_request import TaskRequest
from horae.settings import read_settings
from horae.stores.memory import MemoryStore
from horae.testing.contracts.channels import KnownSecrets
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.agents.delivery.scripted_channel import Outbox, ScriptedChannel
from tests.unit.service.service_harness import ROOT, TARGET, ServiceHarness, code_of


async def test_sign_is_shown_while_the_agent_works(clock: VirtualClock) -> None:
    store, channel = MemoryStore(), ScriptedChannel()
    await store.open()
    harness = ServiceHarness(store, clock=clock)
    await harness.service.groups.add(ROOT, "family", "test:1")
    request = TaskRequest("turn", "every 1h", TARGET, zone="UTC")
    options = request.options._replace(lanes=("group:family", "agents"))
    await harness.tasks.create(ROOT, request._replace(options=options, owner="group:family"))
    await harness.tasks.create(ROOT, request._replace(options=options, owner="ada"))
    running = asyncio.create_task(DeliverySender(store, {"test": channel}, clock, tuple).run())
    await clock.pause(3_600)
    assert channel.typed == []
    runs = await harness.claim()
    await clock.pause(3 * EVERY_SECONDS)
    assert set(channel.typed) == {"1"}
    assert 2 <= len(channel.typed) <= 4
    for run in runs:
        await store.declare_idle(run.id, run.token, clock.now())
    await clock.pause(EVERY_SECONDS)
    shown = len(channel.typed)
    await clock.pause(3 * EVERY_SECONDS)
    assert len(channel.typed) == shown
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


class QuietListener:
    def __init__(self) -> None:
        self.states: list[ConnectionState] = []

    async def on_message(self, message: IncomingMessage) -> None:
        raise NotImplementedError

    async def on_receipt(self, receipt: DeliveryReceipt) -> None:
        raise NotImplementedError

    def on_state(self, state: ConnectionState) -> None:
        self.states.append(state)


async def test_web_channel_takes_every_text_at_once(clock: VirtualClock) -> None:
    channel = WEB.open(ChannelTools(clock, KnownSecrets({}), {}))
    listener = QuietListener()
    connection = asyncio.create_task(channel.connect(listener))
    await clock.pause(1)
    assert listener.states == [ConnectionState(is_connected=True)]
    connection.cancel()
    store = MemoryStore()
    await store.open()
    sender = make_delivery_sender(store, clock, read_settings({}, ()), {"web": channel}, lambda: {"web"})
    outbox = Outbox(store)
    added = await outbox.add("web:1", "x" * 10_000, NOON)
    await sender.step()
    await sender.wait_idle()
    sent = await outbox.get(added)
    assert (sent.state, len(sent.parts)) == (DeliveryState.SENT, 1)
    await channel.typing("1")
    await channel.confirm_read("1", "2")
    await channel.aclose()


async def test_policy_of_uncertain_texts_is_a_setting() -> None:
    assert read_uncertain_policy(read_settings({}, ())) is UncertainPolicy.REPEAT
    assert read_uncertain_policy(read_settings({"HORAE_DELIVERY_UNCERTAIN": "fail"}, ())) is UncertainPolicy.FAIL

    async def read() -> object:
        return read_uncertain_policy(read_settings({"HORAE_DELIVERY_UNCERTAIN": "maybe"}, ()))

    assert await code_of(read()) == "bad_choice"
