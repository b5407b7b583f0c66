"""Imitation of the Feishu open platform on the loopback, after https://open.feishu.cn/document.

It issues and ends tenant tokens, checks bodies, sizes and the ids that drop repetitions, and encrypts and signs its events.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Any, Final

from aiohttp import web
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from horae.agents.channels.feishu import FEISHU
from horae.outgoing.addresses import read_networks
from horae.ports.channel import Channel, ChannelTools, WebhookChannel
from horae.testing.contracts.channels import KnownSecrets
from tests.channels.asgi_call import Answer, call_webhook
from tests.channels.callback_service import CallbackChats
from tests.channels.loopback_service import LoopbackService

APP_ID: Final = "cli_9f5343c580712544"
APP_SECRET: Final = "1z8JEXAMPLExKS1nv0k7x"  # noqa: S105 - an example
VERIFICATION_TOKEN: Final = "rvaYgkND1GOiu5MM0E1rncYC6PLtF7JV"  # noqa: S105 - an example
ENCRYPT_KEY: Final = "test key of the app"
CHAT: Final = "oc_5ad11d72b830411d72b836c20"
PERSON: Final = "ou_84aad35d084aa403a838cf73ee18467"
MAX_BYTES: Final = 150 * 1024


class FeishuService(LoopbackService):
    def __init__(self) -> None:
        super().__init__()
        self.is_revoked = False
        self.tokens: set[str] = set()
        self.tokens_issued = 0
        self.muted: set[str] = set()
        self.sent: list[tuple[str, str]] = []
        self.by_uuid: dict[str, str] = {}
        self.before_limit: int | None = None
        self.limit_answer = 429, 99991400
        """Status and code beyond the limit; some older calls answer 400, and the limit of a chat has a code of its own."""
        self.reset_after = 0
        self.lost_answers = 0
        self._numbers = count(1)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/open-apis/auth/v3/tenant_access_token/internal", self._issue_token),
            web.post("/open-apis/im/v1/messages", self._send),
            web.get("/open-apis/contact/v3/users/{user}", self._user),
        ]

    def new_id(self) -> str:
        return f"om_dc13264520392913993dd051{next(self._numbers):08d}"

    async def _issue_token(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body != {"app_id": APP_ID, "app_secret": APP_SECRET} or self.is_revoked:
            return web.json_response({"code": 10014, "msg": "app secret invalid"})
        self.tokens_issued += 1
        token = f"t-{self.tokens_issued}-g1044qeGEDXTB6NDJOGV4JQCYDGHRBARFTGT1234"
        self.tokens.add(token)
        return web.json_response({"code": 0, "msg": "ok", "tenant_access_token": token, "expire": 7200})

    def _check(self, request: web.Request) -> web.Response | None:
        given = request.headers.get("Authorization", "")
        if not given:
            return _error(400, 99991661, "Missing access token for authorization")
        if given.removeprefix("Bearer ") not in self.tokens or self.is_revoked:
            return _error(
                400, 99991663, "Invalid access token for authorization. Please make a request with token attached."
            )
        return None

    async def _user(self, request: web.Request) -> web.Response:
        refused = self._check(request)
        if refused is not None:
            return refused
        assert request.query["user_id_type"] == "open_id"
        if request.match_info["user"] != PERSON:
            return _error(400, 41050, "no user authority error")
        return web.json_response({"code": 0, "msg": "success", "data": {"user": {"open_id": PERSON, "name": "安 Ann"}}})

    async def _send(self, request: web.Request) -> web.Response:
        refused = self._check(request)
        if refused is not None:
            return refused
        raw = await request.read()
        if len(raw) > MAX_BYTES:
            return _error(400, 230025, "The length of the message content reaches its limit.")
        body = json.loads(raw)
        assert request.query["receive_id_type"] == "chat_id"
        assert body["msg_type"] == "text"
        assert isinstance(body["content"], str)
        assert len(body.get("uuid", "")) <= 50
        text = json.loads(body["content"])["text"]
        if body["receive_id"] != CHAT:
            return _error(400, 230001, "Your request contains an invalid request parameter, ext=invalid receive_id.")
        if CHAT in self.muted:
            return _error(400, 230018, "These operations are not allowed at current group settings.")
        if self.before_limit is not None:
            if self.before_limit == 0:
                headers = {"x-ogw-ratelimit-limit": "50", "x-ogw-ratelimit-reset": str(self.reset_after)}
                return _error(*self.limit_answer, "request trigger frequency limit", headers)
            self.before_limit -= 1
        message_id = self.by_uuid.get(body.get("uuid", ""))
        if message_id is None:
            message_id = self.new_id()
            self.sent.append((body["receive_id"], text))
            if "uuid" in body:
                self.by_uuid[body["uuid"]] = message_id
        if self.lost_answers:
            self.lost_answers -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"code": 0, "msg": "success", "data": {"message_id": message_id, "chat_id": CHAT}})


def _error(status: int, code: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"code": code, "msg": message}, status=status, headers=headers)


def encrypt(document: dict[str, Any], key: str = ENCRYPT_KEY) -> bytes:
    """Return the body of an encrypted event."""
    iv, padder = os.urandom(16), PKCS7(128).padder()
    padded = padder.update(json.dumps(document).encode()) + padder.finalize()
    encryptor = Cipher(algorithms.AES256(sha256(key.encode()).digest()), modes.CBC(iv)).encryptor()
    return json.dumps({"encrypt": b64encode(iv + encryptor.update(padded) + encryptor.finalize()).decode()}).encode()


def sign(body: bytes, key: str = ENCRYPT_KEY) -> dict[str, str]:
    stamp, nonce = "1602498300", "1ea6b8d1"
    return {
        "X-Lark-Request-Timestamp": stamp,
        "X-Lark-Request-Nonce": nonce,
        "X-Lark-Signature": sha256((stamp + nonce + key).encode() + body).hexdigest(),
    }


class FeishuChats(CallbackChats):
    chat = CHAT
    unknown_chat = "oc_unknown"
    has_edits = False

    def __init__(self, server: FeishuService, *, encrypts: bool = True) -> None:
        super().__init__()
        self.server = server
        self.encrypts = encrypts
        self._events: dict[str, dict[str, Any]] = {}

    @property
    def secrets(self) -> tuple[str, ...]:
        return APP_SECRET, VERIFICATION_TOKEN, ENCRYPT_KEY, "g1044qeGEDXTB6NDJOGV4JQCYDGHRBARFTGT1234"

    def open(self) -> Channel:
        settings = {
            "app_id": APP_ID,
            "app_secret": "app",
            "verification_token": "verification",
            "base_url": f"{self.server.url}/open-apis",
        }
        if self.encrypts:
            settings["encrypt_key"] = "encrypt"
        secrets = KnownSecrets({"app": APP_SECRET, "verification": VERIFICATION_TOKEN, "encrypt": ENCRYPT_KEY})
        return FEISHU.open(ChannelTools(self.clock, secrets, settings, read_networks(["127.0.0.0/8"])))

    def event(self, kind: str, event: dict[str, Any]) -> dict[str, Any]:
        header = {
            "event_id": f"5e3702a84e847582be8db7fb73283c02-{self.server.new_id()}",
            "event_type": kind,
            "create_time": self._stamp(),
            "token": VERIFICATION_TOKEN,
            "app_id": APP_ID,
            "tenant_key": "2ca1d211f64f6438",
        }
        return {"schema": "2.0", "header": header, "event": event}

    async def call(self, document: dict[str, Any]) -> None:
        body = encrypt(document) if self.encrypts else json.dumps(document).encode()
        headers = sign(body) if self.encrypts else {}

        async def deliver(channel: WebhookChannel) -> Answer:
            return await call_webhook(channel, "POST", body, headers=headers)

        await self.deliver(deliver)

    async def report(self, kind: str, content: dict[str, Any], **fields: Any) -> str:
        message = {
            "message_id": self.server.new_id(),
            "create_time": self._stamp(),
            "chat_id": CHAT,
            "chat_type": "group",
            "message_type": kind,
            "content": json.dumps(content),
            **fields,
        }
        sender = {"sender_id": {"open_id": PERSON}, "sender_type": "user", "tenant_key": "736588c9260f175e"}
        document = self.event("im.message.receive_v1", {"sender": sender, "message": message})
        self._events[message["message_id"]] = document
        await self.call(document)
        return str(message["message_id"])

    async def write(self, text: str, *, quoted: str | None = None) -> str:
        fields = {} if quoted is None else {"parent_id": quoted, "root_id": quoted}
        return await self.report("text", {"text": text}, **fields)

    async def edit(self, message_id: str, text: str) -> None:
        raise NotImplementedError

    async def delete(self, message_id: str) -> None:
        recalled = {
            "message_id": message_id,
            "chat_id": CHAT,
            "recall_time": self._stamp(),
            "recall_type": "message_owner",
        }
        await self.call(self.event("im.message.recalled_v1", recalled))

    async def repeat(self, message_id: str) -> None:
        await self.call(self._events[message_id])

    async def sent_texts(self) -> list[str]:
        return [text for chat, text in self.server.sent if chat == self.chat]

    def limit_rate(self, seconds: int, *, after: int = 0) -> None:
        self.server.before_limit, self.server.reset_after = after, seconds

    def end_rate_limit(self) -> None:
        self.server.before_limit = None

    async def revoke(self) -> None:
        self.server.is_revoked = True

    async def interrupt(self) -> None:
        await self.server.stop()

    async def resume(self) -> None:
        await self.server.start()

    def _stamp(self) -> str:
        return str(int(datetime.now(UTC).timestamp() * 1_000))  # noqa: TID251 - the service stamps real time
