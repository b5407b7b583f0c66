"""API server in its own process, to be killed by tests: `python server_process.py STORE PORT`; prints its address when ready."""

from __future__ import annotations

import asyncio
import sys

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.runtime.http_server import open_listener, serve_app
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings
from horae.web.request_context import WebSettings


async def main(url: str, port: int) -> None:
    store, clock = make_store(url), SystemClock()
    await store.open()
    service = make_service(url, store, clock, "UTC", TargetKinds(read_settings({})))
    app = make_app(service, clock, WebSettings(expects_engine=False))
    with open_listener("127.0.0.1", port) as listener:
        async with serve_app(app, listener) as base:
            sys.stdout.write(f"{base}\n")
            sys.stdout.flush()
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
