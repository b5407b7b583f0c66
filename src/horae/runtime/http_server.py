"""Runs the HTTP API with uvicorn on a bound socket, with graceful shutdown."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..model.refusals import refuse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 4672
SHUTDOWN_GRACE: Final = 5
"""Seconds that open requests have to end at shutdown."""
_BACKLOG: Final = 2_048
_KEEP_ALIVE: Final = 15
MAX_HEAD_BYTES: Final = 32_768
_REQUIRED_LIBRARIES: Final = ("starlette", "uvicorn", "pydantic_core")


def check_libraries() -> None:
    """Raise a refusal if the libraries of the server are not installed."""
    for library in _REQUIRED_LIBRARIES:
        if find_spec(library) is None:
            raise refuse("missing_part", library=library, extra="server")


def open_listener(host: str, port: int) -> socket.socket:
    """Open a listening socket; raises `OSError` for a taken port before anything else starts.

    Child processes inherit it: connections that a dead one left in the backlog are accepted by the next.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The explicit protocol lets asyncio set TCP_NODELAY on accepted connections.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.set_inheritable(True)
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def open_unix_listener(path: Path) -> Iterator[socket.socket]:
    """Yield a listening socket at a path that only this user may connect to; its file is removed at the end.

    A file of a dead process is replaced; one on which a process listens, and a file of another kind, are refused.
    """
    _remove_stale_socket(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener:
        mask = os.umask(0o177)  # the file must never be open to others, not even before a chmod
        try:
            listener.bind(str(path))
            own = path.lstat()
        except OSError as error:
            raise refuse("socket_unusable", path=path, problem=error.strerror or str(error)) from None
        finally:
            os.umask(mask)
        listener.listen(_BACKLOG)
        listener.set_inheritable(True)
        try:
            yield listener
        finally:
            with suppress(OSError):
                if os.path.samestat(path.lstat(), own):
                    path.unlink()


def _remove_stale_socket(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise refuse("socket_unusable", path=path, problem=error.strerror or str(error)) from None
    if not stat.S_ISSOCK(mode):
        raise refuse("socket_unusable", path=path, problem="it is a file of another kind")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                path.unlink()
            return
        except OSError as error:
            raise refuse("socket_unusable", path=path, problem=error.strerror or str(error)) from None
    raise refuse("socket_unusable", path=path, problem="another process listens on it")


class ServedApplication(Protocol):
    """An ASGI application that can end its event streams, which would never end by themselves."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def close_streams(self) -> None: ...


@asynccontextmanager
async def serve_app(
    app: ServedApplication, listener: socket.socket, local: socket.socket | None = None
) -> AsyncIterator[str]:
    """Serve the app while the block runs and yield its address; on exit, open requests may end first.

    `local` is a unix socket that it listens on too, with the same authentication.
    """
    import uvicorn  # noqa: PLC0415 - an extra

    config = uvicorn.Config(app, **_uvicorn_options())
    config.load()
    server = uvicorn.Server(config)
    # Step by step instead of `serve`, which would install signal handlers: the caller handles signals.
    server.lifespan = config.lifespan_class(config)
    sockets = [listener, *([] if local is None else [local])]
    await server.startup(sockets=sockets)
    main_loop = asyncio.ensure_future(server.main_loop())
    try:
        yield address_of(listener)
    finally:
        # Its loop only updates the date of answers, and would notice the end at its next tick.
        server.should_exit = True
        main_loop.cancel()
        await asyncio.wait([main_loop])
        await app.close_streams()
        await server.shutdown(sockets=sockets)


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _uvicorn_options() -> dict[str, Any]:
    return {
        "log_config": None,
        "access_log": False,
        "lifespan": "on",
        **_websocket_options(),
        "http": _protocol(),
        "server_header": False,
        # Clients can forge these headers: callers are identified by tokens, addresses by the connection.
        "proxy_headers": False,
        "backlog": _BACKLOG,
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": SHUTDOWN_GRACE,
        "h11_max_incomplete_event_size": MAX_HEAD_BYTES,
    }


def _websocket_options() -> dict[str, Any]:
    """Return the options of WebSockets; without their library, a request for one is answered as an ordinary one."""
    if find_spec("wsproto") is None:
        return {"ws": "none"}
    from .websocket_protocol import websocket_options  # noqa: PLC0415 - it needs uvicorn

    return websocket_options()


def _protocol() -> Any:
    """Return the httptools protocol with limits where it is installed, else h11."""
    if find_spec("httptools") is None:
        return "h11"
    from .http_protocol import BoundedProtocol  # noqa: PLC0415 - it needs uvicorn

    return BoundedProtocol
