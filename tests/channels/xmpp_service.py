"""A real Prosody with a room, a person in it who uses slixmpp, and a channel that joins the room."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64encode
from typing import Any, Final
from uuid import uuid4
from xml.etree.ElementTree import Element

from slixmpp import JID, ClientXMPP

from horae.agents.channels.xmpp import XMPP, XmppChannel
from horae.ports.channel import Channel, ChannelTools
from horae.testing.contracts.channels import ChatService, KnownSecrets
from horae.testing.contracts.channels.harness import PATIENCE
from tests.servers.ports import HOST
from tests.servers.prosody import DOMAIN, ROOMS, ProsodyServer

_STANZA_ID: Final = "{urn:xmpp:sid:0}stanza-id"


class Person:
    """A client of a person: it joins the room and sees what is written there."""

    def __init__(self, server: ProsodyServer, name: str, room: str, nick: str) -> None:
        self._server = server
        self._room = room
        self._nick = nick
        self.jid = f"{name}@{DOMAIN}"
        self._password = server.add_account(name)
        self._client: ClientXMPP | None = None
        self.seen: list[Element] = []
        self._arrived = asyncio.Condition()

    @property
    def client(self) -> ClientXMPP:
        assert self._client is not None
        return self._client

    async def connect(self) -> None:
        client = self._client = ClientXMPP(f"{self.jid}/{secrets.token_hex(3)}", self._password)
        client.ca_certs = self._server.certificate
        client.enable_direct_tls = False
        client.register_plugin("xep_0045")
        client.register_plugin("xep_0199")
        client.add_event_handler("message", self._on_message)
        started = asyncio.ensure_future(client.wait_until("session_start", PATIENCE))
        client.connect(HOST, self._server.port)
        await started
        client.send_presence()
        await client.plugin["xep_0045"].join_muc_wait(JID(self._room), self._nick, maxstanzas=0, timeout=PATIENCE)

    async def show_addresses(self) -> None:
        """Make the room, which this person owns, one that shows the addresses of its occupants to all."""
        rooms: Any = self.client.plugin["xep_0045"]
        form = await rooms.get_room_config(JID(self._room))
        form["type"] = "submit"
        form.set_values({"muc#roomconfig_whois": "anyone"})
        await rooms.set_room_config(JID(self._room), form)

    async def disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.cancel_connection_attempt()
            if client.is_connected():
                closed = client.disconnected
                client.abort()
                await asyncio.wait([closed], timeout=PATIENCE)
            if client._run_out_filters is not None:
                client._run_out_filters.cancel()

    async def write(self, text: str, *, to: str, kind: str, add: Element | None = None) -> str:
        """Send a text; return its id when the room has sent it to all."""
        stanza: Any = self.client.make_message(mto=to, mbody=text or None, mtype=kind)  # type: ignore[arg-type]
        stanza["id"] = uuid4().hex
        if add is not None:
            stanza.xml.append(add)
        stanza.send()
        if kind == "groupchat":
            await self.find(lambda element: element.get("id") == stanza["id"])
        else:
            await self.client.plugin["xep_0199"].send_ping(JID(DOMAIN), timeout=PATIENCE)
        return str(stanza["id"])

    async def find(self, wanted: Any) -> Element:
        async with asyncio.timeout(PATIENCE), self._arrived:
            await self._arrived.wait_for(lambda: any(wanted(element) for element in self.seen))
        return next(element for element in self.seen if wanted(element))

    async def _on_message(self, stanza: Any) -> None:
        async with self._arrived:
            self.seen.append(stanza.xml)
            self._arrived.notify_all()


class XmppChats(ChatService):
    unknown_chat = f"nobody@{DOMAIN}"
    names_delays = False

    def __init__(self, server: ProsodyServer) -> None:
        super().__init__()
        self.server = server
        unique = secrets.token_hex(4)
        self.chat = f"room-{unique}@{ROOMS}"
        self.account = f"andy{unique}"
        self._password = server.add_account(self.account)
        self.ann = Person(server, f"ann{unique}", self.chat, self.person)
        self._channel: XmppChannel | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        # The server takes passwords as they are, so that the library sends this.
        return (self._password, b64encode(f"\0{self.account}\0{self._password}".encode()).decode())

    def open(self) -> Channel:
        settings = {
            "jid": f"{self.account}@{DOMAIN}",
            "password": "xmpp",
            "rooms": [self.chat],
            "nick": "Andy",
            "host": HOST,
            "port": self.server.port,
            "ca_file": str(self.server.certificate),
        }
        return XMPP.open(ChannelTools(self.clock, KnownSecrets({"xmpp": self._password}), settings))

    def attach(self, channel: Channel) -> None:
        assert isinstance(channel, XmppChannel)
        self._channel = channel

    async def write(self, text: str, *, quoted: str | None = None) -> str:
        add = None
        if quoted is not None:
            add = Element("{urn:xmpp:reply:0}reply", {"to": f"{self.chat}/x", "id": await self._archive_id(quoted)})
        return await self.ann.write(text, to=self.chat, kind="groupchat", add=add)

    async def edit(self, message_id: str, text: str) -> None:
        add = Element("{urn:xmpp:message-correct:0}replace", {"id": message_id})
        await self.ann.write(text, to=self.chat, kind="groupchat", add=add)

    async def delete(self, message_id: str) -> None:
        add = Element("{urn:xmpp:message-retract:1}retract", {"id": await self._archive_id(message_id)})
        await self.ann.write("/me retracted a message", to=self.chat, kind="groupchat", add=add)

    async def repeat(self, message_id: str) -> None:
        """Cut the connection: the next one reads the message from the archive again."""
        del message_id
        assert self._channel is not None
        session = self._channel._session
        assert session is not None
        assert session._client is not None
        session._client.abort()

    async def sent_texts(self) -> list[str]:
        await self.ann.write("end", to=self.chat, kind="groupchat")
        mine = [element for element in self.ann.seen if element.get("from", "").endswith("/Andy")]
        return [
            element.findtext("{jabber:client}body", "")
            for element in mine
            if element.find("{jabber:client}body") is not None
        ]

    def limit_rate(self, seconds: int, *, after: int = 0) -> None:
        del seconds
        self.server.refuse_texts(f"{self.account}@{DOMAIN}", after=after)

    def end_rate_limit(self) -> None:
        self.server.accept_texts()

    async def revoke(self) -> None:
        self.server.remove_account(self.account)

    async def interrupt(self) -> None:
        await self.ann.disconnect()
        await asyncio.to_thread(self.server.kill)

    async def resume(self) -> None:
        await asyncio.to_thread(self.server.start)
        await self.ann.connect()

    async def _archive_id(self, message_id: str) -> str:
        element = await self.ann.find(lambda each: each.get("id") == message_id)
        found = element.find(_STANZA_ID)
        assert found is not None
        return found.get("id", "")
