"""Imitation of the Telegram Bot API on the loopback, after https://core.telegram.org/bots/api.

It checks tokens, offsets, lengths in UTF-16 code units and concurrent polls, and answers with the errors of the real one.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web

from horae.agents.channels.telegram import TELEGRAM
from horae.outgoing.addresses import read_networks
from horae.ports.channel import Channel, ChannelTools
from horae.testing.contracts.channels import ChatService, KnownSecrets
from tests.channels.loopback_service import LoopbackService

TOKEN: Final = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"  # noqa: S105 - the example of the documentation
BOT: Final = {"id": 110201543, "is_bot": True, "first_name": "Andy", "username": "andy_bot"}
MAX_LENGTH: Final = 4_096
MAX_POLL_SECONDS: Final = 50
ACTIONS: Final = frozenset({"typing", "upload_photo", "record_video", "upload_document"})
UPDATE_KINDS: Final = frozenset({"message", "edited_message", "channel_post", "edited_channel_post", "callback_query"})


class ApiError(Exception):
    """An error answer of the API."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        self.code = code
        self.document: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.document["parameters"] = parameters
        super().__init__(description)


class TelegramService(LoopbackService):
    def __init__(self) -> None:
        super().__init__()
        self.is_revoked = False
        self.has_webhook = False
        self.updates: list[dict[str, Any]] = []
        self.confirmed = 0
        """All updates below this id were confirmed."""
        self.chats: dict[int, dict[str, Any]] = {
            -1001: {"id": -1001, "type": "supergroup", "title": "家 Home"},
            77: {"id": 77, "type": "private", "first_name": "Ann"},
        }
        self.blocked: set[int] = set()
        self.migrated: dict[int, int] = {}
        self.sent: list[tuple[int, str]] = []
        self.actions: list[tuple[int, str]] = []
        self.before_limit: int | None = None
        self.retry_after = 0
        self.answers: list[web.Response] = []
        """Answers to the next calls of sendMessage, before anything is checked."""
        self._next_update = 500
        self._next_message = 10
        self._arrived = asyncio.Event()
        self._poll: asyncio.Event | None = None
        self._changed = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", r"/bot{token:[^/]*}/{method}", self._serve)]

    async def changed(self) -> None:
        """Wait for the next text that the channel sends."""
        self._changed.clear()
        await self._changed.wait()

    def add_update(self, kind: str, message: dict[str, Any]) -> int:
        self._next_update += 1
        self.updates.append({"update_id": self._next_update, kind: message})
        self._arrived.set()
        return self._next_update

    def new_message(self, text: str, chat: int, **fields: Any) -> dict[str, Any]:
        self._next_message += 1
        person = {"id": 4242, "is_bot": False, "first_name": "安", "last_name": "Ann", "username": "ann"}
        return {
            "message_id": self._next_message,
            "from": person,
            "chat": self.chats[chat],
            "date": int(datetime.now(UTC).timestamp()),  # noqa: TID251 - the service stamps real time
            "text": text,
            **fields,
        }

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        methods = {
            "getMe": self._get_me,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
            "sendChatAction": self._send_chat_action,
        }
        try:
            self._check_token(request.match_info["token"])
            method = methods.get(request.match_info["method"], self._no_method)
            if request.match_info["method"] == "sendMessage" and self.answers:
                return self.answers.pop(0)
            body = await request.json() if request.can_read_body else {}
            assert not request.can_read_body or request.content_type == "application/json"
            return web.json_response({"ok": True, "result": await method(body)})
        except ApiError as failure:
            return web.json_response(failure.document, status=failure.code)

    def _check_token(self, token: str) -> None:
        if ":" not in token:
            raise ApiError(404, "Not Found")
        if token != TOKEN or self.is_revoked:
            raise ApiError(401, "Unauthorized")

    async def _no_method(self, body: dict[str, Any]) -> Any:
        raise ApiError(404, f"Not Found: method not found ({len(body)} fields)")

    async def _get_me(self, body: dict[str, Any]) -> Any:
        assert not body
        return BOT

    async def _get_updates(self, body: dict[str, Any]) -> Any:
        assert body.keys() <= {"offset", "limit", "timeout", "allowed_updates"}
        assert 0 <= body.get("timeout", 0) <= MAX_POLL_SECONDS
        assert 1 <= body.get("limit", 100) <= 100
        assert set(body.get("allowed_updates", ())) <= UPDATE_KINDS
        if self.has_webhook:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            )
        offset = body.get("offset", 0)
        if offset > self.confirmed:
            self.confirmed = offset
            self.updates = [update for update in self.updates if update["update_id"] >= offset]
        if self._poll is not None:
            self._poll.set()
        ended = self._poll = asyncio.Event()
        while not self._pending(offset):
            self._arrived.clear()
            waits = [asyncio.create_task(each.wait()) for each in (self._arrived, ended)]
            try:
                await asyncio.wait(waits, timeout=body.get("timeout", 0), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            if ended.is_set():
                raise ApiError(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                )
            if not self._arrived.is_set():
                return []
        return self._pending(offset)[: body.get("limit", 100)]

    def _pending(self, offset: int) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["update_id"] >= offset]

    async def _send_message(self, body: dict[str, Any]) -> Any:
        chat = self._check_chat(body)
        text = body.get("text")
        assert isinstance(text, str)
        assert body.keys() <= {"chat_id", "text", "link_preview_options"}
        if not text.strip():
            raise ApiError(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > MAX_LENGTH:
            raise ApiError(400, "Bad Request: message is too long")
        if self.before_limit is not None:
            if self.before_limit == 0:
                raise ApiError(429, f"Too Many Requests: retry after {self.retry_after}", retry_after=self.retry_after)
            self.before_limit -= 1
        self.sent.append((chat, text.strip()))
        self._changed.set()
        self._next_message += 1
        return {
            "message_id": self._next_message,
            "from": BOT,
            "chat": self.chats[chat],
            "date": 1,
            "text": text.strip(),
        }

    async def _send_chat_action(self, body: dict[str, Any]) -> Any:
        if body.get("action") not in ACTIONS:
            raise ApiError(400, "Bad Request: wrong parameter action in request")
        self.actions.append((self._check_chat(body), body["action"]))
        return True

    def _check_chat(self, body: dict[str, Any]) -> int:
        try:
            chat = int(body["chat_id"])
        except (KeyError, ValueError):
            raise ApiError(400, "Bad Request: chat_id is empty") from None
        if chat in self.migrated:
            raise ApiError(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=self.migrated[chat],
            )
        if chat in self.blocked:
            raise ApiError(403, "Forbidden: bot was kicked from the supergroup chat")
        if chat not in self.chats:
            raise ApiError(400, "Bad Request: chat not found")
        return chat


class TelegramChats(ChatService):
    """The contract's view of the imitation."""

    chat = "-1001"
    unknown_chat = "-999"
    has_deletions = False

    def __init__(self, server: TelegramService) -> None:
        super().__init__()
        self.server = server
        self._messages: dict[str, dict[str, Any]] = {}

    @property
    def secrets(self) -> tuple[str, ...]:
        return (TOKEN, TOKEN.partition(":")[2])

    def open(self) -> Channel:
        settings = {"token": "telegram", "base_url": self.server.url}
        secrets = KnownSecrets({"telegram": TOKEN})
        return TELEGRAM.open(ChannelTools(self.clock, secrets, settings, read_networks(["127.0.0.0/8"])))

    async def write(self, text: str, *, quoted: str | None = None) -> str:
        fields = {} if quoted is None else {"reply_to_message": self._messages[quoted]}
        message = self.server.new_message(text, int(self.chat), **fields)
        self._messages[str(message["message_id"])] = message
        self.server.add_update("message", message)
        return str(message["message_id"])

    async def edit(self, message_id: str, text: str) -> None:
        message = self._messages[message_id]
        self.server.add_update("edited_message", {**message, "text": text, "edit_date": message["date"] + 1})

    async def delete(self, message_id: str) -> None:
        raise NotImplementedError

    async def repeat(self, message_id: str) -> None:
        self.server.add_update("message", self._messages[message_id])

    async def sent_texts(self) -> list[str]:
        return [text for chat, text in self.server.sent if chat == int(self.chat)]

    def limit_rate(self, seconds: int, *, after: int = 0) -> None:
        self.server.before_limit, self.server.retry_after = after, seconds

    def end_rate_limit(self) -> None:
        self.server.before_limit = None

    async def revoke(self) -> None:
        self.server.is_revoked = True

    async def interrupt(self) -> None:
        await self.server.stop()

    async def resume(self) -> None:
        await self.server.start()
