"""Connections beyond a rate limit: the channel waits as long as the service asks for, and then connects; none gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from horae.testing.contracts.channels import ChatService, RecordingListener
from horae.testing.contracts.channels.harness import end
from tests.channels.feishu_service import FeishuChats, FeishuService
from tests.channels.slack_service import SlackChats, SlackService
from tests.channels.telegram_service import TelegramChats, TelegramService
from tests.channels.whatsapp_service import WhatsAppChats, WhatsAppService


def answer(status: int, document: dict[str, Any], **headers: str) -> Callable[[], web.Response]:
    return lambda: web.json_response(
        document, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


LIMITED = {
    "telegram": (
        TelegramService,
        TelegramChats,
        answer(429, {"ok": False, "error_code": 429, "description": "Too Many", "parameters": {"retry_after": 7}}),
        7,
    ),
    "slack": (SlackService, SlackChats, answer(429, {"ok": False, "error": "ratelimited"}, Retry_After="7"), 7),
    "whatsapp, by the app": (
        WhatsAppService,
        WhatsAppChats,
        answer(403, {"error": {"code": 4, "message": "(#4) Application request limit reached"}}),
        30,
    ),
    "whatsapp, with a delay": (
        WhatsAppService,
        WhatsAppChats,
        answer(429, {"error": {"code": 80007, "message": "Rate limit hit"}}, Retry_After="7"),
        7,
    ),
    "feishu": (
        FeishuService,
        FeishuChats,
        answer(400, {"code": 99991400, "msg": "request trigger frequency limit"}, x_ogw_ratelimit_reset="7"),
        7,
    ),
}


@pytest.mark.parametrize("name", LIMITED)
async def test_limited_connection_waits_as_long_as_the_service_asks(name: str) -> None:
    make_server, make_chats, refusal, seconds = LIMITED[name]
    server: Any = await make_server().start()
    try:
        service: ChatService = make_chats(server)
        server.first_answers = [refusal(), refusal()]
        listener = RecordingListener()
        channel = service.open()
        service.attach(channel)
        connection = asyncio.ensure_future(channel.connect(listener))
        try:
            await listener.wait_connected()
            failed = [state for state in listener.states if not state.is_connected]
            assert [state.retry_in for state in failed] == [timedelta(seconds=seconds)] * 2
            assert service.clock.pauses[:2] == [seconds, seconds]
        finally:
            await end(connection)
            await channel.aclose()
    finally:
        await server.close()
