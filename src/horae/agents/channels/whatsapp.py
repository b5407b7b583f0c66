"""WhatsApp channel (Cloud API): receives by a webhook that Meta signs, and sends with the messages endpoint.

Meta delivers again until the webhook answers 200, which it does after the listener has kept every message of the request.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from ...errors import Refusal
from ...ports.channel import (
    AsgiReceive,
    AsgiSend,
    Channel,
    ChannelListener,
    ChannelTools,
    DeliveryDelayed,
    DeliveryReceipt,
    DeliveryRefused,
    IncomingMessage,
    MessageChange,
    QuotedMessage,
    ReceiptState,
    Scope,
    Sent,
)
from ...ports.text_parts import TextLimit
from .api_calls import RETRY_AFTER, ApiCalls, ApiReply, ServiceUnreachable
from .channel_settings import ChannelSettings
from .deliveries import Deliveries
from .fields import instant, number, table, tables
from .fields import text as text_at
from .reconnect import SessionEnded
from .refusals import check_length, refuse
from .webhook import (
    ACCEPTED,
    BAD_REQUEST,
    FORBIDDEN,
    NOT_READY,
    UNSIGNED,
    WebhookAnswer,
    WebhookRequest,
    serve_webhook,
)

SERVICE: Final = "WhatsApp"
LIMIT: Final = TextLimit(4_096)
_BASE_URL: Final = "https://graph.facebook.com/v23.0"
_SIGNATURE: Final = "sha256="
_REMEMBERED_CHATS: Final = 1_000
_CREDENTIALS: Final = frozenset({0, 3, 10, 190, 131005})
_RATE: Final = frozenset({4, 80007, 130429, 131048, 131056, 131057, 133016})
_BROKEN: Final = frozenset({1, 2, 131000, 131016})
_WINDOW: Final = frozenset({470, 131047})
_FORBIDDEN: Final = frozenset({368, 130497, 131031, 131042, 131045, 131049, 133010})
_UNKNOWN_CHAT: Final = frozenset({131021, 131026, 131030})
_RATE_DELAY: Final = timedelta(seconds=30)
_PERMISSIONS: Final = range(200, 300)
_STATES: Final = {
    "delivered": ReceiptState.DELIVERED,
    "read": ReceiptState.READ,
    "failed": ReceiptState.FAILED,
}
_CAPTIONS: Final = ("image", "video", "document")


class WhatsAppChannel:
    def __init__(self, tools: ChannelTools) -> None:
        settings = ChannelSettings(
            "whatsapp", tools.settings, ("base_url", "phone_number_id"), ("token", "app_secret", "verify_token")
        )
        self._clock = tools.clock
        self._phone = settings.text("phone_number_id")
        self._token = settings.secret("token", tools.secrets)
        self._app_secret = settings.secret("app_secret", tools.secrets)
        self._verify_token = settings.secret("verify_token", tools.secrets)
        self._calls = ApiCalls(SERVICE, settings.text("base_url", _BASE_URL), tools.networks)
        self._deliveries = Deliveries(SERVICE)
        self._last_message: dict[str, str] = {}
        """Newest message of each chat: a sign of typing answers a message."""

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:  # noqa: ARG002 - Meta repeats what was not accepted
        await self._deliveries.keep_connected(listener, self._clock, self._check_account)

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:  # noqa: ARG002 - WhatsApp drops no repetitions
        check_length(SERVICE, LIMIT, text)
        body = {
            "recipient_type": "individual",
            "to": chat,
            "type": "text",
            "text": {"preview_url": False, "body": text},
        }
        try:
            reply = await self._post(body)
        except ServiceUnreachable as unreachable:
            raise unreachable.for_delivery() from unreachable
        except Refusal as refusal:
            raise DeliveryRefused(refusal) from refusal
        accepted = next(tables(reply.document, "messages"), None)
        if reply.status == 200 and accepted is not None:
            return Sent(text_at(accepted, "id"), chat)
        raise _delivery_error(reply, chat)

    async def typing(self, chat: str) -> None:
        message_id = self._last_message.get(chat)
        if message_id is not None:
            await self._mark(message_id, {"typing_indicator": {"type": "text"}})

    async def confirm_read(self, chat: str, message_id: str) -> None:  # noqa: ARG002 - ids are unique
        await self._mark(message_id, {})

    async def aclose(self) -> None:
        await self._calls.close()

    async def webhook(self, scope: Scope, receive: AsgiReceive, send: AsgiSend) -> None:
        await serve_webhook(scope, receive, send, self._answer)

    # --- calls ---------------------------------------------------------------------------------------------------------

    async def _check_account(self) -> None:
        reply = await self._calls.get(f"/{quote(self._phone, safe='')}", headers=await self._headers())
        if reply.status != 200:
            raise _session_error(reply)

    async def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {await self._token.read()}"}

    async def _post(self, body: Mapping[str, Any]) -> ApiReply:
        path = f"/{quote(self._phone, safe='')}/messages"
        return await self._calls.post(path, {"messaging_product": "whatsapp", **body}, headers=await self._headers())

    async def _mark(self, message_id: str, more: Mapping[str, Any]) -> None:
        try:
            await self._post({"status": "read", "message_id": message_id, **more})
        except (ServiceUnreachable, Refusal):
            return

    # --- webhook -------------------------------------------------------------------------------------------------------

    async def _answer(self, request: WebhookRequest) -> WebhookAnswer:
        if request.method == "GET":
            return await self._verify(request)
        if not await self._is_signed(request):
            return UNSIGNED
        document = request.json()
        if document is None:
            return BAD_REQUEST
        for value in self._changes(document):
            for message in self._messages(value):
                if not await self._deliveries.accept(message):
                    return NOT_READY
                self._remember(message)
            for receipt in _receipts(value):
                if not await self._deliveries.report(receipt):
                    return NOT_READY
        return ACCEPTED

    async def _verify(self, request: WebhookRequest) -> WebhookAnswer:
        """Answer the request that Meta sends when a person enters the address of the webhook."""
        is_known = await self._verify_token.is_equal(request.query.get("hub.verify_token", ""))
        if request.query.get("hub.mode") != "subscribe" or not is_known:
            return FORBIDDEN
        return WebhookAnswer(200, request.query.get("hub.challenge", "").encode())

    async def _is_signed(self, request: WebhookRequest) -> bool:
        key = (await self._app_secret.read()).encode()
        expected = _SIGNATURE + hmac.digest(key, request.body, sha256).hex()
        offered = request.headers.get("x-hub-signature-256", "")
        return hmac.compare_digest(expected.encode(), offered.encode())

    def _changes(self, document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the changes of this phone number; an app can have several."""
        for entry in tables(document, "entry"):
            for change in tables(entry, "changes"):
                value = table(change, "value")
                if text_at(value, "metadata", "phone_number_id") == self._phone:
                    yield value

    def _messages(self, value: Mapping[str, Any]) -> Iterator[IncomingMessage]:
        names = {text_at(each, "wa_id"): text_at(each, "profile", "name") for each in tables(value, "contacts")}
        for message in tables(value, "messages"):
            sender = text_at(message, "from")
            yield _read_message(message, sender, names.get(sender) or sender, self._clock.now())
        for message in tables(value, "message_echoes"):
            # A person has written with the phone of this account.
            sent = _read_message(message, text_at(message, "from"), "", self._clock.now())
            yield sent._replace(chat=text_at(message, "to"), from_me=True)

    def _remember(self, message: IncomingMessage) -> None:
        if not message.from_me and message.change is MessageChange.NEW:
            self._last_message.pop(message.chat, None)
            self._last_message[message.chat] = message.id
            if len(self._last_message) > _REMEMBERED_CHATS:
                del self._last_message[next(iter(self._last_message))]


def _read_message(message: Mapping[str, Any], sender: str, name: str, now: datetime) -> IncomingMessage:
    kind, message_id = text_at(message, "type"), text_at(message, "id")
    change, target, content = MessageChange.NEW, message_id, message
    if kind in {"edit", "revoke"}:
        change = MessageChange.EDITED if kind == "edit" else MessageChange.DELETED
        target = text_at(message, kind, "original_message_id")
        content = table(message, kind, "message")
        kind = text_at(content, "type")
    quoted = text_at(content, "context", "id")
    return IncomingMessage(
        chat=sender,
        id=target,
        source_id=message_id,
        sender=sender,
        sender_name=name,
        text=_text_of(content, kind),
        sent=instant(text_at(message, "timestamp"), now),
        change=change,
        quoted=QuotedMessage(quoted) if quoted else None,
        attachments=() if kind in {"text", "button", "interactive", ""} else (kind,),
        chat_name=name,
        is_direct=True,
    )


def _text_of(message: Mapping[str, Any], kind: str) -> str:
    match kind:
        case "text":
            return text_at(message, "text", "body")
        case "button":
            return text_at(message, "button", "text")
        case "interactive":
            answer = table(message, "interactive")
            return text_at(answer, "button_reply", "title") or text_at(answer, "list_reply", "title")
        case "reaction":
            return text_at(message, "reaction", "emoji")
        case "system":
            return text_at(message, "system", "body")
        case _ if kind in _CAPTIONS:
            return text_at(message, kind, "caption")
        case _:
            return ""


def _receipts(value: Mapping[str, Any]) -> Iterator[DeliveryReceipt]:
    for status in tables(value, "statuses"):
        state = _STATES.get(text_at(status, "status"))
        if state is None:
            continue
        chat, refusal = text_at(status, "recipient_id"), None
        if state is ReceiptState.FAILED:
            error = next(tables(status, "errors"), {})
            refusal = _refusal(number(error, "code"), _details(error), chat)
        yield DeliveryReceipt(chat, text_at(status, "id"), state, refusal)


def _session_error(reply: ApiReply) -> Refusal | SessionEnded:
    error = table(reply.document, "error")
    code, details = number(error, "code"), _details(error)
    if reply.status == 429 or code in _RATE:
        # Before the status: beyond the limit of an app the Graph API answers 403.
        return SessionEnded(details or f"status {reply.status}", reply.retry_after(_RATE_DELAY))
    if reply.status in {401, 403} or code in _CREDENTIALS or code in _PERMISSIONS:
        return refuse("channel_credentials", service=SERVICE, problem=details)
    if reply.status == 404 or code in {33, 100}:
        return refuse("channel_credentials", service=SERVICE, problem=f"phone_number_id: {details}")
    return SessionEnded(details or f"status {reply.status}")


def _delivery_error(reply: ApiReply, chat: str) -> DeliveryRefused | DeliveryDelayed:
    error = table(reply.document, "error")
    code, details = number(error, "code"), _details(error) or f"status {reply.status}"
    if code in _RATE or reply.status == 429:
        return DeliveryDelayed(details, reply.retry_after(_RATE_DELAY))
    if code in _BROKEN or code is None:
        return DeliveryDelayed(details, RETRY_AFTER, is_uncertain=True)
    return DeliveryRefused(_refusal(code, details, chat))


def _refusal(code: int | None, details: str, chat: str) -> Refusal:
    if code in _WINDOW:
        return refuse("channel_window_closed", service=SERVICE)
    if code in _CREDENTIALS or code in _PERMISSIONS:
        return refuse("channel_credentials", service=SERVICE, problem=details)
    if code in _UNKNOWN_CHAT:
        return refuse("channel_chat_unknown", service=SERVICE, chat=chat)
    if code in _FORBIDDEN:
        return refuse("channel_forbidden", service=SERVICE, problem=details)
    return refuse("channel_rejected", service=SERVICE, problem=details)


def _details(error: Mapping[str, Any]) -> str:
    """Return the code and title of an error: its longer text may repeat parts of a token."""
    code = number(error, "code")
    title = text_at(error, "error_data", "details") or text_at(error, "title")
    return f"{title[:160]} ({code})" if title else f"error {code}" if code is not None else ""


class WhatsAppKind:
    kind = "whatsapp"

    def open(self, tools: ChannelTools) -> Channel:
        return WhatsAppChannel(tools)


WHATSAPP: Final = WhatsAppKind()
