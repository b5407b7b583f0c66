"""Orchestrator on a free loopback port, which queues its requests and answers from a queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class Orchestrator:
    """Orchestrator endpoint that queues its requests and answers from a queue."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[tuple[dict[str, str], Any]] = asyncio.Queue()
        self.answers: asyncio.Queue[tuple[int, str]] = asyncio.Queue()

    async def dispatch(self, request: web.Request) -> web.Response:
        self.requests.put_nowait((dict(request.headers), await request.json()))
        status, text = await self.answers.get()
        return web.Response(status=status, text=text, content_type="application/json")

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/dispatch/execute", self.dispatch)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
        await runner.cleanup()
