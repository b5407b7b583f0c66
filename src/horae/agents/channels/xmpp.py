"""XMPP channel (slixmpp): direct chats and rooms; the archive (XEP-0313) closes the gap that a lost connection leaves.

XMPP confirms nothing to the sender of a stanza. So every session asks the archives for what came after the last message that
the listener has kept, and holds new stanzas back until then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4
from xml.etree.ElementTree import Element

from ...clock import Clock
from ...errors import Refusal
from ...ports.channel import Channel, ChannelListener, ChannelTools, DeliveryDelayed, DeliveryRefused, Sent
from ...ports.text_parts import TextLimit
from .api_calls import RETRY_AFTER
from .channel_settings import ChannelSettings
from .intake import Intake
from .reconnect import LOG, ConnectionReport, SessionEnded, backoff, keep_connected
from .refusals import check_length, refuse
from .xmpp_stanzas import (
    MAM,
    MAM_RESULT,
    ArchivedStanza,
    StanzaReader,
    archived_person,
    bare,
    is_delayed,
    read_result,
    resource,
    sendable,
)

if TYPE_CHECKING:
    from slixmpp import ClientXMPP

SERVICE: Final = "XMPP"
LIMIT: Final = TextLimit(10_000)
_RESOURCE: Final = "horae"
_DIRECT_TLS_PORT: Final = 5_223
_CONNECT_SECONDS: Final = 30.0
_JOIN_SECONDS: Final = 30.0
_ALL_JOINS_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 20.0
_IDLE_SECONDS: Final = 60.0
"""Seconds of silence before a ping to the server: a dead connection would stay silent for ever."""
_GOODBYE_SECONDS: Final = 0.3
_CAUSE_SECONDS: Final = 0.1
_OVERLAP: Final = timedelta(minutes=2)
"""Clocks of the server and this machine may differ by so much; the source ids remove duplicates."""
_PAGE: Final = 100
_DELAYED: Final = timedelta(seconds=30)
_LATER: Final = frozenset({"resource-constraint", "policy-violation", "remote-server-timeout", "internal-server-error"})
_UNKNOWN: Final = frozenset(
    {"item-not-found", "service-unavailable", "remote-server-not-found", "jid-malformed", "gone"}
)
_NOT_ALLOWED: Final = frozenset(
    {"forbidden", "not-allowed", "registration-required", "not-authorized", "not-acceptable"}
)
_NON_ANONYMOUS: Final = "muc_nonanonymous"
"""Feature of a room that shows the addresses of its occupants to all."""
_OWN_ARCHIVE: Final = ""
_ID_PREFIX: Final = "horae-"


class _Bounced(Exception):  # noqa: N818 - an answer of the server
    """The server returned the stanza with this error condition."""

    def __init__(self, condition: str) -> None:
        self.condition = condition
        super().__init__(condition)


class _ConnectionLost(Exception):  # noqa: N818 - an event of the connection
    pass


class _Account(NamedTuple):
    """What the settings say of the account. `address` replaces the one that DNS has for the domain of the JID."""

    jid: str
    nick: str
    rooms: tuple[str, ...]
    address: tuple[str, int] | None
    ca_file: Path | None


class XmppChannel:
    def __init__(self, tools: ChannelTools) -> None:
        if find_spec("slixmpp") is None:
            raise refuse("channel_library_missing", service=SERVICE)
        settings = ChannelSettings(
            "xmpp", tools.settings, ("jid", "rooms", "nick", "host", "port", "ca_file"), ("password",)
        )
        self._clock = tools.clock
        jid = settings.text("jid")
        has_host, has_ca_file = "host" in tools.settings, "ca_file" in tools.settings
        self._account = _Account(
            jid=jid,
            nick=settings.text("nick", jid.partition("@")[0]),
            rooms=tuple(room.lower() for room in settings.texts("rooms")),
            address=(settings.text("host"), settings.number("port", 5_222, 1, 65_535)) if has_host else None,
            ca_file=Path(settings.text("ca_file")).expanduser() if has_ca_file else None,
        )
        self._password = settings.secret("password", tools.secrets)
        self._refusal: Refusal | None = None
        self._session: _Session | None = None

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:
        intake = Intake(listener)
        reader = StanzaReader(self._account.jid)
        known_until: dict[str, datetime] = {}
        start = (since or self._clock.now()) - _OVERLAP

        async def run_session(report: ConnectionReport) -> None:
            session = _Session(self._account, self._clock, intake, reader, known_until, start)
            try:
                await session.begin(await self._password.read())
                self._session = session
                report.connected()
                await session.process()
            except _ConnectionLost:
                raise SessionEnded("the connection was lost") from None
            finally:
                self._session = None
                await session.end()

        try:
            await keep_connected(run_session, listener, self._clock, SERVICE)
        except Refusal as refusal:
            self._refusal = refusal
            raise

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        check_length(SERVICE, LIMIT, text)
        session = self._session
        if session is None:
            if self._refusal is not None:
                raise DeliveryRefused(self._refusal)
            raise DeliveryDelayed("the channel is not connected", RETRY_AFTER)
        # The same id for every attempt: clients show a repetition once, where they look at it.
        message_id = _ID_PREFIX + (sha256(f"{chat} {key}".encode()).hexdigest()[:32] if key else uuid4().hex)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await session.send(chat, sendable(text), message_id)
        except _Bounced as bounced:
            raise _delivery_error(bounced.condition, chat) from bounced
        except (TimeoutError, _ConnectionLost):
            problem = "the connection was lost before the server had confirmed the text"
            raise DeliveryDelayed(problem, RETRY_AFTER, is_uncertain=True) from None
        return Sent(message_id, chat)

    async def typing(self, chat: str) -> None:
        self._send_sign(chat, Element("{http://jabber.org/protocol/chatstates}composing"))

    async def confirm_read(self, chat: str, message_id: str) -> None:
        self._send_sign(chat, Element("{urn:xmpp:chat-markers:0}displayed", {"id": message_id}))

    async def aclose(self) -> None:
        """Do nothing: a session ends with its connection."""

    def _send_sign(self, chat: str, sign: Element) -> None:
        if self._session is not None:
            with suppress(_ConnectionLost):
                self._session.send_sign(chat, sign)


class _Session:
    """One connection. `known_until` has the instant of the newest message of each chat that was kept."""

    def __init__(
        self,
        account: _Account,
        clock: Clock,
        intake: Intake,
        reader: StanzaReader,
        known_until: dict[str, datetime],
        start: datetime,
    ) -> None:
        self._account = account
        self._clock = clock
        self._intake = intake
        self._reader = reader
        self._known_until = known_until
        self._start = start
        self._stanzas: asyncio.Queue[ArchivedStanza] = asyncio.Queue()
        self._held: dict[str, list[ArchivedStanza]] = {}
        """Stanzas that arrived while the archive of their chat is read."""
        self._joined: set[str] = set()
        self._non_anonymous: set[str] = set()
        self._join_refusals: dict[str, asyncio.Future[str]] = {}
        self._answers: dict[str, asyncio.Future[None]] = {}
        self._failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._rejoin: asyncio.Task[None] | None = None
        self._client: ClientXMPP | None = None
        self._is_started = False

    # --- begin and end -------------------------------------------------------------------------------------------------

    async def begin(self, password: str) -> None:
        """Connect, sign in, join the rooms, and read the archives. Raises a refusal or `SessionEnded`."""
        client = self._client = self._open_client(password)
        started = asyncio.Event()
        client.add_event_handler("session_start", lambda _: started.set())
        starting = asyncio.ensure_future(started.wait())
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                await self._open_stream(client)
                await self._wait_for(starting)
        except TimeoutError:
            raise SessionEnded(f"{client.boundjid.host} did not answer in time") from None
        finally:
            starting.cancel()
        self._raise_failure()
        self._is_started = True
        self._held = {_OWN_ARCHIVE: [], **{room: [] for room in self._account.rooms}}
        client.send_presence()
        await self._catch_up(_OWN_ARCHIVE)
        missing = await self._join_all(self._account.rooms)
        self._raise_failure()
        if missing:
            self._rejoin = asyncio.create_task(self._keep_joining(missing))

    def _open_client(self, password: str) -> ClientXMPP:
        from slixmpp import ClientXMPP  # noqa: PLC0415 - an extra
        from slixmpp.xmlstream.handler import Callback  # noqa: PLC0415
        from slixmpp.xmlstream.matcher import MatchXPath  # noqa: PLC0415

        logger = logging.getLogger("slixmpp")
        # Below this level the library logs stanzas: texts, and the password in some ways to sign in.
        logger.setLevel(max(logger.level, logging.WARNING))
        account = self._account
        jid = account.jid if resource(account.jid) else f"{account.jid}/{_RESOURCE}-{uuid4().hex[:8]}"
        client = ClientXMPP(jid, password)
        client.enable_plaintext = False
        if account.address is not None:
            client.enable_direct_tls = account.address[1] == _DIRECT_TLS_PORT
            client.enable_starttls = not client.enable_direct_tls
        if account.ca_file is not None:
            client.ca_certs = account.ca_file
        for plugin in ("xep_0030", "xep_0045", "xep_0199", "xep_0313"):
            client.register_plugin(plugin)
        client.register_handler(Callback("Horae", MatchXPath("{jabber:client}message"), self._on_stanza))
        client.add_event_handler("presence_error", self._on_presence_error)
        client.add_event_handler("failed_auth", self._on_failed_auth)
        client.add_event_handler("failed_all_auth", lambda _: self._refuse_credentials("not-authorized"))
        client.add_event_handler("ssl_invalid_chain", self._on_bad_certificate)
        client.add_event_handler("disconnected", self._on_disconnected)
        return client

    async def _open_stream(self, client: ClientXMPP) -> None:
        problems: list[str] = []
        client.add_event_handler("connection_failed", lambda error: problems.append(_describe(error)))
        address = self._account.address or (None, None)
        await client.connect(*address)
        if not client.is_connected() and not self._failure.done():
            place = client.boundjid.host if address[0] is None else f"{address[0]}:{address[1]}"
            raise SessionEnded(f"{place} could not be connected to: {problems[-1] if problems else 'no reason'}")

    async def end(self) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(_ConnectionLost())
        if self._rejoin is not None:
            self._rejoin.cancel()
        client, self._client = self._client, None
        if client is None:
            return
        client.cancel_connection_attempt()
        if client.is_connected():
            closed = client.disconnected
            await asyncio.wait([client.disconnect(_GOODBYE_SECONDS, ignore_send_queue=True)], timeout=_GOODBYE_SECONDS)
            client.abort()
            await asyncio.wait([closed], timeout=_GOODBYE_SECONDS)
        # The library keeps this task for a reconnection of its own.
        filters: asyncio.Task[None] | None = getattr(client, "_run_out_filters", None)
        if filters is not None:
            filters.cancel()

    # --- events of the connection --------------------------------------------------------------------------------------

    def _fail(self, error: Exception) -> None:
        if not self._failure.done():
            self._failure.set_result(error)

    def _on_disconnected(self, _: Any) -> None:
        lost = SessionEnded("the connection was lost")
        if self._is_started:
            self._fail(lost)
        else:
            # The library reports a certificate that it refused after the end of the connection.
            asyncio.get_running_loop().call_later(_CAUSE_SECONDS, self._fail, lost)

    def _on_presence_error(self, stanza: Any) -> None:
        refused = self._join_refusals.get(bare(str(stanza["from"])))
        if refused is not None and not refused.done():
            refused.set_result(str(stanza["error"]["condition"]))

    def _on_failed_auth(self, stanza: Any) -> None:
        condition = str(stanza["condition"]) if stanza is not None else ""
        if condition == "temporary-auth-failure":
            self._fail(SessionEnded("the server cannot check passwords now"))

    def _refuse_credentials(self, condition: str) -> None:
        self._fail(refuse("channel_credentials", service=SERVICE, problem=condition))

    def _on_bad_certificate(self, error: Any) -> None:
        self._fail(SessionEnded(f"the certificate of the server is not trusted ({type(error).__name__})"))

    def _raise_failure(self) -> None:
        if self._failure.done():
            raise self._failure.result()

    def _on_stanza(self, stanza: Any) -> None:
        element: Element = stanza.xml
        message_id, kind, sender = element.get("id", ""), element.get("type", ""), element.get("from", "")
        if element.find(MAM_RESULT) is not None:
            return
        if kind == "error":
            self._settle(message_id, _Bounced(_condition(element)))
            return
        if kind == "groupchat" and resource(sender) == self._account.nick:
            # The room sends every text to all, also to its author: that is the confirmation.
            self._settle(message_id, None)
            return
        held = self._held.get(bare(sender) if kind == "groupchat" else _OWN_ARCHIVE)
        arrived = ArchivedStanza(element, person=self._person(element))
        if held is None:
            self._stanzas.put_nowait(arrived)
        else:
            held.append(arrived)

    def _person(self, element: Element) -> str:
        """Return the address of the occupant of a room who writes now; empty where the room does not show it."""
        sender = element.get("from", "")
        if self._client is None or bare(sender) not in self._account.rooms or is_delayed(element):
            return ""
        from slixmpp import JID  # noqa: PLC0415 - an extra

        found = self._client.plugin["xep_0045"].get_jid_property(JID(bare(sender)), resource(sender), "jid")
        return "" if found is None else bare(str(found))

    def _settle(self, message_id: str, error: Exception | None) -> None:
        answer = self._answers.get(message_id)
        if answer is None or answer.done():
            return
        if error is None:
            answer.set_result(None)
        else:
            answer.set_exception(error)

    # --- receiving -----------------------------------------------------------------------------------------------------

    async def process(self) -> None:
        """Hand messages to the listener until the connection is lost."""
        while True:
            waiting = asyncio.ensure_future(self._stanzas.get())
            try:
                await self._wait_for(waiting, within=_IDLE_SECONDS)
            finally:
                waiting.cancel()
            if waiting.done() and not waiting.cancelled():
                await self._accept(waiting.result())
            elif self._failure.done():
                raise self._failure.result()
            else:
                await self._ping()

    async def _accept(self, stanza: ArchivedStanza) -> None:
        message = self._reader.read(stanza, self._clock.now())
        if message is None:
            return
        await self._intake.accept(message)
        archive = _OWN_ARCHIVE if message.is_direct else message.chat
        self._known_until[archive] = max(message.sent, self._known_until.get(archive, message.sent))

    async def _ping(self) -> None:
        from slixmpp import JID  # noqa: PLC0415 - an extra
        from slixmpp.exceptions import IqError, IqTimeout  # noqa: PLC0415

        client = self._open()
        try:
            await client.plugin["xep_0199"].send_ping(JID(client.boundjid.host), timeout=_ANSWER_SECONDS)
        except IqError:
            return
        except (IqTimeout, TimeoutError):
            raise SessionEnded("the server does not answer any more") from None

    # --- rooms and archives --------------------------------------------------------------------------------------------

    async def _join_all(self, rooms: Sequence[str]) -> list[str]:
        """Join rooms at the same time, and return those that could not be joined yet: one that is slow delays no other."""
        joins = {room: asyncio.ensure_future(self._try_join(room)) for room in rooms}
        if joins:
            try:
                await asyncio.wait(joins.values(), timeout=_ALL_JOINS_SECONDS)
            finally:
                for join in joins.values():
                    join.cancel()
        return [room for room, join in joins.items() if not join.done() or join.cancelled() or not join.result()]

    async def _try_join(self, room: str) -> bool:
        try:
            await self._join(room)
        except _Bounced as bounced:
            LOG.warning("%s: the room %s could not be joined (%s)", SERVICE, room, bounced.condition)
        except TimeoutError:
            LOG.warning("%s: the room %s did not answer", SERVICE, room)
        except _ConnectionLost:
            pass
        else:
            return True
        return False

    async def _join(self, room: str) -> None:
        from slixmpp import JID  # noqa: PLC0415 - an extra

        client = self._open()
        self._held.setdefault(room, [])
        has_archive = await self._has_archive(room)
        history: dict[str, Any] = {"maxstanzas": 0} if has_archive else {"since": self._since(room)}
        refused = self._join_refusals[room] = asyncio.get_running_loop().create_future()
        joining = asyncio.ensure_future(
            client.plugin["xep_0045"].join_muc_wait(JID(room), self._account.nick, timeout=_JOIN_SECONDS, **history)
        )
        try:
            await self._wait_for(joining, refused)
            if refused.done():
                raise _Bounced(refused.result())
            await self._unless_lost(joining)
        finally:
            joining.cancel()
            refused.cancel()
        if has_archive:
            await self._catch_up(room)
        else:
            self._release(room, [])
        self._joined.add(room)

    async def _keep_joining(self, rooms: list[str]) -> None:
        attempt = 0
        while rooms:
            await self._clock.pause(backoff(attempt))
            attempt += 1
            rooms = await self._join_all([room for room in rooms if room not in self._joined])

    async def _has_archive(self, place: str) -> bool:
        from slixmpp import JID  # noqa: PLC0415 - an extra
        from slixmpp.exceptions import IqError, IqTimeout  # noqa: PLC0415

        client = self._open()
        asking = asyncio.ensure_future(
            client.plugin["xep_0030"].get_info(JID(place or client.boundjid.bare), timeout=_ANSWER_SECONDS)
        )
        try:
            info = await self._unless_lost(asking)
        except (IqError, IqTimeout):
            return False
        features = info["disco_info"]["features"]
        if _NON_ANONYMOUS in features:
            self._non_anonymous.add(place)
        return MAM in features

    async def _catch_up(self, archive: str) -> None:
        """Queue what the archive has since the newest known message, then what arrived meanwhile."""
        from slixmpp.exceptions import IqError, IqTimeout  # noqa: PLC0415 - an extra

        found: list[ArchivedStanza] = []
        if archive != _OWN_ARCHIVE or await self._has_archive(archive):
            try:
                await self._unless_lost(asyncio.ensure_future(self._read_archive(archive, found)))
            except (IqError, IqTimeout) as error:
                LOG.warning(
                    "%s: the archive of %s could not be read (%s)", SERVICE, archive or "the account", error.condition
                )
        self._release(archive, [each for each in found if not self._is_own(each.element, is_room=bool(archive))])

    def _is_own(self, element: Element, *, is_room: bool) -> bool:
        """Whether the channel wrote it. In a room another person may have had the nick while the channel was away."""
        sender = element.get("from", "")
        if not is_room:
            return bare(sender) == bare(self._account.jid)
        return resource(sender) == self._account.nick and element.get("id", "").startswith(_ID_PREFIX)

    async def _read_archive(self, archive: str, found: list[ArchivedStanza]) -> None:
        from slixmpp import JID  # noqa: PLC0415 - an extra

        client = self._open()
        place = JID(archive) if archive else None
        async for result in client.plugin["xep_0313"].iterate(place, start=self._since(archive), rsm={"max": _PAGE}):
            stanza = read_result(result.xml)
            if stanza is not None:
                # Where a room hides addresses, the element is not of the room: its author could have written it.
                is_shown = archive in self._non_anonymous
                found.append(stanza._replace(person=archived_person(stanza.element) if is_shown else ""))

    def _release(self, archive: str, first: list[ArchivedStanza]) -> None:
        for stanza in (*first, *self._held.pop(archive, ())):
            self._stanzas.put_nowait(stanza)

    def _since(self, archive: str) -> datetime:
        known = self._known_until.get(archive)
        return self._start if known is None else known - _OVERLAP

    # --- sending -------------------------------------------------------------------------------------------------------

    async def send(self, chat: str, text: str, message_id: str) -> None:
        """Return when the server has the text. Raises `_Bounced`, or `_ConnectionLost`."""
        is_room = bare(chat) in self._account.rooms and not resource(chat)
        if is_room and bare(chat) not in self._joined:
            await self._join(bare(chat))
        answer = self._answers[message_id] = asyncio.get_running_loop().create_future()
        try:
            stanza = self._message(chat, is_room=is_room)
            stanza["id"], stanza["body"] = message_id, text
            stanza.send()
            if is_room:
                await self._unless_lost(answer)
            else:
                await self._confirm_by_ping(answer)
        finally:
            del self._answers[message_id]
            answer.cancel()

    async def _confirm_by_ping(self, answer: asyncio.Future[None]) -> None:
        """The server handles stanzas in order: its answer to a ping confirms the text, unless an error came before."""
        ping = asyncio.ensure_future(self._ping())
        try:
            await self._wait_for(answer, ping)
            if answer.done():
                answer.result()
            elif self._failure.done() or ping.exception() is not None:
                raise _ConnectionLost
        finally:
            ping.cancel()
            await asyncio.gather(ping, return_exceptions=True)

    def send_sign(self, chat: str, sign: Element) -> None:
        is_room = bare(chat) in self._joined and not resource(chat)
        stanza = self._message(chat, is_room=is_room)
        stanza.xml.append(sign)
        stanza.send()

    def _message(self, chat: str, *, is_room: bool) -> Any:
        from slixmpp.jid import InvalidJID  # noqa: PLC0415 - an extra

        try:
            return self._open().make_message(mto=chat, mtype="groupchat" if is_room else "chat")
        except InvalidJID:
            raise _Bounced("jid-malformed") from None

    def _open(self) -> ClientXMPP:
        client = self._client
        if client is None or self._failure.done() or not client.is_connected():
            raise _ConnectionLost
        return client

    async def _wait_for(self, *futures: asyncio.Future[Any], within: float | None = None) -> None:
        """Return when one of them is done, or the connection is lost."""
        await asyncio.wait([*futures, self._failure], timeout=within, return_when=asyncio.FIRST_COMPLETED)

    async def _unless_lost(self, waiting: asyncio.Future[Any]) -> Any:
        """Return the result; raises `_ConnectionLost` as soon as the connection is lost."""
        try:
            await self._wait_for(waiting)
            if waiting.done():
                return waiting.result()
            raise _ConnectionLost
        finally:
            waiting.cancel()


def _delivery_error(condition: str, chat: str) -> DeliveryRefused | DeliveryDelayed:
    if condition in _LATER:
        return DeliveryDelayed(f"the server asks to wait ({condition})", _DELAYED)
    if condition in _UNKNOWN:
        return DeliveryRefused(refuse("channel_chat_unknown", service=SERVICE, chat=chat))
    if condition in _NOT_ALLOWED:
        return DeliveryRefused(refuse("channel_forbidden", service=SERVICE, problem=condition))
    return DeliveryRefused(refuse("channel_rejected", service=SERVICE, problem=condition))


def _condition(element: Element) -> str:
    """Return the condition of an error stanza, such as `item-not-found`."""
    error = element.find("{jabber:client}error")
    names = [] if error is None else [each.tag for each in error if "xmpp-stanzas" in each.tag]
    return next((name.rpartition("}")[2] for name in names if not name.endswith("}text")), "undefined-condition")


def _describe(error: object) -> str:
    return (getattr(error, "strerror", None) or type(error).__name__) if isinstance(error, OSError) else "no DNS record"


class XmppKind:
    kind = "xmpp"

    def open(self, tools: ChannelTools) -> Channel:
        return XmppChannel(tools)


XMPP: Final = XmppKind()
