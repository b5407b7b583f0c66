"""XMPP channel against a real Prosody: the channel contract in a room, and direct chats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from xml.etree.ElementTree import Element, SubElement

import pytest

from horae.agents.channels.xmpp import XMPP
from horae.ports.channel import ChannelTools
from horae.testing.contracts.channels import ChannelContract, KnownSecrets, RecordingListener
from horae.testing.contracts.channels.harness import connected, end
from tests.channels.xmpp_service import XmppChats
from tests.servers.ports import HOST
from tests.servers.prosody import DOMAIN, ProsodyServer


@pytest.fixture(scope="module")
def prosody() -> Iterator[ProsodyServer]:
    with ProsodyServer(in_memory=True) as server:
        yield server


@pytest.fixture
async def service(prosody: ProsodyServer) -> AsyncIterator[XmppChats]:
    chats = XmppChats(prosody)
    await chats.ann.connect()
    yield chats
    await chats.ann.disconnect()
    prosody.accept_texts()


class TestContract(ChannelContract):
    """The suite that every channel passes."""


async def test_direct_chat_in_both_directions(service: XmppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener) as channel:
        await service.ann.write("你好 Andy", to=f"{service.account}@{DOMAIN}", kind="chat")
        message = await listener.next()
        await channel.send(message.chat, "你好 Ann")
        await service.ann.find(lambda element: element.findtext("{jabber:client}body") == "你好 Ann")
    assert (message.chat, message.sender, message.is_direct) == (service.ann.jid, service.ann.jid, True)


async def test_direct_message_that_came_while_the_channel_was_away_arrives(service: XmppChats) -> None:
    before = service.clock.now()
    async with connected(service, RecordingListener()):
        pass
    await service.ann.write("早上好", to=f"{service.account}@{DOMAIN}", kind="chat")
    listener = RecordingListener()
    async with connected(service, listener, since=before):
        assert (await listener.next()).text == "早上好"


async def test_answer_to_an_occupant_stays_private(service: XmppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener) as channel:
        await service.ann.write("psst", to=f"{service.chat}/Andy", kind="chat")
        message = await listener.next()
        await channel.send(message.chat, "yes?")
        answer = await service.ann.find(lambda element: element.findtext("{jabber:client}body") == "yes?")
    assert message.chat == f"{service.chat}/{service.person}"
    assert answer.get("type") == "chat"


async def test_characters_that_xml_forbids_do_not_end_the_stream(service: XmppChats) -> None:
    async with connected(service, RecordingListener()) as channel:
        await channel.send(service.chat, "bell \x07 and \ufffe")
    assert await service.sent_texts() == ["bell \ufffd and \ufffd"]


async def test_quoted_text_for_old_clients_is_removed(service: XmppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        fallback = Element("{urn:xmpp:fallback:0}fallback", {"for": "urn:xmpp:reply:0"})
        SubElement(fallback, "{urn:xmpp:fallback:0}body", {"start": "0", "end": "10"})
        await service.ann.write("> shall we\nyes", to=service.chat, kind="groupchat", add=fallback)
        assert (await listener.next()).text == "\nyes"


async def test_certificate_of_an_unknown_authority_is_not_accepted(service: XmppChats) -> None:
    listener = RecordingListener()
    settings = {
        "jid": f"{service.account}@{DOMAIN}",
        "password": "xmpp",
        "host": HOST,
        "port": service.server.port,
    }
    channel = XMPP.open(ChannelTools(service.clock, KnownSecrets({"xmpp": "x"}), settings))
    connection = asyncio.create_task(channel.connect(listener))
    await listener.wait_disconnected()
    await end(connection)
    assert "certificate" in listener.states[0].problem


async def test_texts_while_the_connection_is_cut_are_not_lost(service: XmppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        await service.repeat("")
        await service.write("一")
        await service.write("二")
        assert [(await listener.next()).text for _ in range(2)] == ["一", "二"]
