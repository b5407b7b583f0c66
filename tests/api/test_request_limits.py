"""Limits on what a client can make the server hold: bodies that never end, and oversized targets."""

from __future__ import annotations

import asyncio

import pytest

from horae.runtime import http_protocol
from tests.api.api_server import serve_api

_HALF = (
    b"POST /v1/runs/run_1/callback HTTP/1.1\r\nHost: x\r\nHorae-Callback-Token: x\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)


async def test_unfinished_body_is_cut_off_and_event_streams_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout applies to the request body only: an event stream stays open."""
    monkeypatch.setattr(http_protocol, "BODY_TIMEOUT", 0.2)

    async with serve_api() as api:
        headers = {"Authorization": f"Bearer {api.tokens['ada']}", "Accept": "application/x-ndjson"}
        async with asyncio.timeout(30), api.session.get(f"{api.base}/v1/events", headers=headers) as stream:
            assert await stream.content.readline() == b"\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
            writer.write(_HALF)
            response = await reader.read()
            assert response.startswith(b"HTTP/1.1 404"), "the body is not waited for, and the connection is closed"
            writer.close()
            made = await api.create_task()
            assert made["id"].encode() in await stream.content.readline()


async def test_oversized_target_is_refused() -> None:
    async with serve_api() as api:
        large = "x" * 900_000
        for target in (
            {"function": "f" * 201},
            {"function": large},
            {"target": {"kind": "event", "topic": large}},
        ):
            reply = await api.post("/v1/tasks?paused=later", {"name": "x", "when": "every 1h", "zone": "UTC", **target})
            assert reply.status == 422
            assert reply.code in ("bad_text", "payload_too_large", "event_topic")
        assert (await api.get("/v1/tasks")).json["items"] == []
