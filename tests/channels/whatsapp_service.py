"""Imitation of the WhatsApp Cloud API on the loopback, after https://developers.facebook.com/docs/whatsapp/cloud-api.

It checks tokens, bodies and lengths, answers with the error objects of the Graph API, and signs its webhook calls.
"""

from __future__ import annotations

import hmac
import json
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Any, Final

from aiohttp import web

from horae.agents.channels.whatsapp import WHATSAPP
from horae.outgoing.addresses import read_networks
from horae.ports.channel import Channel, ChannelTools, WebhookChannel
from horae.testing.contracts.channels import KnownSecrets
from tests.channels.asgi_call import Answer, call_webhook
from tests.channels.callback_service import CallbackChats
from tests.channels.loopback_service import LoopbackService

TOKEN: Final = "EAAJB1example0token0of0a0system0user"  # noqa: S105 - an example
APP_SECRET: Final = "f3b8c1d2e4a5968778695a4b3c2d1e0f"  # noqa: S105 - an example
VERIFY_TOKEN: Final = "meatyhamhock"  # noqa: S105 - the example of the documentation
PHONE: Final = "106540352242922"
PERSON: Final = "16315551181"
MAX_LENGTH: Final = 4_096


class WhatsAppService(LoopbackService):
    def __init__(self) -> None:
        super().__init__()
        self.is_revoked = False
        self.is_window_closed = False
        self.sent: list[tuple[str, str]] = []
        self.marks: list[dict[str, Any]] = []
        self.before_limit: int | None = None
        self.limit_answer = 429, 130429
        """Status and code beyond a limit; that of one recipient (a text every six seconds) has a code of its own."""
        self._numbers = count(1)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/v23.0/{phone}", self._phone_number),
            web.post("/v23.0/{phone}/messages", self._messages),
        ]

    def new_id(self) -> str:
        return f"wamid.HBgLMTYzMTU1NTExODEVAgA{next(self._numbers):08d}"

    def _check(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" or self.is_revoked:
            text = f"Error validating access token: Session for {TOKEN[:12]} has been invalidated"
            return _error(401, 190, "Access token has expired", text)
        if request.match_info["phone"] != PHONE:
            return _error(400, 100, "Unsupported request. Object does not exist")
        return None

    async def _phone_number(self, request: web.Request) -> web.Response:
        return self._check(request) or web.json_response({"display_phone_number": "+1 555-078-3881", "id": PHONE})

    async def _messages(self, request: web.Request) -> web.Response:
        refused = self._check(request)
        if refused is not None:
            return refused
        assert request.content_type == "application/json"
        body = await request.json()
        assert body["messaging_product"] == "whatsapp"
        if body.get("status") == "read":
            assert body["message_id"].startswith("wamid.")
            assert body.keys() <= {"messaging_product", "status", "message_id", "typing_indicator"}
            self.marks.append(body)
            return web.json_response({"success": True})
        assert body["recipient_type"] == "individual"
        assert body["type"] == "text"
        text = body["text"]["body"]
        if not text or len(text) > MAX_LENGTH:
            return _error(400, 100, "Param text['body'] must be at most 4096 characters long.")
        if body["to"] != PERSON:
            return _error(400, 131030, "Recipient phone number not in allowed list")
        if self.is_window_closed:
            return _error(400, 131047, "Message failed to send because more than 24 hours have passed")
        if self.before_limit is not None:
            if self.before_limit == 0:
                return _error(*self.limit_answer, "Message failed to send because there were too many messages")
            self.before_limit -= 1
        self.sent.append((body["to"], text))
        contacts = [{"input": PERSON, "wa_id": PERSON}]
        document = {"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": self.new_id()}]}
        return web.json_response(document)


def _error(status: int, code: int, details: str, message: str = "") -> web.Response:
    error = {
        "message": message or f"(#{code}) {details}",
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": details},
        "fbtrace_id": "Az8or2yhqkZfEZ-_4Qn_Bam",
    }
    return web.json_response({"error": error}, status=status)


def sign(body: bytes, secret: str = APP_SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body, sha256).hexdigest()}"}


def wrap(value: dict[str, Any], phone: str = PHONE) -> bytes:
    """Return the body of a webhook call. Meta escapes characters outside of ASCII."""
    metadata = {"display_phone_number": "15550783881", "phone_number_id": phone}
    change = {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}
    return json.dumps(
        {"object": "whatsapp_business_account", "entry": [{"id": "102290129340398", "changes": [change]}]}
    ).encode()


class WhatsAppChats(CallbackChats):
    chat = PERSON
    unknown_chat = "15550000000"
    names_delays = False

    def __init__(self, server: WhatsAppService) -> None:
        super().__init__()
        self.server = server
        self._messages: dict[str, dict[str, Any]] = {}

    @property
    def secrets(self) -> tuple[str, ...]:
        return TOKEN, TOKEN[:12], APP_SECRET, VERIFY_TOKEN

    def open(self) -> Channel:
        settings = {
            "phone_number_id": PHONE,
            "token": "token",
            "app_secret": "app",
            "verify_token": "verify",
            "base_url": f"{self.server.url}/v23.0",
        }
        secrets = KnownSecrets({"token": TOKEN, "app": APP_SECRET, "verify": VERIFY_TOKEN})
        return WHATSAPP.open(ChannelTools(self.clock, secrets, settings, read_networks(["127.0.0.0/8"])))

    async def call(self, value: dict[str, Any], phone: str = PHONE) -> None:
        body = wrap(value, phone)

        async def deliver(channel: WebhookChannel) -> Answer:
            return await call_webhook(channel, "POST", body, headers=sign(body))

        await self.deliver(deliver)

    async def report(self, message: dict[str, Any]) -> str:
        stamp = int(datetime.now(UTC).timestamp())  # noqa: TID251 - the service stamps real time
        message = {"from": PERSON, "id": self.server.new_id(), "timestamp": str(stamp), **message}
        self._messages[message["id"]] = message
        await self.call({"contacts": [{"profile": {"name": self.person}, "wa_id": PERSON}], "messages": [message]})
        return str(message["id"])

    async def write(self, text: str, *, quoted: str | None = None) -> str:
        context = {} if quoted is None else {"context": {"from": "15550783881", "id": quoted}}
        return await self.report({"type": "text", "text": {"body": text}, **context})

    async def edit(self, message_id: str, text: str) -> None:
        edited = {"type": "text", "text": {"body": text}}
        await self.report({"type": "edit", "edit": {"original_message_id": message_id, "message": edited}})

    async def delete(self, message_id: str) -> None:
        await self.report({"type": "revoke", "revoke": {"original_message_id": message_id}})

    async def repeat(self, message_id: str) -> None:
        await self.call({"messages": [self._messages[message_id]]})

    async def sent_texts(self) -> list[str]:
        return [text for chat, text in self.server.sent if chat == self.chat]

    def limit_rate(self, seconds: int, *, after: int = 0) -> None:
        del seconds
        self.server.before_limit = after

    def end_rate_limit(self) -> None:
        self.server.before_limit = None

    async def revoke(self) -> None:
        self.server.is_revoked = True

    async def interrupt(self) -> None:
        await self.server.stop()

    async def resume(self) -> None:
        await self.server.start()
