"""HTTP API of a node: its listening socket, its first token, and its entry in the list of local servers."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from ..clock import SystemClock
from ..model.accounts.principal import LOCAL, LOCAL_OWNER
from ..runtime.http_server import check_libraries, open_listener, serve_app
from ..runtime.local_servers import (
    LocalServer,
    browser_address,
    is_temporary,
    register_server,
    store_argument,
    token_path,
    write_token,
)
from ..settings import Settings
from ..store_retry import restart_on_error
from ..wire.accounts import sign_in_url
from .control_socket import SupervisorLink, send_ready
from .heartbeat import run_heartbeat
from .refusals import refuse
from .reports import ApiReady, NodeReports
from .store_file import StoreFile, stop_when_lost
from .supervisor import STORE_LOST

if TYPE_CHECKING:
    from ..app import Horae
    from ..observe.metrics_server import Observability
    from ..web.middleware import Application
    from .options import NodeOptions

_TAKEN: Final = (errno.EADDRINUSE, errno.EACCES)
_MAX_PORT: Final = 65_535
WhyNoApi: TypeAlias = Literal["not_installed", "port_taken"]


class ListenAddress(NamedTuple):
    """Where the API listens; `chosen`: explicitly, so that it is an error if it cannot."""

    host: str
    port: int
    chosen: bool


def listen_address(settings: Settings, host: str | None, port: int | None) -> ListenAddress:
    """Return the address from the command line, else from the settings; raises a refusal for an invalid port."""
    text = str(settings.value("port")).strip()
    if not text.isdecimal() or int(text[:9]) > _MAX_PORT:
        raise refuse("port_taken", host="-", port=text, problem="0–65535")
    is_chosen = "port" in settings.overrides or port is not None
    return ListenAddress(host or str(settings.value("host")), int(text) if port is None else port, is_chosen)


@contextmanager
def open_api_socket(address: ListenAddress, on_none: Callable[[WhyNoApi], None]) -> Iterator[socket.socket | None]:
    """Yield the listening socket; None, after `on_none`, if the default port is taken or the server is not installed."""
    listener = _bind(address, on_none)
    if listener is None:
        yield None
        return
    with listener:
        yield listener


def _bind(address: ListenAddress, on_none: Callable[[WhyNoApi], None]) -> socket.socket | None:
    from ..errors import InvalidTask  # noqa: PLC0415 - caught for missing libraries only

    try:
        check_libraries()
        return open_listener(address.host, address.port)
    except InvalidTask:
        if address.chosen:
            raise
        on_none("not_installed")
    except OSError as error:
        if address.chosen or error.errno not in _TAKEN:
            problem = error.strerror or type(error).__name__
            raise refuse("port_taken", host=address.host, port=address.port, problem=problem) from None
        on_none("port_taken")
    return None


@asynccontextmanager
async def serve_in_worker(
    options: NodeOptions, settings: Settings, app: Horae, observability: Observability, reports: NodeReports
) -> AsyncIterator[None]:
    """Serve the API in the worker process while the block runs, if it has the API's socket."""
    if options.api_socket is None:
        yield
        return
    from ..runtime.agents.channel_webhooks import mounted_webhooks  # noqa: PLC0415
    from ..runtime.api_service import open_api  # noqa: PLC0415 - its libraries are extras

    with socket.socket(fileno=os.dup(options.api_socket)) as listener, _inherited_socket(options) as local:
        async with (
            open_api(app.service, app.clock, settings, engine=True, observability=observability) as api,
            mounted_webhooks(api, settings, app.url),
            serve_app(api, listener, local) as url,
            _registered(settings, api, app.url, (url, local), reports),
        ):
            yield


@contextmanager
def _inherited_socket(options: NodeOptions) -> Iterator[socket.socket | None]:
    """Yield the unix socket of the API, if there is one."""
    if options.api_unix_socket is None:
        yield None
        return
    with socket.socket(fileno=os.dup(options.api_unix_socket)) as local:
        yield local


async def run_api_process(
    options: NodeOptions, settings: Settings, supervisor: SupervisorLink, reports: NodeReports
) -> int:
    """Serve the API until SIGTERM or SIGINT, and let open requests end; returns the exit code."""
    from ..app.garbage_collection import interpreter_tuning  # noqa: PLC0415 - the API's libraries are extras
    from ..observe.metrics_server import EnginePeer  # noqa: PLC0415
    from ..runtime.agents.channel_webhooks import mounted_webhooks  # noqa: PLC0415
    from ..runtime.api_service import open_api, open_service  # noqa: PLC0415
    from ..runtime.observability import make_observability, make_observer, run_observer  # noqa: PLC0415

    url = options.store or ""
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    observer = make_observer("api", SystemClock())
    peers = [EnginePeer(*address, options.metrics_key) for address in options.metrics_addresses]
    observability = make_observability(observer, settings, peers)
    with socket.socket(fileno=options.api_socket) as listener, _inherited_socket(options) as local:
        async with (
            open_service(url, options.zone or "UTC", settings, observer) as (service, clock),
            run_observer(observer, clock),
            open_api(service, clock, settings, engine=options.engine, observability=observability) as app,
            mounted_webhooks(app, settings, url),
            serve_app(app, listener, local) as address,
            _registered(settings, app, url, (address, local), reports),
        ):
            interpreter_tuning.acquire()
            interpreter_tuning.dedicate_process()
            file = StoreFile(url)
            # Next to a worker, that one watches the file and reports its loss.
            watch = partial(stop_when_lost, file, clock, stop, reports.on_store_lost)
            watcher = (
                None
                if options.engine
                else asyncio.ensure_future(restart_on_error("watch over the store's file", watch, clock))
            )
            send_ready(supervisor.control)
            async with run_heartbeat(supervisor.control, options.beat_seconds, clock):
                await stop.wait()
            if watcher is not None:
                watcher.cancel()
    return STORE_LOST if file.is_lost else 0


@asynccontextmanager
async def _registered(
    settings: Settings,
    app: Application,
    store: str,
    listening: tuple[str, socket.socket | None],
    reports: NodeReports,
) -> AsyncIterator[None]:
    """Create the first token if there is none, save it for this user, and list the server while the block runs."""
    url, local = listening
    path = token_path(store, settings.value("key_file"))
    token = await app.context.service.tokens.make_first()
    if token is not None:
        write_token(path, token)
    try:
        with register_server(LocalServer(url, path, store_argument(store), app.console_path is not None)):
            local_path = None if local is None else str(local.getsockname())
            console = await _console_urls(app, url, reports)
            reports.on_api_ready(ApiReady(url, store, path, token, *console, local_path))
            yield
    finally:
        # A store on disk outlives this process, and so does the token file next to it.
        if is_temporary(store):
            path.unlink(missing_ok=True)


async def _console_urls(app: Application, url: str, reports: NodeReports) -> tuple[str | None, str | None]:
    """Return the address of the console and a new sign-in link; None where there is no console, or the link is not shown."""
    if app.console_path is None:
        return None, None
    address = browser_address(url)
    console = f"{address}{app.console_path}/"
    if not reports.shows_sign_in_link:
        return console, None
    link = await app.context.service.sessions.make_link(LOCAL._replace(actor=LOCAL_OWNER, via="cli"))
    return console, sign_in_url(address, link.code)
