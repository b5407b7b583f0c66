"""TCP connections to database servers: lookup of the host name, and options that notice a lost machine within seconds."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any, Final

IDLE_SECONDS: Final = 5
PROBE_SECONDS: Final = 1
PROBES: Final = 3
UNANSWERED_MILLISECONDS: Final = 8_000
"""Longest wait for the acknowledgement of sent bytes; below the time after which a node without its store stops its runs."""
_OPTIONS: Final = (
    ("TCP_KEEPIDLE", IDLE_SECONDS),
    ("TCP_KEEPINTVL", PROBE_SECONDS),
    ("TCP_KEEPCNT", PROBES),
    ("TCP_USER_TIMEOUT", UNANSWERED_MILLISECONDS),
)


def detect_lost_peer(transport: Any) -> None:
    """Set keepalive probes and the limit of unacknowledged bytes; nothing for a Unix socket, or where an option is missing."""
    connection = None if transport is None else transport.get_extra_info("socket")
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _OPTIONS:
            if (option := getattr(socket, name, None)) is not None:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


async def check_host(host: str, port: int, seconds: float) -> None:
    """Raise OSError if the name is unknown, or if the lookup takes longer than this.

    A driver that gives up during its own lookup abandons it, and uvloop logs the failure of an abandoned lookup.
    """
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise TimeoutError(f"the lookup of its host name took longer than {seconds:g} s") from None
