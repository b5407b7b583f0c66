"""`/mcp` of the real application on a free port, with real tokens and the protocol's own client."""

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
from tests.mcp.tool_client import ZONE, ToolClient

JSON_RPC = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class WaitCountingClock(SystemClock):
    """Clock with an event for the first waiter and one for the moment when no waiter is left."""

    def __init__(self) -> None:
        self.has_waiter = asyncio.Event()
        self.has_no_waiter = asyncio.Event()
        self._waiting = 0

    async def pause(self, seconds: float) -> None:
        self._waiting += 1
        self.has_waiter.set()
        self.has_no_waiter.clear()
        try:
            # Longer than any test: a waiter ends only by cancellation.
            await super().pause(max(seconds, 50))
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.has_no_waiter.set()


class McpHttpServer:
    def __init__(self, service: Service, url: str, clock: WaitCountingClock) -> None:
        self.service = service
        self.url = url
        self.clock = clock

    async def create_token(self, owner: str, *, agent: str | None = None, role: Role = Role.MEMBER) -> str:
        await self.service.accounts.put(LOCAL, owner, role=role, zone=ZONE)
        return (await self.service.tokens.make(LOCAL, owner=owner, name="test", agent=agent))[1]

    @asynccontextmanager
    async def connect(self, token: str, *, mode: str = "auto", **headers: str) -> AsyncIterator[ToolClient]:
        sent = {"Authorization": f"Bearer {token}", **headers}
        async with (
            create_mcp_http_client(headers=sent) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield ToolClient(client)

    async def post(self, body: Any, token: str | None, **headers: str) -> tuple[int, dict[str, str], Any]:
        """Send one raw request; return the status, the headers and the JSON body."""
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


def tool_call(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a `tools/call` message of the older protocol."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@asynccontextmanager
async def serve_mcp(settings: WebSettings | None = None) -> AsyncIterator[McpHttpServer]:
    store, clock = MemoryStore(), WaitCountingClock()
    service = Service(store, clock, "UTC", SecretVault(store, Key.random(), clock))
    app = make_app(service, clock, settings)
    # The socket listens before the server starts: early clients wait in its backlog, so no test polls for the start.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with mount(app, service, clock), serve_app(app, listening) as address:
            yield McpHttpServer(service, f"{address}{PATH}", clock)
