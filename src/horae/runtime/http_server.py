"""The HTTP API on a socket: uvicorn, fast where it can be, and stopped in good order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ..model.refusals import refuse

if TYPE_CHECKING:
    from fastapi import FastAPI

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 4672
GRACE: Final = 5
"""Seconds that requests have to end when somebody wants the server to stop."""
_BACKLOG: Final = 2_048
_KEEP_ALIVE: Final = 15
LARGEST_HEAD: Final = 32_768
_NEEDED: Final = ("fastapi", "uvicorn")


def check_parts() -> None:
    """Refuses where the libraries of the server are not installed."""
    for library in _NEEDED:
        if find_spec(library) is None:
            raise refuse("missing_part", library=library, extra="server")


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that whoever cannot have the port knows it before anything else is begun. Children get
    it too: what one of them leaves unanswered when it dies, the next one answers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named so that what is accepted here sends without waiting for more.
    line = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.bind((host, port))
        line.listen(_BACKLOG)
        line.set_inheritable(True)
    except OSError:
        line.close()
        raise
    return line


@asynccontextmanager
async def serving(app: FastAPI, line: socket.socket) -> AsyncIterator[str]:
    """The address, for as long as it is served; at the end, requests that are under way may end first."""
    import uvicorn  # noqa: PLC0415 - an extra, and nobody else needs it

    config = uvicorn.Config(app, **_choices())
    config.load()
    server = uvicorn.Server(config)
    # Step by step, and not `serve`: signals belong to whoever started us.
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[line])
    going = asyncio.ensure_future(server.main_loop())
    try:
        yield address_of(line)
    finally:
        server.should_exit = True
        await going
        # Those who listen to events would go on for ever.
        await app.state.context.tail.close()
        await server.shutdown(sockets=[line])


def address_of(line: socket.socket) -> str:
    host, port = line.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _choices() -> dict[str, Any]:
    return {
        "log_config": None,
        "access_log": False,
        "lifespan": "on",
        "ws": "none",
        "http": _protocol(),
        "server_header": False,
        # Anybody can write such headers: who is asking is told by tokens, and an address is that of the connection.
        "proxy_headers": False,
        "backlog": _BACKLOG,
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": GRACE,
        "h11_max_incomplete_event_size": LARGEST_HEAD,
    }


def _protocol() -> Any:
    """The fast one where its library is there."""
    if find_spec("httptools") is None:
        return "h11"
    from .http_protocol import BoundedProtocol  # noqa: PLC0415 - it needs uvicorn

    return BoundedProtocol
