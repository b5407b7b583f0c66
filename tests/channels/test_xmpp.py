"""XMPP channel against a real Prosody: the channel contract in a room, and direct chats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from xml.etree.ElementTree import Element, SubElement

import pytest

from horae.agents.channels.xmpp import XMPP
from horae.ports.channel import ChannelTools, DeliveryRefused
from horae.testing.contracts.channels import ChannelContract, KnownSecrets, RecordingListener
from horae.testing.contracts.channels.harness import connected, end
from tests.channels.xmpp_service import Person, XmppChats
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


async def test_room_whose_nick_is_taken_is_joined_when_it_is_free(service: XmppChats) -> None:
    """Until then texts are refused; what the other person wrote under the nick is read from the archive."""
    other = Person(service.server, f"other{service.account}", service.chat, "Andy")
    await other.connect()
    before = service.clock.now()
    listener = RecordingListener()
    async with connected(service, listener, since=before) as channel:
        with pytest.raises(DeliveryRefused):
            await channel.send(service.chat, "who are you?")
        await other.write("not the channel", to=service.chat, kind="groupchat")
        await other.disconnect()
        assert (await listener.next()).text == "not the channel"
        await channel.send(service.chat, "here I am")
    assert (await service.sent_texts())[-1] == "here I am"


async def test_sender_is_the_address_of_the_occupant_where_the_room_shows_it(service: XmppChats) -> None:
    """Anyone may take a nick: another person who has taken that of Ann is not Ann, live and in the archive."""
    await service.ann.show_addresses()
    before = service.clock.now()
    listener = RecordingListener()
    async with connected(service, listener):
        await service.write("live")
        assert (await listener.next()).sender == service.ann.jid
        await service.ann.disconnect()
        other = Person(service.server, f"other{service.account}", service.chat, service.person)
        await other.connect()
        forged = Element("{http://jabber.org/protocol/muc#user}x")
        SubElement(forged, "{http://jabber.org/protocol/muc#user}item", {"jid": service.ann.jid})
        await other.write("not Ann", to=service.chat, kind="groupchat", add=forged)
        message = await listener.next()
        assert (message.sender, message.sender_name) == (other.jid, service.person)
        await other.write("another", to=service.chat, kind="groupchat")
        assert (await listener.next()).sender == other.jid
    archive = RecordingListener()
    async with connected(service, archive, since=before):
        found = [await archive.next() for _ in range(3)]
    await other.disconnect()
    # The archive keeps the forged address beside the true one: neither is believed.
    senders = [service.ann.jid, f"{service.chat}/{service.person}", other.jid]
    assert [each.sender for each in found] == senders


async def test_address_in_a_message_of_a_room_that_hides_addresses_is_not_believed(service: XmppChats) -> None:
    before = service.clock.now()
    forged = Element("{http://jabber.org/protocol/muc#user}x")
    SubElement(forged, "{http://jabber.org/protocol/muc#user}item", {"jid": "boss@example.org"})
    await service.ann.write("hello", to=service.chat, kind="groupchat", add=forged)
    listener = RecordingListener()
    async with connected(service, listener, since=before):
        archived = await listener.next()
        await service.ann.write("again", to=service.chat, kind="groupchat", add=forged)
        live = await listener.next()
    assert {archived.sender, live.sender} == {f"{service.chat}/{service.person}"}


async def test_own_texts_in_the_archive_are_not_reported(service: XmppChats) -> None:
    before = service.clock.now()
    async with connected(service, RecordingListener()) as channel:
        await channel.send(service.chat, "mine")
        await channel.send(service.ann.jid, "mine, too")
    listener = RecordingListener()
    async with connected(service, listener, since=before):
        await service.write("yours")
        assert (await listener.next()).text == "yours"


async def test_room_without_an_archive_gives_its_short_history(
    service: XmppChats, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.agents.channels.xmpp.MAM", "urn:example:none")
    before = service.clock.now()
    await service.write("早")
    listener = RecordingListener()
    async with connected(service, listener, since=before):
        first = await listener.next()
        await service.write("晚")
        assert (await listener.next()).text == "晚"
    assert first.text == "早"
    assert abs(first.sent - before) < timedelta(minutes=1)


async def test_message_that_arrives_twice_has_the_same_source_id(service: XmppChats) -> None:
    """Once live, and once from the archive after a restart."""
    before = service.clock.now()
    live, archived = RecordingListener(), RecordingListener()
    async with connected(service, live):
        await service.write("same")
        first = await live.next()
    async with connected(service, archived, since=before):
        second = await archived.next()
    assert (first.source_id, first.id, first.text) == (second.source_id, second.id, second.text)
