"""Nobody can hold or fill the server with what is never looked at: slow bodies, and targets that are only large."""

from __future__ import annotations

import asyncio

import pytest

from horae.runtime import http_protocol
from tests.api.api_server import served

_HALF = (
    b"POST /v1/runs/run_1/callback HTTP/1.1\r\nHost: x\r\nHorae-Callback-Token: x\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)


async def test_a_body_that_never_ends_is_cut_off_and_who_listens_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on what comes in: a stream goes on for as long as there is something to say."""
    monkeypatch.setattr(http_protocol, "BODY_TIMEOUT", 0.2)

    async with served() as api:
        headers = {"Authorization": f"Bearer {api.tokens['ada']}", "Accept": "application/x-ndjson"}
        async with asyncio.timeout(30), api.session.get(f"{api.base}/v1/events", headers=headers) as stream:
            assert await stream.content.readline() == b"\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
            writer.write(_HALF)
            answered = await reader.read()
            assert answered.startswith(b"HTTP/1.1 404"), "the body is not waited for, and the connection is closed"
            writer.close()
            made = await api.made()
            assert made["id"].encode() in await stream.content.readline()


async def test_a_target_is_bounded_like_a_payload() -> None:
    async with served() as api:
        large = "x" * 900_000
        for target in (
            {"function": "f" * 201},
            {"function": large},
            {"target": {"kind": "agent", "prompt": large}},
        ):
            reply = await api.post("/v1/tasks?paused=later", {"name": "x", "when": "every 1h", "zone": "UTC", **target})
            assert (reply.status, reply.code) in ((422, "bad_text"), (422, "payload_too_large"))
        assert (await api.get("/v1/tasks")).json["items"] == []
