"""A deployment that ends connections at bad moments: what the client learns, and how often the deployment was asked."""

from __future__ import annotations

import json
from asyncio import StreamReader, StreamWriter, start_server
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
import pytest

from horae.clock import SystemClock
from horae.router.application import RouterApplication
from horae.router.deployment_map import Deployment, DeploymentMap
from horae.runtime.http_server import open_listener, serve_app

TOKEN: Final = f"horae_{'1' * 32}_{'2' * 64}"
HEADERS: Final = {"Authorization": f"Bearer {TOKEN}"}
_LOCATION: Final = json.dumps({"state": "here", "owner": "user:ada", "is_admin": False, "place": ""}).encode()


class BrokenDeployment:
    """Answers lookups, and ends the connection after it has read any other request; `/half` gets half of a response."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
        method, path = head.decode().split(" ")[:2]
        self.seen[f"{method} {path}"] += 1
        start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        if path == "/internal/credential-lookup":
            writer.write(start % len(_LOCATION) + _LOCATION)
        elif path == "/half":
            writer.write(start % 100 + b"{")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def routed(broken: BrokenDeployment) -> AsyncIterator[aiohttp.ClientSession]:
    async with await start_server(broken.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        north = Deployment("north", f"http://127.0.0.1:{port}")
        router = RouterApplication(DeploymentMap({"north": north}, {}, "north"), SystemClock())
        try:
            with open_listener("127.0.0.1", 0) as listener:
                async with serve_app(router, listener) as base, aiohttp.ClientSession(base) as session:
                    yield session
        finally:
            await router.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_request_that_may_change_something_is_sent_once(method: str) -> None:
    broken = BrokenDeployment()
    async with routed(broken) as session, session.request(method, "/v1/x", headers=HEADERS, data=b"{}") as response:
        assert (response.status, (await response.json())["code"]) == (502, "deployment_answer_lost")
    assert broken.seen[f"{method} /v1/x"] == 1


async def test_safe_request_is_sent_once_more() -> None:
    broken = BrokenDeployment()
    async with routed(broken) as session, session.get("/v1/x", headers=HEADERS) as response:
        assert (response.status, (await response.json())["code"]) == (503, "deployment_unavailable")
        assert "Retry-After" in response.headers
    assert broken.seen["GET /v1/x"] == 2


async def test_half_of_a_response_is_not_a_whole_one() -> None:
    async with routed(BrokenDeployment()) as session, session.get("/half", headers=HEADERS) as response:
        assert response.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_credential_is_looked_up_once_and_its_secret_stays() -> None:
    broken = BrokenDeployment()
    async with routed(broken) as session:
        for _ in range(3):
            async with session.get("/v1/x", headers=HEADERS):
                pass
    assert broken.seen["POST /internal/credential-lookup"] == 1
