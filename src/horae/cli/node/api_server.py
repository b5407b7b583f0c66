"""The HTTP API as `horae up` serves it: where it listens, the first token, and what is said of both."""

from __future__ import annotations

import errno
import os
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from ...runtime.http_server import DEFAULT_PORT, check_libraries, open_listener, serve_app
from ...runtime.local_servers import LocalServer, register_server
from ...runtime.stores import has_secret, sqlite_path, without_password
from ...runtime.tokens_file import is_temporary, token_path, write_token
from ...settings import Settings
from ..messages import operating_messages as words
from ..messages.messages import Message
from ..messages.operating_refusals import refuse
from ..output.line_breaks import is_narrow
from ..output.printer import START_LABEL, Printer, shell_lines
from ..output.shown_store import flag_for
from ..output.styled_text import StyledText
from ..output.width import padded, terminal_width
from ..session.open_store import settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from ...app import Horae
    from ...observe.metrics_server import Observability
    from ...service.service import Service
    from .work_order import WorkOrder

_TAKEN: Final = (errno.EADDRINUSE, errno.EACCES)
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_HIGHEST: Final = 65_535


class ListenAddress(NamedTuple):
    """Where the API is to be; `chosen`: somebody asked for exactly that."""

    host: str
    port: int
    chosen: bool


def listen_address(settings: Settings, host: str | None, port: int | None) -> ListenAddress:
    said = str(settings.value("port")).strip()
    if not said.isdecimal() or int(said[:9]) > _HIGHEST:
        raise refuse("port_taken", host="-", port=said, problem="0–65535")
    named = "port" in settings.overrides or port is not None
    return ListenAddress(host or str(settings.value("host")), int(said) if port is None else port, named)


@contextmanager
def opened_door(out: Printer, door: ListenAddress) -> Iterator[socket.socket | None]:
    """The socket; None, and a line that says why, where the usual port is taken or the server is not installed."""
    line = _bound(out, door)
    if line is None:
        yield None
        return
    with line:
        yield line


def _bound(out: Printer, door: ListenAddress) -> socket.socket | None:
    from ...errors import InvalidTask  # noqa: PLC0415 - only what is missing here is forgiven

    try:
        check_libraries()
        return open_listener(door.host, door.port)
    except InvalidTask:
        if door.chosen:
            raise
        tell_none(out, out.translate(words.NOT_INSTALLED))
    except OSError as error:
        if door.chosen or error.errno not in _TAKEN:
            problem = error.strerror or type(error).__name__
            raise refuse("port_taken", host=door.host, port=door.port, problem=problem) from None
        tell_none(out, out.translate(words.PORT_TAKEN, port=door.port))
    return None


def tell_none(out: Printer, because: str) -> None:
    if out.json:
        out.each({"type": "api.off", "because": because})
    else:
        _labelled(out, words.API, out.translate(words.NO_API, because=because))


@asynccontextmanager
async def api_within(order: WorkOrder, app: Horae, looking: Observability) -> AsyncIterator[None]:
    """The API in the process of the engine itself, where no other one could reach the store."""
    if order.door is None:
        yield
        return
    from ...runtime.api_service import open_api  # noqa: PLC0415 - its libraries are extras

    with socket.socket(fileno=os.dup(order.door)) as line:
        async with (
            open_api(app.service, app.clock, settings_of(order.store), engine=True, observability=looking) as api,
            serve_app(api, line) as url,
            announced(order, app.service, app.url, url),
        ):
            yield


@asynccontextmanager
async def announced(order: WorkOrder, service: Service, store: str, url: str) -> AsyncIterator[None]:
    """Make the first token where there is none yet, keep it for this user, list the server, and say how to begin."""
    path = token_path(store, settings_of(order.store).value("key_file"))
    text = await service.tokens.make_first()
    if text is not None:
        write_token(path, text)
    try:
        with register_server(LocalServer(url, path, _store_argument(store))):
            if order.number == 0:
                _tell(order, store, url, path, text)
            yield
    finally:
        # A store on disk outlives this process, and the token file beside it too.
        if is_temporary(store):
            path.unlink(missing_ok=True)


def _store_argument(store: str) -> str:
    """What `--store` takes from any folder, quoted for a shell and without a password."""
    if is_temporary(store):
        return ""
    database = sqlite_path(store)
    if database is not None:
        return shlex.quote(f"sqlite:///{os.path.realpath(database)}")
    # Read by other processes, whose HORAE_STORE may name another store.
    return shlex.quote(without_password(store) if has_secret(store) else store)


def _tell(order: WorkOrder, store: str, url: str, path: Path, text: str | None) -> None:
    out, there = order.out, path.exists()
    if out.json:
        kept = str(path) if there else None
        out.each(
            {
                "type": "api.ready",
                "url": url,
                "docs": f"{url}/docs",
                "token_file": kept,
                "first_start": text is not None,
            }
        )
        return
    _labelled(out, words.API, out.translate(words.API_AT, url=url))
    if text is not None and sys.stdout.isatty():
        _labelled(out, words.TOKEN, out.translate(words.FIRST_TOKEN, path=path))
        out.line(f"  {text}", flush=True)
    elif there:
        _labelled(out, words.TOKEN, out.translate(words.TOKEN_FILE, path=path))
    else:
        command = f"{order.program}{flag_for(store)} token make laptop"
        _labelled(out, words.TOKEN, out.translate(words.TOKENS_THERE, command=command))
    if there:
        _show_request(out, path, url)
    host = url.split("://")[1].rsplit(":", 1)[0].strip("[]")
    if host not in _LOOPBACK:
        _labelled(out, words.API, out.translate(words.NO_TLS, host=host))


def _labelled(out: Printer, label: Message, text: str) -> None:
    out.row(out.translate(label), text, width=START_LABEL, flush=True)


def _show_request(out: Printer, path: Path, url: str) -> None:
    """A request to try, on one line, or on a terminal in as many as it takes."""
    # The token is not an argument of curl: every user of the machine can read those.
    parts = [
        "sed 's/^/Authorization: Bearer /'",
        shlex.quote(str(path)),
        "| curl -sH @-",
        "-H 'Content-Type: application/json'",
        """-d '{"name": "hello", "when": "every 10s", "say": "hello"}'""",
        f"{url}/v1/tasks",
    ]
    if not out.on_terminal:
        out.row(out.translate(words.TRY), " ".join(parts), width=START_LABEL, flush=True)
        return
    narrow = is_narrow(terminal_width())
    indent = 2 if narrow else START_LABEL + 3
    if narrow:
        out.line(("  ", StyledText(out.translate(words.TRY), "dim")), flush=True)
    for number, line in enumerate(shell_lines(parts, terminal_width(), indent)):
        label = "" if number or narrow else f"  {padded(out.translate(words.TRY), START_LABEL)} "
        out.line((StyledText(padded(label, indent), "dim"), line), flush=True, whole=True)


__all__ = ["DEFAULT_PORT", "ListenAddress", "announced", "api_within", "listen_address", "opened_door", "tell_none"]
