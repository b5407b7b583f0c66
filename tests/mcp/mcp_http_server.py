"""The HTTP door as tests use it: the real application on a real port, real tokens, the protocol's own client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import aiohttp
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.encryption import Key
from horae.mcp_server.http import PATH, mount
from horae.model.accounts.principal import LOCAL, Role
from horae.runtime.http_server import serve_app
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.stores.memory import MemoryStore
from horae.web.request_context import WebSettings
from tests.mcp.tool_client import ZONE, Desk

JSON_RPC = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Watched(SystemClock):
    """Knows when somebody waits here, and when nobody does any more."""

    def __init__(self) -> None:
        self.waited_for = asyncio.Event()
        self.left_alone = asyncio.Event()
        self._waiting = 0

    async def pause(self, seconds: float) -> None:
        self._waiting += 1
        self.waited_for.set()
        self.left_alone.clear()
        try:
            # Longer than any test takes: whoever is waiting ends because they are called off.
            await super().pause(max(seconds, 50))
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.left_alone.set()


class Door:
    def __init__(self, service: Service, url: str, clock: Watched) -> None:
        self.service = service
        self.url = url
        self.clock = clock

    async def token(self, owner: str, *, agent: str | None = None, role: Role = Role.MEMBER) -> str:
        await self.service.accounts.put(LOCAL, owner, role=role, zone=ZONE)
        return (await self.service.tokens.make(LOCAL, owner=owner, name="test", agent=agent))[1]

    @asynccontextmanager
    async def desk(self, token: str, *, mode: str = "auto", **headers: str) -> AsyncIterator[Desk]:
        sent = {"Authorization": f"Bearer {token}", **headers}
        async with (
            create_mcp_http_client(headers=sent) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield Desk(client)

    async def post(self, body: Any, token: str | None, **headers: str) -> tuple[int, dict[str, str], Any]:
        """One request as it is: status, headers, and what came as JSON."""
        sent = JSON_RPC | ({} if token is None else {"Authorization": f"Bearer {token}"}) | headers
        data = BytesIO(body) if isinstance(body, bytes) else None
        shape = None if isinstance(body, bytes) else body
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url, data=data, json=shape, headers=sent) as answer,
        ):
            kind = answer.headers.get("content-type", "")
            return answer.status, dict(answer.headers), await answer.json(content_type=None) if "json" in kind else None

    async def get(self, token: str | None) -> int:
        headers = JSON_RPC | ({} if token is None else {"Authorization": f"Bearer {token}"})
        async with aiohttp.ClientSession() as session, session.get(self.url, headers=headers) as answer:
            return answer.status


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    """A call as it goes over the wire, in the words of the older protocol."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@asynccontextmanager
async def opened(settings: WebSettings | None = None) -> AsyncIterator[Door]:
    store, clock = MemoryStore(), Watched()
    service = Service(store, clock, "UTC", SecretVault(store, Key.random(), clock))
    app = make_app(service, clock, settings)
    # It listens before the server is there: whoever comes early waits, and nobody has to look whether it has begun.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with mount(app, service, clock), serve_app(app, listening) as address:
            yield Door(service, f"{address}{PATH}", clock)
