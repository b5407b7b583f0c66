"""Slack channel against an imitation of Socket Mode and the Web API: the channel contract, and what is special to Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from horae.agents.channels.slack import plain_text
from horae.ports.channel import DeliveryRefused, MessageChange
from horae.testing.contracts.channels import ChannelContract, RecordingListener
from horae.testing.contracts.channels.harness import connected
from tests.channels.slack_service import SlackChats, SlackService


@pytest.fixture
async def service() -> AsyncIterator[SlackChats]:
    server = await SlackService().start()
    yield SlackChats(server)
    await server.close()


class TestContract(ChannelContract):
    """The suite that every channel passes."""


async def test_event_is_acknowledged_only_after_it_was_kept(service: SlackChats) -> None:
    listener = RecordingListener()
    listener.holds = True
    async with connected(service, listener):
        await service.write("first")
        await listener.next_held()
        assert len(service.server.unacknowledged) == 1
    after = RecordingListener()
    async with connected(service, after):
        assert (await after.next()).text == "first"
        await service.server.wait_acknowledged()
    assert service.server.retries == [0, 1]


async def test_event_that_is_retried_meanwhile_is_received_once(service: SlackChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        await service.write("once")
        service.server.retry_unacknowledged()
        await service.write("next")
        assert [(await listener.next()).text for _ in range(2)] == ["once", "next"]


async def test_mention_event_and_message_event_are_one_message(service: SlackChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        written = await service.write("hello")
        service.server.emit({**service._events[written], "type": "app_mention"})
        await service.write("next")
        assert [(await listener.next()).text for _ in range(2)] == ["hello", "next"]


async def test_requested_reconnection_loses_nothing(service: SlackChats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.channels.slack._SHORTEST_SESSION", 0.0)
    listener = RecordingListener()
    async with connected(service, listener):
        await service.server.ask_to_reconnect()
        await service.write("meanwhile")
        await service.server.wait_for_sockets(2)
        await service.write("after")
        assert [(await listener.next()).text for _ in range(2)] == ["meanwhile", "after"]
    assert [state.is_connected for state in listener.states] == [True]


async def test_connection_that_is_ended_at_once_is_followed_by_a_delay(service: SlackChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        await service.server.ask_to_reconnect()
        await listener.wait_disconnected()
        await listener.wait_connected()
    assert "at once" in listener.states[1].problem


async def test_mention_of_the_bot_reads_as_its_name(service: SlackChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        ts = service.server.new_ts()
        event = {"type": "message", "channel": service.chat, "user": "U2147483697", "ts": ts, "event_ts": ts}
        service.server.emit({**event, "text": "<@U0BOT> ask <@U2147483697> &amp; <https://a.example|a.example>"})
        assert (await listener.next()).text == "@andy ask @安 Ann & https://a.example"


async def test_preview_of_a_link_is_no_edit(service: SlackChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        written = await service.write("https://a.example")
        await listener.next()
        message = {"type": "message", "user": "U2147483697", "text": "https://a.example", "ts": written}
        service.server.emit(service._report("message_changed", service.server.new_ts(), message=message))
        await service.edit(written, "edited")
        assert (await listener.next()).change is MessageChange.EDITED


async def test_archived_channel_is_refused(service: SlackChats) -> None:
    service.server.archived.add(service.chat)
    async with connected(service, RecordingListener()) as channel:
        with pytest.raises(DeliveryRefused) as refused:
            await channel.send(service.chat, "hello")
    assert refused.value.refusal.code == "channel_forbidden"


async def test_name_of_a_person_is_looked_up_once(service: SlackChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        for _ in range(3):
            await service.write("hello")
            await listener.next()
    assert service.server.user_lookups == 1


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<!here> <!subteam^S1|@ops> <#C1|general> <#C2>", "@here @ops #general #C2"),
        ("<https://a.example/x|the page>", "the page (https://a.example/x)"),
        ("<mailto:a@b.example|a@b.example>", "mailto:a@b.example"),
        ("&lt;b&gt; &amp;lt; <@U9> <@U8|bob>", "<b> &lt; @U9 @bob"),
    ],
)
def test_markup_reads_as_plain_text(text: str, plain: str) -> None:
    assert plain_text(text, {}) == plain
