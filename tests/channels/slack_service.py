"""Imitation of Slack on the loopback: Web API methods and Socket Mode, after https://docs.slack.dev.

It checks both tokens, JSON bodies, acknowledgements of envelopes and lengths; unacknowledged events are sent again with the same
event_id, and old connections are asked to go.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from aiohttp import WSMsgType, web

from horae.agents.channels.slack import SLACK
from horae.outgoing.addresses import read_networks
from horae.ports.channel import Channel, ChannelTools
from horae.testing.contracts.channels import ChatService, KnownSecrets
from horae.testing.contracts.channels.harness import PATIENCE
from tests.channels.loopback_service import LoopbackService

BOT_TOKEN: Final = "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy"  # noqa: S105 - the example of the documentation
APP_TOKEN: Final = "xapp-1-A123-456-abcdef0123456789"  # noqa: S105 - an example
MAX_LENGTH: Final = 40_000
TRUNCATED_ABOVE: Final = 4_000


class SlackService(LoopbackService):
    def __init__(self) -> None:
        super().__init__()
        self.is_revoked = False
        self.channels = {"C061EG9SL"}
        self.archived: set[str] = set()
        self.sent: list[tuple[str, str]] = []
        self.before_limit: int | None = None
        self.retry_after = 0
        self.unacknowledged: dict[str, dict[str, Any]] = {}
        """Payloads by envelope id."""
        self.retries: list[int] = []
        self.user_lookups = 0
        self._sockets: list[asyncio.Queue[dict[str, Any]]] = []
        """What is to be sent to each connection."""
        self._tickets: set[str] = set()
        self._changed = asyncio.Condition()
        self._numbers = count(1)

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/api/{method}", self._serve), web.get("/link/", self._serve_socket)]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        token = APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN
        given = request.headers.get("Authorization", "")
        if not given.startswith("Bearer "):
            return _error("not_authed")
        if self.is_revoked:
            return _error("token_revoked")
        if given != f"Bearer {token}":
            return _error("not_allowed_token_type" if given[7:11] in {"xoxb", "xapp"} else "invalid_auth")
        assert request.content_type == "application/json"
        body = await request.json()
        match method:
            case "apps.connections.open":
                ticket = f"ticket-{next(self._numbers)}"
                self._tickets.add(ticket)
                url = f"{self.url.replace('http', 'ws')}/link/?ticket={ticket}&app_id=A123"
                return web.json_response({"ok": True, "url": url})
            case "auth.test":
                return web.json_response(
                    {"ok": True, "team_id": "T1", "user": "andy", "user_id": "U0BOT", "bot_id": "B0BOT"}
                )
            case "users.info":
                self.user_lookups += 1
                profile = {"display_name": "安 Ann", "real_name": "Ann Anderson"}
                if body.get("user") != "U2147483697":
                    return _error("user_not_found")
                return web.json_response({"ok": True, "user": {"id": body["user"], "name": "ann", "profile": profile}})
            case "chat.postMessage":
                return self._post(body)
            case _:
                return _error("unknown_method")

    def _post(self, body: dict[str, Any]) -> web.Response:
        if body.get("channel") not in self.channels:
            return _error("channel_not_found")
        if body["channel"] in self.archived:
            return _error("is_archived")
        if not body.get("text"):
            return _error("no_text")
        assert len(body["text"]) <= TRUNCATED_ABOVE, "Slack would truncate or split this text"
        if len(body["text"]) > MAX_LENGTH:
            return _error("msg_too_long")
        if self.before_limit is not None:
            if self.before_limit == 0:
                return web.json_response(
                    {"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": str(self.retry_after)}
                )
            self.before_limit -= 1
        shown = body["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        self.sent.append((body["channel"], shown))
        ts = self.new_ts()
        message = {"type": "message", "user": "U0BOT", "bot_id": "B0BOT", "text": body["text"], "ts": ts}
        # Slack reports the text of an app to the app itself, too.
        self.emit({**message, "channel": body["channel"], "channel_type": "channel", "event_ts": ts})
        return web.json_response({"ok": True, "channel": body["channel"], "ts": ts, "message": message})

    def new_ts(self) -> str:
        now = datetime.now(UTC).timestamp()  # noqa: TID251 - the service stamps real time
        return f"{int(now)}.{next(self._numbers):06d}"

    def emit(self, event: dict[str, Any], event_id: str | None = None) -> str:
        """Send an event to the newest connection; it is sent again until it is acknowledged."""
        event_id = event_id or f"Ev{next(self._numbers):08d}"
        payload = {
            "team_id": "T1",
            "api_app_id": "A123",
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(float(event["event_ts"])),
        }
        envelope_id = f"envelope-{next(self._numbers)}"
        self.unacknowledged[envelope_id] = payload
        self._send(envelope_id, retry=0)
        return event_id

    def _send(self, envelope_id: str, retry: int) -> None:
        if not self._sockets:
            return
        envelope = {
            "envelope_id": envelope_id,
            "type": "events_api",
            "payload": self.unacknowledged[envelope_id],
            "accepts_response_payload": False,
            "retry_attempt": retry,
            "retry_reason": "timeout" if retry else "",
        }
        self.retries.append(retry)
        self._sockets[-1].put_nowait(envelope)

    def retry_unacknowledged(self) -> None:
        """Send again what was not acknowledged, as Slack does after seconds, a minute and five minutes."""
        for envelope_id in list(self.unacknowledged):
            self._send(envelope_id, retry=1)

    async def ask_to_reconnect(self) -> None:
        self._sockets[-1].put_nowait({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})

    async def wait_for_sockets(self, opened: int) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(self.socket_ids) >= opened)

    async def wait_acknowledged(self) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: not self.unacknowledged)

    @property
    def socket_ids(self) -> list[str]:
        return [call for call in self.calls if call == "GET /link/"]

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("ticket") not in self._tickets:
            return web.Response(status=400)
        self._tickets.discard(request.query["ticket"])
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        outgoing.put_nowait({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A123"}})
        self._sockets.append(outgoing)
        self.retry_unacknowledged()
        sending = asyncio.create_task(self._pump(socket, outgoing))
        try:
            await self._notify()
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    answer = json.loads(message.data)
                    assert answer.keys() <= {"envelope_id", "payload"}
                    self.unacknowledged.pop(answer["envelope_id"])
                    await self._notify()
        finally:
            self._sockets.remove(outgoing)
            sending.cancel()
        return socket

    async def _pump(self, socket: web.WebSocketResponse, outgoing: asyncio.Queue[dict[str, Any]]) -> None:
        while True:
            await socket.send_json(await outgoing.get())

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _error(code: str) -> web.Response:
    return web.json_response({"ok": False, "error": code})


class SlackChats(ChatService):
    chat = "C061EG9SL"
    unknown_chat = "C000"

    def __init__(self, server: SlackService) -> None:
        super().__init__()
        self.server = server
        self._events: dict[str, dict[str, Any]] = {}
        self._event_ids: dict[str, str] = {}

    @property
    def secrets(self) -> tuple[str, ...]:
        return BOT_TOKEN, APP_TOKEN, "ticket-"

    def open(self) -> Channel:
        settings = {"bot_token": "bot", "app_token": "app", "base_url": f"{self.server.url}/api"}
        secrets = KnownSecrets({"bot": BOT_TOKEN, "app": APP_TOKEN})
        return SLACK.open(ChannelTools(self.clock, secrets, settings, read_networks(["127.0.0.0/8"])))

    async def write(self, text: str, *, quoted: str | None = None) -> str:
        ts = self.server.new_ts()
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        event: dict[str, Any] = {
            "type": "message",
            "channel": self.chat,
            "user": "U2147483697",
            "text": escaped,
            "ts": ts,
            "event_ts": ts,
            "channel_type": "channel",
        }
        if quoted is not None:
            event["thread_ts"] = quoted
        self._events[ts] = event
        self._event_ids[ts] = self.server.emit(event)
        return ts

    async def edit(self, message_id: str, text: str) -> None:
        ts = self.server.new_ts()
        changed = {
            "type": "message",
            "user": "U2147483697",
            "text": text,
            "ts": message_id,
            "edited": {"user": "U2147483697", "ts": ts},
        }
        self.server.emit(self._report("message_changed", ts, message=changed))

    async def delete(self, message_id: str) -> None:
        previous = self._events[message_id]
        report = self._report("message_deleted", self.server.new_ts(), deleted_ts=message_id, previous_message=previous)
        self.server.emit(report)

    def _report(self, subtype: str, ts: str, **fields: Any) -> dict[str, Any]:
        own = {"type": "message", "subtype": subtype, "hidden": True, "channel": self.chat, "ts": ts, "event_ts": ts}
        return {**own, **fields}

    async def repeat(self, message_id: str) -> None:
        self.server.emit(self._events[message_id], self._event_ids[message_id])

    async def sent_texts(self) -> list[str]:
        return [text for chat, text in self.server.sent if chat == self.chat]

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
