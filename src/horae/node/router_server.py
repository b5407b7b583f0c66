"""Router process: serves the router of the map in the settings until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

from ..clock import SystemClock
from ..router.application import RouterApplication
from ..router.deployment_map import DeploymentMap
from ..runtime.http_server import serve_app
from ..web.trusted_proxies import TrustedProxies


async def run_router(
    deployment_map: DeploymentMap,
    trusted: TrustedProxies,
    sockets: tuple[socket.socket, socket.socket | None],
    on_ready: Callable[[str], None],
) -> None:
    """Serve until a signal, and let open requests end. `sockets` are the listening socket, and a unix socket if there is one."""
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    router = RouterApplication(deployment_map, SystemClock(), trusted)
    try:
        async with serve_app(router, *sockets) as url:
            on_ready(url)
            await stop.wait()
    finally:
        await router.close()
