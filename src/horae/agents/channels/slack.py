"""Slack channel: receives by Socket Mode, a WebSocket that this side opens, and sends with chat.postMessage.

Socket Mode instead of the Events API over HTTP: it works behind a firewall and needs no public address, certificate or signature.
An event is acknowledged after the listener has kept its message; Slack sends it again otherwise.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...outgoing.addresses import Networks
from ...outgoing.websocket import WebSocket, WebSocketFailed, open_websocket
from ...ports.channel import (
    Channel,
    ChannelListener,
    ChannelTools,
    DeliveryDelayed,
    DeliveryRefused,
    IncomingMessage,
    MessageChange,
    QuotedMessage,
    Sent,
)
from ...ports.text_parts import TextLimit
from .api_calls import CALL_TIMEOUT, LOOKUP_TIMEOUT, RETRY_AFTER, ApiCalls, ApiReply, ServiceUnreachable
from .channel_settings import ChannelSettings, StoredSecret
from .fields import instant, table, tables
from .fields import text as text_at
from .intake import Intake
from .reconnect import ConnectionReport, SessionEnded, keep_connected
from .refusals import check_length, refuse
from .webhook import read_json_object

SERVICE: Final = "Slack"
_BASE_URL: Final = "https://slack.com/api"
_HELLO_SECONDS: Final = 30.0
_SHORTEST_SESSION: Final = 5.0
"""A session that Slack ends sooner is followed by a delay, so that no loop of connections can arise."""
_SOCKET_MODE_OFF: Final = timedelta(seconds=60)
_REMEMBERED_NAMES: Final = 2_000
_CREDENTIALS: Final = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "token_expired",
        "token_revoked",
        "org_login_required",
    }
)
_FORBIDDEN: Final = frozenset(
    {"not_in_channel", "is_archived", "restricted_action", "ekm_access_denied", "user_is_restricted", "access_denied"}
)
_LATER: Final = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_BROKEN: Final = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_NEW: Final = frozenset({"", "bot_message", "file_share", "me_message", "thread_broadcast"})
_MARKUP: Final = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
_USER: Final = re.compile(r"<@([A-Z0-9]+)>")


def escape(text: str) -> str:
    """Escape the three characters that control Slack's markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped_length(text: str) -> int:
    return len(escape(text))


LIMIT: Final = TextLimit(4_000, _escaped_length)
"""Slack recommends it. It splits longer texts by itself, and truncates above 40,000."""


class _Own(NamedTuple):
    """Identity of the channel's bot."""

    user: str
    bot: str
    name: str


class SlackChannel:
    def __init__(self, tools: ChannelTools) -> None:
        settings = ChannelSettings("slack", tools.settings, ("base_url",), ("bot_token", "app_token"))
        self._clock = tools.clock
        self._networks: Networks = tools.networks
        self._bot_token = settings.secret("bot_token", tools.secrets)
        self._app_token = settings.secret("app_token", tools.secrets)
        self._calls = ApiCalls(SERVICE, settings.text("base_url", _BASE_URL), tools.networks)
        self._names: dict[str, str] = {}

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:  # noqa: ARG002 - Slack repeats what was not acknowledged
        intake = Intake(listener)
        previous: list[WebSocket] = []

        async def run_session(report: ConnectionReport) -> None:
            try:
                await self._receive(intake, report, previous)
            except ServiceUnreachable as unreachable:
                raise unreachable.for_session() from unreachable

        try:
            await keep_connected(run_session, listener, self._clock, SERVICE)
        finally:
            await _close(previous)

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:  # noqa: ARG002 - Slack drops no repetitions
        check_length(SERVICE, LIMIT, text)
        body = {"channel": chat, "text": escape(text), "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
        try:
            reply = await self._call("chat.postMessage", body, self._bot_token)
        except ServiceUnreachable as unreachable:
            raise unreachable.for_delivery() from unreachable
        except Refusal as refusal:
            raise DeliveryRefused(refusal) from refusal
        if reply.document.get("ok") is True:
            return Sent(text_at(reply.document, "ts"), chat)
        raise _delivery_error(reply, chat)

    async def typing(self, chat: str) -> None:
        """Do nothing: Slack shows this for people only."""

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """Do nothing: bots have no read marks."""

    async def aclose(self) -> None:
        await self._calls.close()

    async def _call(
        self, method: str, body: Mapping[str, Any], token: StoredSecret, seconds: float = CALL_TIMEOUT
    ) -> ApiReply:
        headers = {"Authorization": f"Bearer {await token.read()}"}
        return await self._calls.post(f"/{method}", body, headers=headers, timeout=seconds)

    async def _receive(self, intake: Intake, report: ConnectionReport, previous: list[WebSocket]) -> None:
        """Receive until Slack asks for a new connection; the old one stays open until the new one works."""
        me = _session_document(await self._call("auth.test", {}, self._bot_token))
        own = _Own(text_at(me, "user_id"), text_at(me, "bot_id"), text_at(me, "user"))
        opened = _session_document(await self._call("apps.connections.open", {}, self._app_token))
        socket = await self._open(text_at(opened, "url"))
        is_replaced = False
        try:
            started = self._clock.steady()
            await _wait_for_hello(socket)
            report.connected()
            await _close(previous)
            while True:
                envelope = await _next(socket)
                if text_at(envelope, "type") == "disconnect":
                    is_replaced = True
                    _check_disconnect(text_at(envelope, "reason"), self._clock.steady() - started)
                    return
                await self._handle(envelope, own, intake)
                envelope_id = text_at(envelope, "envelope_id")
                if envelope_id and not await socket.send(json.dumps({"envelope_id": envelope_id})):
                    raise SessionEnded("the connection was lost")
        finally:
            if is_replaced:
                previous.append(socket)
            else:
                await socket.close()

    async def _open(self, url: str) -> WebSocket:
        try:
            return await open_websocket(url, self._networks)
        except WebSocketFailed as failed:
            if failed.reason.is_permanent:
                raise refuse("channel_unreachable", service=SERVICE, problem=str(failed)) from None
            raise SessionEnded(str(failed)) from None

    async def _handle(self, envelope: Mapping[str, Any], own: _Own, intake: Intake) -> None:
        if text_at(envelope, "type") != "events_api":
            return
        event = table(envelope, "payload", "event")
        found = _find_message(event, own)
        if found is None:
            return
        message, change, source_id = found
        sender = text_at(message, "user") or text_at(message, "bot_id")
        text = text_at(message, "text")
        mentioned = {each for each in _USER.findall(text) if each != own.user}
        names = {user: await self._name(user) for user in sorted(mentioned)} | {own.user: own.name}
        quoted = text_at(message, "thread_ts")
        message_id = text_at(event, "deleted_ts") or text_at(message, "ts")
        await intake.accept(
            IncomingMessage(
                chat=text_at(event, "channel"),
                id=message_id,
                source_id=source_id,
                sender=sender,
                sender_name=text_at(message, "username") or await self._name(sender),
                text="" if change is MessageChange.DELETED else plain_text(text, names),
                sent=instant(text_at(message, "edited", "ts") or text_at(message, "ts"), self._clock.now()),
                change=change,
                quoted=QuotedMessage(quoted) if quoted and quoted != message_id else None,
                attachments=tuple(text_at(each, "filetype") or "file" for each in tables(message, "files")),
                is_direct=text_at(event, "channel_type") == "im",
            )
        )

    async def _name(self, user: str) -> str:
        """Return the name that Slack shows for a user; the id where it cannot be looked up."""
        if user not in self._names and user.startswith(("U", "W")):
            try:
                reply = await self._call("users.info", {"user": user}, self._bot_token, LOOKUP_TIMEOUT)
            except ServiceUnreachable:
                return user
            found = table(reply.document, "user")
            names = (text_at(found, "profile", "display_name"), text_at(found, "real_name"), text_at(found, "name"))
            self._names[user] = next((name for name in names if name), user)
            if len(self._names) > _REMEMBERED_NAMES:
                del self._names[next(iter(self._names))]
        return self._names.get(user, user)


def _find_message(event: Mapping[str, Any], own: _Own) -> tuple[Mapping[str, Any], MessageChange, str] | None:
    """Return the message of an event, its change and its source id; None for other events, and for texts of the bot itself."""
    if text_at(event, "type") not in {"message", "app_mention"}:
        return None
    subtype, chat = text_at(event, "subtype"), text_at(event, "channel")
    match subtype:
        case "message_changed":
            message, change = table(event, "message"), MessageChange.EDITED
            edited = text_at(message, "edited", "ts")
            source_id = f"{chat}:{text_at(message, 'ts')}:{edited}"
            if not edited:
                # Slack has added a preview of a link.
                return None
        case "message_deleted":
            message, change = table(event, "previous_message"), MessageChange.DELETED
            source_id = f"{chat}:{text_at(event, 'deleted_ts')}:deleted"
        case _ if subtype in _NEW:
            message, change = event, MessageChange.NEW
            source_id = f"{chat}:{text_at(event, 'ts')}"
        case _:
            return None
    is_own = text_at(message, "user") == own.user or (own.bot and text_at(message, "bot_id") == own.bot)
    return None if is_own or not chat else (message, change, source_id)


def plain_text(text: str, names: Mapping[str, str]) -> str:
    """Return a text of Slack without its markup: mentions by name, links by address, escaped characters as themselves."""

    def replace(found: re.Match[str]) -> str:
        sign, target, label = found[1], found[2], found[3]
        match sign:
            case "@":
                return f"@{names.get(target) or label or target}"
            case "#":
                return f"#{label or target}"
            case "!":
                return label or f"@{target.partition('^')[0]}"
            case _:
                return target if not label or label in target else f"{label} ({target})"

    return _MARKUP.sub(replace, text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


async def _wait_for_hello(socket: WebSocket) -> None:
    try:
        async with asyncio.timeout(_HELLO_SECONDS):
            envelope = await _next(socket)
    except TimeoutError:
        raise SessionEnded("Slack did not begin the session in time") from None
    if text_at(envelope, "type") != "hello":
        raise SessionEnded("Slack did not begin the session")


async def _next(socket: WebSocket) -> Mapping[str, Any]:
    text = await socket.receive()
    if text is None:
        raise SessionEnded("the connection was lost")
    return read_json_object(text.encode()) or {}


def _check_disconnect(reason: str, lasted: float) -> None:
    if reason == "link_disabled":
        raise SessionEnded("Socket Mode is switched off for this app", _SOCKET_MODE_OFF)
    if lasted < _SHORTEST_SESSION:
        raise SessionEnded("Slack ended the session at once")


async def _close(sockets: list[WebSocket]) -> None:
    while sockets:
        await sockets.pop().close()


def _session_document(reply: ApiReply) -> Mapping[str, Any]:
    """Return the answer to a call of a session; raises a refusal, or why the session ends."""
    if reply.document.get("ok") is True:
        return reply.document
    error = _error(reply)
    if error in _CREDENTIALS:
        raise refuse("channel_credentials", service=SERVICE, problem=error)
    raise SessionEnded(error, reply.retry_after() if reply.status == 429 else None)


def _delivery_error(reply: ApiReply, chat: str) -> DeliveryRefused | DeliveryDelayed:
    error = _error(reply)
    if reply.status == 429 or error in _LATER:
        return DeliveryDelayed(error, reply.retry_after())
    if reply.is_server_error or error in _BROKEN:
        return DeliveryDelayed(error, RETRY_AFTER, is_uncertain=True)
    if error in _CREDENTIALS:
        return DeliveryRefused(refuse("channel_credentials", service=SERVICE, problem=error))
    if error == "channel_not_found":
        return DeliveryRefused(refuse("channel_chat_unknown", service=SERVICE, chat=chat))
    if error in _FORBIDDEN:
        return DeliveryRefused(refuse("channel_forbidden", service=SERVICE, problem=error))
    return DeliveryRefused(refuse("channel_rejected", service=SERVICE, problem=error))


def _error(reply: ApiReply) -> str:
    return text_at(reply.document, "error")[:100] or f"status {reply.status}"


class SlackKind:
    kind = "slack"

    def open(self, tools: ChannelTools) -> Channel:
        return SlackChannel(tools)


SLACK: Final = SlackKind()
