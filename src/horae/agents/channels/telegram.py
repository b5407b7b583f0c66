"""Telegram channel: receives by long polling of getUpdates, which needs no public address, and sends with sendMessage.

The offset of a poll confirms the updates below it, so it moves only after the listener has kept a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...errors import Refusal
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
from ...ports.text_parts import TextLimit, utf16_length
from .api_calls import RETRY_AFTER, ApiCalls, ApiReply, ServiceUnreachable, read_delay
from .channel_settings import ChannelSettings, StoredSecret
from .fields import instant, number, table, tables, text
from .intake import Intake
from .reconnect import ConnectionReport, SessionEnded, keep_connected
from .refusals import check_length, refuse

SERVICE: Final = "Telegram"
LIMIT: Final = TextLimit(4_096, utf16_length)
_BASE_URL: Final = "https://api.telegram.org"
_POLL_SECONDS: Final = 50
_POLL_MARGIN: Final = 15.0
_UPDATES: Final = {
    "message": MessageChange.NEW,
    "channel_post": MessageChange.NEW,
    "edited_message": MessageChange.EDITED,
    "edited_channel_post": MessageChange.EDITED,
}
_ATTACHMENTS: Final = (
    "animation",
    "audio",
    "contact",
    "dice",
    "document",
    "location",
    "photo",
    "poll",
    "sticker",
    "story",
    "venue",
    "video",
    "video_note",
    "voice",
)
_CONFLICT_DELAY: Final = timedelta(seconds=30)
"""Another program polls with this token, or a webhook is set: a person has to end it."""


class TelegramChannel:
    def __init__(self, tools: ChannelTools) -> None:
        settings = ChannelSettings("telegram", tools.settings, ("base_url",), ("token",))
        self._clock = tools.clock
        self._token: StoredSecret = settings.secret("token", tools.secrets)
        self._calls = ApiCalls(SERVICE, settings.text("base_url", _BASE_URL), tools.networks)
        self._offset = 0

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:  # noqa: ARG002 - updates wait at the service
        intake = Intake(listener)

        async def run_session(report: ConnectionReport) -> None:
            try:
                await self._poll(intake, report)
            except ServiceUnreachable as unreachable:
                raise unreachable.for_session() from unreachable

        await keep_connected(run_session, listener, self._clock, SERVICE)

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:  # noqa: ARG002 - the service drops no repetitions
        check_length(SERVICE, LIMIT, text)
        body = {"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": True}}
        reply = await self._deliver(body)
        moved = number(reply.document, "parameters", "migrate_to_chat_id")
        if moved is not None:
            chat = str(moved)
            reply = await self._deliver({**body, "chat_id": chat})
        if reply.document.get("ok") is True:
            return Sent(_text(reply.document, "result", "message_id"), chat)
        raise _delivery_error(reply, chat)

    async def typing(self, chat: str) -> None:
        try:
            await self._call("sendChatAction", {"chat_id": chat, "action": "typing"})
        except (ServiceUnreachable, Refusal):
            return

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """Do nothing: bots have no read marks."""

    async def aclose(self) -> None:
        await self._calls.close()

    async def _deliver(self, body: Mapping[str, Any]) -> ApiReply:
        try:
            return await self._call("sendMessage", body)
        except ServiceUnreachable as unreachable:
            raise unreachable.for_delivery() from unreachable
        except Refusal as refusal:
            raise DeliveryRefused(refusal) from refusal

    async def _call(self, method: str, body: Mapping[str, Any], seconds: float = 20.0) -> ApiReply:
        return await self._calls.post(f"/bot{await self._token.read()}/{method}", body, timeout=seconds)

    async def _poll(self, intake: Intake, report: ConnectionReport) -> None:
        me = _result(await self._call("getMe", {}))
        own_id = _text(me, "result", "id")
        report.connected()
        while True:
            request = {
                "offset": self._offset,
                "timeout": _POLL_SECONDS,
                "allowed_updates": list(_UPDATES),
            }
            updates = _result(await self._call("getUpdates", request, _POLL_SECONDS + _POLL_MARGIN))
            report.connected()
            for update in tables(updates, "result"):
                message = _read_update(update, own_id, self._clock.now())
                if message is not None:
                    await intake.accept(message)
                update_id = number(update, "update_id")
                if update_id is not None:
                    self._offset = max(self._offset, update_id + 1)


def _result(reply: ApiReply) -> Mapping[str, Any]:
    """Return the answer to a call of a session; raises a refusal, or why the session ends."""
    if reply.document.get("ok") is True:
        return reply.document
    problem = _problem(reply)
    if reply.status in {401, 404}:
        raise refuse("channel_credentials", service=SERVICE, problem=problem)
    if reply.status == 409:
        raise SessionEnded(f"another program receives the messages of this bot ({problem})", _CONFLICT_DELAY)
    if reply.status == 429:
        raise SessionEnded(problem, _retry_after(reply))
    raise SessionEnded(problem)


def _delivery_error(reply: ApiReply, chat: str) -> DeliveryRefused | DeliveryDelayed:
    problem = _problem(reply)
    match reply.status:
        case 429:
            return DeliveryDelayed(problem, _retry_after(reply))
        case 401 | 404:
            return DeliveryRefused(refuse("channel_credentials", service=SERVICE, problem=problem))
        case 403:
            return DeliveryRefused(refuse("channel_forbidden", service=SERVICE, problem=problem))
        case 400 if "chat not found" in problem or "chat_id is empty" in problem:
            return DeliveryRefused(refuse("channel_chat_unknown", service=SERVICE, chat=chat))
        case 400 if "not enough rights" in problem or "CHAT_WRITE_FORBIDDEN" in problem:
            return DeliveryRefused(refuse("channel_forbidden", service=SERVICE, problem=problem))
        case status if 400 <= status < 500:
            return DeliveryRefused(refuse("channel_rejected", service=SERVICE, problem=problem))
        case _:
            return DeliveryDelayed(problem, RETRY_AFTER, is_uncertain=True)


def _problem(reply: ApiReply) -> str:
    """Return the error in the words of the service, which never repeat the token."""
    return _text(reply.document, "description")[:200] or f"status {reply.status}"


def _retry_after(reply: ApiReply) -> timedelta:
    return read_delay(number(reply.document, "parameters", "retry_after"), reply.retry_after())


def _read_update(update: Mapping[str, Any], own_id: str, now: datetime) -> IncomingMessage | None:
    """Return the message of an update; None for other updates, and for messages of the bot itself."""
    kind = next((name for name in _UPDATES if isinstance(update.get(name), Mapping)), None)
    if kind is None:
        return None
    message = table(update, kind)
    chat, message_id = _text(message, "chat", "id"), _text(message, "message_id")
    sender = _text(message, "from", "id") or _text(message, "sender_chat", "id")
    if not chat or not message_id or sender == own_id:
        return None
    change = _UPDATES[kind]
    edit = f":{_text(update, 'update_id')}" if change is MessageChange.EDITED else ""
    return IncomingMessage(
        chat=chat,
        id=message_id,
        source_id=f"{chat}:{message_id}{edit}",
        sender=sender,
        sender_name=_sender_name(message),
        text=_text(message, "text") or _text(message, "caption"),
        sent=instant(number(message, "edit_date") or number(message, "date"), now),
        change=change,
        quoted=_quoted(message),
        attachments=tuple(name for name in _ATTACHMENTS if name in message),
        chat_name=_text(message, "chat", "title") or _sender_name({"from": message.get("chat")}),
        is_direct=_text(message, "chat", "type") == "private",
        moved_from=_text(message, "migrate_from_chat_id"),
    )


def _sender_name(message: Mapping[str, Any]) -> str:
    names = (_text(message, "from", "first_name"), _text(message, "from", "last_name"))
    return (
        " ".join(name for name in names if name)
        or _text(message, "from", "username")
        or _text(message, "sender_chat", "title")
    )


def _quoted(message: Mapping[str, Any]) -> QuotedMessage | None:
    quoted = table(message, "reply_to_message")
    if not quoted:
        return None
    selected = _text(message, "quote", "text")
    return QuotedMessage(
        _text(quoted, "message_id"),
        _sender_name(quoted),
        selected or _text(quoted, "text") or _text(quoted, "caption"),
    )


_text = text
"""`send` has a parameter of that name."""


class TelegramKind:
    kind = "telegram"

    def open(self, tools: ChannelTools) -> Channel:
        return TelegramChannel(tools)


TELEGRAM: Final = TelegramKind()
