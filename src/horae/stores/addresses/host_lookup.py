"""Lookup of a server's host name before a driver connects to it."""

from __future__ import annotations

import asyncio
import socket


async def check_host(host: str, port: int, seconds: float) -> None:
    """Raise OSError if the name is unknown, or if the lookup takes longer than this.

    A driver that gives up during its own lookup abandons it, and uvloop logs the failure of an abandoned lookup.
    """
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise TimeoutError(f"the lookup of its host name took longer than {seconds:g} s") from None
