"""Feishu channel (and Lark, by base_url): receives events by a signed webhook, and sends with im/v1/messages.

Feishu delivers an event again until the webhook answers 200, which it does after the listener has kept the message. A text
carries an id by which Feishu drops a repetition within an hour.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from importlib.util import find_spec
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
    DeliveryRefused,
    IncomingMessage,
    Scope,
    Sent,
)
from ...ports.text_parts import TextLimit, json_length
from .api_calls import LOOKUP_TIMEOUT, RETRY_AFTER, ApiCalls, ApiReply, ServiceUnreachable, read_delay
from .channel_settings import ChannelSettings, StoredSecret
from .deliveries import Deliveries
from .feishu_events import decrypt, encode_text, is_signed, read_event
from .fields import number
from .fields import text as text_at
from .reconnect import SessionEnded
from .refusals import check_length, refuse
from .webhook import (
    BAD_REQUEST,
    FORBIDDEN,
    NOT_READY,
    UNSIGNED,
    WebhookAnswer,
    WebhookRequest,
    serve_webhook,
)

SERVICE: Final = "Feishu"
_REPETITION_WINDOW: Final = timedelta(hours=1)
_BASE_URL: Final = "https://open.feishu.cn/open-apis"
_TOKEN_MARGIN: Final = 600.0
"""A token is renewed so many seconds before it ends."""
_REMEMBERED_NAMES: Final = 2_000
_OLD_TOKEN: Final = frozenset({99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677})
_BAD_APP: Final = frozenset({10003, 10014, 10015, 10012, 99991543, 99991401, 99991662, 99991672})
_RATE: Final = frozenset({99991400, 230020, 11232, 11233, 11247})
_RATE_DELAY: Final = timedelta(seconds=1)
"""The limit is five texts a second in a chat."""
_IN_PROGRESS: Final = 230049
_BROKEN: Final = frozenset({2200, 230050, 99991001})
_FORBIDDEN_CODES: Final = frozenset({230002, 230006, 230013, 230018, 230027, 230035, 230038, 230053})
_UNKNOWN_CHAT: Final = frozenset({230001, 230034, 232006, 99992361})


def _content_bytes(text: str) -> int:
    """Count the bytes of a text in the body of a request, where it is JSON inside of JSON."""
    return json_length(json.dumps(text, ensure_ascii=False)[1:-1])


LIMIT: Final = TextLimit(140_000, _content_bytes)
"""A request may have 150 KB."""


class FeishuChannel:
    def __init__(self, tools: ChannelTools) -> None:
        settings = ChannelSettings(
            "feishu", tools.settings, ("base_url", "app_id"), ("app_secret", "verification_token", "encrypt_key")
        )
        self._clock = tools.clock
        self._app_id = settings.text("app_id")
        self._app_secret = settings.secret("app_secret", tools.secrets)
        self._verification_token = settings.secret("verification_token", tools.secrets)
        self._encrypt_key: StoredSecret | None = None
        if settings.has_secret("encrypt_key"):
            if find_spec("cryptography") is None:
                raise refuse("channel_library_missing", service=SERVICE)
            self._encrypt_key = settings.secret("encrypt_key", tools.secrets)
        self._calls = ApiCalls(SERVICE, settings.text("base_url", _BASE_URL), tools.networks)
        self._deliveries = Deliveries(SERVICE)
        self._names: dict[str, str] = {}
        self._token = ""
        self._token_until = 0.0
        self._token_lock = asyncio.Lock()

    @property
    def limit(self) -> TextLimit:
        return LIMIT

    @property
    def repetition_window(self) -> timedelta:
        return _REPETITION_WINDOW

    async def connect(self, listener: ChannelListener, since: datetime | None = None) -> None:  # noqa: ARG002 - Feishu repeats what was not accepted
        await self._deliveries.keep_connected(listener, self._clock, self._renew_token)

    async def send(self, chat: str, text: str, *, key: str = "") -> Sent:
        check_length(SERVICE, LIMIT, text)
        body = {"receive_id": chat, "msg_type": "text", "content": encode_text(text)}
        if key:
            body["uuid"] = sha256(f"{chat} {key}".encode()).hexdigest()[:40]
        try:
            reply = await self._call("POST", "/im/v1/messages?receive_id_type=chat_id", body)
        except ServiceUnreachable as unreachable:
            raise unreachable.for_delivery(drops_repetitions=bool(key)) from unreachable
        except SessionEnded as ended:
            raise DeliveryDelayed(ended.problem, ended.after or RETRY_AFTER) from ended
        except Refusal as refusal:
            raise DeliveryRefused(refusal) from refusal
        if number(reply.document, "code") == 0:
            return Sent(text_at(reply.document, "data", "message_id"), chat)
        raise _delivery_error(reply, chat, drops_repetitions=bool(key))

    async def typing(self, chat: str) -> None:
        """Do nothing: Feishu does not show this for bots."""

    async def confirm_read(self, chat: str, message_id: str) -> None:
        """Do nothing: bots have no read marks."""

    async def aclose(self) -> None:
        await self._calls.close()

    async def webhook(self, scope: Scope, receive: AsgiReceive, send: AsgiSend) -> None:
        await serve_webhook(scope, receive, send, self._answer)

    # --- calls ---------------------------------------------------------------------------------------------------------

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> ApiReply:
        """Call with the current token; once more with a new one if Feishu no longer knows it."""
        reply = await self._call_with(await self._current_token(), method, path, body)
        if number(reply.document, "code") in _OLD_TOKEN:
            reply = await self._call_with(await self._renew_token(), method, path, body)
        return reply

    async def _call_with(self, token: str, method: str, path: str, body: Mapping[str, Any] | None) -> ApiReply:
        headers = {"Authorization": f"Bearer {token}"}
        if method == "GET":
            return await self._calls.get(path, headers=headers, timeout=LOOKUP_TIMEOUT)
        return await self._calls.post(path, body or {}, headers=headers)

    async def _current_token(self) -> str:
        if self._token and self._clock.steady() < self._token_until:
            return self._token
        return await self._renew_token()

    async def _renew_token(self) -> str:
        """Return a new token; raises a refusal for wrong credentials, and `SessionEnded` for a failure of the service."""
        async with self._token_lock:
            body = {"app_id": self._app_id, "app_secret": await self._app_secret.read()}
            reply = await self._calls.post("/auth/v3/tenant_access_token/internal", body)
            code, token = number(reply.document, "code"), text_at(reply.document, "tenant_access_token")
            if code == 0 and token:
                lasts = number(reply.document, "expire") or 0
                self._token, self._token_until = token, self._clock.steady() + max(lasts - _TOKEN_MARGIN, lasts / 2)
                return token
            if code in _BAD_APP:
                raise refuse("channel_credentials", service=SERVICE, problem=_problem(reply))
            raise SessionEnded(_problem(reply), _retry_after(reply) if code in _RATE else None)

    async def _with_name(self, message: IncomingMessage) -> IncomingMessage:
        """Return the message with the name of its sender, where the app may read it."""
        sender = message.sender
        if sender and sender not in self._names:
            path = f"/contact/v3/users/{quote(sender, safe='')}?user_id_type=open_id"
            try:
                reply = await self._call("GET", path)
            except (ServiceUnreachable, SessionEnded, Refusal):
                return message
            self._names[sender] = text_at(reply.document, "data", "user", "name") or sender
            if len(self._names) > _REMEMBERED_NAMES:
                del self._names[next(iter(self._names))]
        return message._replace(sender_name=self._names.get(sender, sender))

    # --- webhook -------------------------------------------------------------------------------------------------------

    async def _answer(self, request: WebhookRequest) -> WebhookAnswer:
        document: Mapping[str, Any] | None = request.json() if request.method == "POST" else None
        signed = True
        if document is not None and self._encrypt_key is not None:
            key = await self._encrypt_key.read()
            signed = is_signed(request.headers, request.body, key)
            document = decrypt(text_at(document, "encrypt"), key)
            if document is None:
                return UNSIGNED
        if document is None:
            return BAD_REQUEST
        if text_at(document, "type") == "url_verification":
            # Sent when a person enters the address of the webhook. It has no signature, and changes nothing.
            return await self._verify(document)
        if not signed:
            return UNSIGNED
        if not await self._verification_token.is_equal(text_at(document, "header", "token")):
            return FORBIDDEN
        message = read_event(document, self._clock.now())
        if message is not None and not await self._deliveries.accept(await self._with_name(message)):
            return NOT_READY
        return WebhookAnswer.of_json({})

    async def _verify(self, document: Mapping[str, Any]) -> WebhookAnswer:
        if not await self._verification_token.is_equal(text_at(document, "token")):
            return FORBIDDEN
        return WebhookAnswer.of_json({"challenge": text_at(document, "challenge")})


def _delivery_error(reply: ApiReply, chat: str, *, drops_repetitions: bool) -> DeliveryRefused | DeliveryDelayed:
    code, problem = number(reply.document, "code"), _problem(reply)
    if code in _RATE or reply.status == 429:
        return DeliveryDelayed(problem, _retry_after(reply))
    if code == _IN_PROGRESS:
        return DeliveryDelayed(problem, RETRY_AFTER)
    if code is None or code in _BROKEN or reply.is_server_error:
        return DeliveryDelayed(problem, RETRY_AFTER, is_uncertain=not drops_repetitions)
    if code in _OLD_TOKEN or code in _BAD_APP:
        return DeliveryRefused(refuse("channel_credentials", service=SERVICE, problem=problem))
    if code in _UNKNOWN_CHAT:
        return DeliveryRefused(refuse("channel_chat_unknown", service=SERVICE, chat=chat))
    if code in _FORBIDDEN_CODES:
        return DeliveryRefused(refuse("channel_forbidden", service=SERVICE, problem=problem))
    return DeliveryRefused(refuse("channel_rejected", service=SERVICE, problem=problem))


def _retry_after(reply: ApiReply) -> timedelta:
    return read_delay(reply.headers.get("x-ogw-ratelimit-reset"), reply.retry_after(_RATE_DELAY))


def _problem(reply: ApiReply) -> str:
    code = number(reply.document, "code")
    return f"status {reply.status}" if code is None else f"{text_at(reply.document, 'msg')[:160]} ({code})"


class FeishuKind:
    kind = "feishu"

    def open(self, tools: ChannelTools) -> Channel:
        return FeishuChannel(tools)


FEISHU: Final = FeishuKind()
