"""Telegram channel against an imitation of the Bot API: the channel contract, and what is special to Telegram."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web

from horae.agents.channels.telegram import TELEGRAM
from horae.errors import Refusal
from horae.ports.channel import ChannelTools, DeliveryDelayed, DeliveryRefused
from horae.testing.contracts.channels import ChannelContract, ImpatientClock, KnownSecrets, RecordingListener
from horae.testing.contracts.channels.harness import connected
from tests.channels.telegram_service import TelegramChats, TelegramService


@pytest.fixture
async def service() -> AsyncIterator[TelegramChats]:
    server = await TelegramService().start()
    yield TelegramChats(server)
    await server.close()


class TestContract(ChannelContract):
    """The suite that every channel passes."""


async def test_update_is_confirmed_only_after_it_was_kept(service: TelegramChats) -> None:
    listener = RecordingListener()
    listener.holds = True
    async with connected(service, listener):
        await service.write("first")
        await listener.next_held()
        assert service.server.confirmed == 0
        assert len(service.server.updates) == 1


async def test_other_updates_and_broken_messages_do_not_stop_the_others(service: TelegramChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        service.server.add_update("callback_query", {"id": "1"})
        service.server.add_update("message", {"message_id": "x", "chat": 5})
        await service.write("fine")
        assert (await listener.next()).text == "fine"


async def test_replaced_chat_is_followed_and_named(service: TelegramChats) -> None:
    service.server.migrated[-5] = -1001
    async with connected(service, RecordingListener()) as channel:
        sent = await channel.send("-5", "moved")
    assert sent.chat == "-1001"
    assert service.server.sent == [(-1001, "moved")]


async def test_report_of_a_replaced_chat_names_the_earlier_one(service: TelegramChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        message = service.server.new_message("", -1001, migrate_from_chat_id=-5)
        service.server.add_update("message", message)
        assert (await listener.next()).moved_from == "-5"


async def test_photo_arrives_with_its_caption(service: TelegramChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        message = service.server.new_message("", 77, photo=[{"file_id": "1"}], caption="看")
        del message["text"]
        service.server.add_update("message", message)
        received = await listener.next()
    assert (received.text, received.attachments, received.is_direct) == ("看", ("photo",), True)


async def test_quote_has_sender_and_text(service: TelegramChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        first = await service.write("shall we?")
        await listener.next()
        await service.write("yes", quoted=first)
        quoted = (await listener.next()).quoted
    assert quoted == (first, "安 Ann", "shall we?")


async def test_kicked_bot_is_refused(service: TelegramChats) -> None:
    service.server.blocked.add(-1001)
    async with connected(service, RecordingListener()) as channel:
        with pytest.raises(DeliveryRefused) as refused:
            await channel.send(service.chat, "hello")
    assert refused.value.refusal.code == "channel_forbidden"


async def test_answer_of_a_broken_server_is_uncertain(service: TelegramChats) -> None:
    async with connected(service, RecordingListener()) as channel:
        service.server.answers = [web.Response(status=502, text="<html>Bad Gateway</html>")]
        with pytest.raises(DeliveryDelayed) as delayed:
            await channel.send(service.chat, "hello")
    assert delayed.value.is_uncertain


async def test_second_program_with_the_same_token_is_reported_and_not_fought(service: TelegramChats) -> None:
    service.server.has_webhook = True
    listener = RecordingListener()
    async with connected(service, listener):
        await listener.wait_disconnected()
        service.server.has_webhook = False
        await listener.wait_connected()
        await service.write("again")
        assert (await listener.next()).text == "again"
    assert listener.states[1].retry_in == timedelta(seconds=30)
    assert "webhook" in listener.states[1].problem


async def test_typing_is_shown(service: TelegramChats) -> None:
    async with connected(service, RecordingListener()) as channel:
        await channel.typing(service.chat)
    assert service.server.actions == [(-1001, "typing")]


async def test_private_address_needs_the_operator(service: TelegramChats) -> None:
    tools = ChannelTools(ImpatientClock(), KnownSecrets({}), {"token": "t", "base_url": service.server.url})
    with pytest.raises(Refusal) as refused:
        TELEGRAM.open(tools)
    assert "127.0.0.0/8" in str(refused.value)
