"""An ASGI application under uvicorn on a free loopback port, as users serve it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import uvicorn

from horae.clock import SystemClock
from horae.runtime.http_server import open_listener


@asynccontextmanager
async def serve_application(app: Any) -> AsyncIterator[str]:
    """Serve an application with its access log; yields the address."""
    clock = SystemClock()
    with open_listener("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=True, lifespan="on"))
        server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        try:
            while not server.started:
                assert not serving.done()
                await clock.pause(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
