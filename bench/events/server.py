"""The API in its own process, until its standard input is closed."""

from __future__ import annotations

import asyncio
import json
import sys

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.node.event_loop import run_fast
from horae.runtime.http_server import open_listener, serve_app
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings
from horae.web.request_context import WebSettings


async def serve(url: str) -> None:
    store, clock = make_store(url), SystemClock()
    await store.open()
    service = make_service(url, store, clock, "UTC", TargetKinds(read_settings({})))
    token = await service.tokens.make_first()
    app = make_app(service, clock, WebSettings(expects_engine=False, max_streams=10_000))
    with open_listener("127.0.0.1", 0) as line:
        async with serve_app(app, line) as base:
            sys.stdout.write(json.dumps({"base": base, "token": token}) + "\n")
            sys.stdout.flush()
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await store.close()


if __name__ == "__main__":
    run_fast(serve(sys.argv[1]))
