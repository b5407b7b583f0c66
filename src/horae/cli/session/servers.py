"""Which server a command goes to, if to any, and with which token: said, in the environment, or logged in to."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from ...choices import Language
from ...client.connection import Connection, check_address, is_loopback, refuse_plain_http
from ...client.refusals import refuse as refuse_server
from ...clock import Clock
from ...errors import HoraeError, NotAuthenticated
from ..messages import account_messages as words
from ..messages.account_refusals import refuse, refuse_token
from ..output.printer import Printer
from .contexts import Context, read_contexts, read_token
from .open_store import settings_of

if TYPE_CHECKING:
    from ...runtime.local_servers import LocalServer

SERVER_VARIABLE: Final = "HORAE_SERVER"
TOKEN_VARIABLE: Final = "HORAE_TOKEN_FILE"  # noqa: S105 - the name of a variable
_BAD_TOKEN: Final = "bad_token"  # noqa: S105 - a code


class Server(NamedTuple):
    """`origin` is who said so: `--server`, the variable, or a context. `by_name`: the context was chosen by its name."""

    url: str
    origin: str
    context: Context | None = None
    by_name: bool = False


def server_of(out: Printer) -> Server | None:
    """`--server`, then `--store`, then the environment, then a file's store, then the context in use; None: a store."""
    if out.server is not None:
        return _named(out.server, "--server")
    if out.store is not None:
        return None
    said = os.environ.get(SERVER_VARIABLE, "").strip()
    if said:
        return _named(said, SERVER_VARIABLE)
    if settings_of(None).value("store") is not None:
        return None
    context = read_contexts().in_use
    return None if context is None else Server(context.server, f"context {context.name}", context)


def _named(said: str, origin: str) -> Server:
    """An address, or the name of a context."""
    contexts = read_contexts()
    if "://" not in said:
        context = contexts.find(said)
        if context is None:
            raise refuse("no_such_context", name=said)
        return Server(context.server, origin, context, by_name=True)
    url = check_address(said)
    return Server(url, origin, contexts.find_server(url))


class FoundToken(NamedTuple):
    """A token with its origin (`context`, `variable`, `file`), the address that it goes to, and the store behind it."""

    text: str
    origin: str
    url: str
    place: str = ""
    store: str = ""

    def __repr__(self) -> str:
        return f"FoundToken({self.origin!r}, {self.url!r})"


def token_for(server: Server) -> FoundToken:
    """From a context that was chosen by its name; else from the file that the variable names; else from a context of this
    address; else the one that `horae up` keeps for exactly this address."""
    local = find_local(server.url)
    store = "" if local is None else local.store
    path = token_file_of(server)
    if path is not None:
        return FoundToken(_from_file(path), "variable", server.url, str(path), store)
    if server.context is not None:
        return FoundToken(server.context.token, "context", server.url, server.context.name, store)
    found = find_local_token(server.url)
    if found is None:
        raise refuse_server("no_token_here", server=server.url)
    return found


def token_file_of(server: Server) -> Path | None:
    """The file that `HORAE_TOKEN_FILE` names, where its token is the one for this server."""
    named = os.environ.get(TOKEN_VARIABLE, "").strip()
    return Path(named).expanduser() if named and not server.by_name else None


def token_origin(server: Server) -> str:
    """Where the token for this server comes from, as `horae config` shows it."""
    if token_file_of(server) is not None:
        return TOKEN_VARIABLE
    return server.origin if server.context is None else f"context {server.context.name}"


def has_token(server: Server) -> bool:
    try:
        return bool(token_for(server).text)
    except HoraeError:
        return False


def _from_file(path: Path) -> str:
    try:
        return read_token(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "no UTF-8"
        raise refuse("token_file_unreadable", path=path, problem=problem) from None


def find_local(url: str) -> LocalServer | None:
    """The server that this user runs on this machine under this address."""
    if not is_loopback(url):
        return None
    from ...runtime.local_servers import find_server  # noqa: PLC0415 - only for addresses of this machine

    return find_server(url)


def find_local_token(url: str) -> FoundToken | None:
    """The token that `horae up` of this user keeps beside the store of the server at this address."""
    local = find_local(url)
    text = None if local is None else local.read_token()
    if local is None or text is None:
        return None
    # `localhost` may lead to another program first, so the token goes to the registered address.
    return FoundToken(text, "file", local.url, str(local.token_file), local.store)


@asynccontextmanager
async def connect(server: Server, clock: Clock, language: Language) -> AsyncIterator[Connection]:
    """A connection with the token of this server; over plain HTTP to another machine only where that was allowed.

    Where the server refuses the token, the refusal says where the token came from and how to get a valid one.
    """
    allowed = is_plain_http_allowed() or (server.context is not None and server.context.plain_http)
    if not allowed:
        refuse_plain_http(server.url)  # before the token is looked for
    token = token_for(server)
    connection = Connection(token.url, token.text, clock, language, plain_http=allowed)
    try:
        yield connection
    except NotAuthenticated as refusal:
        if refusal.code != _BAD_TOKEN:
            raise
        raise explain_refused_token(token, server.context) from None
    finally:
        await connection.close()


def explain_refused_token(token: FoundToken, context: Context | None = None) -> HoraeError:
    """The refusal of this token, with a command that replaces it."""
    login = f"horae login {quote(token.url)}"
    if context is not None:
        login += f" --name {quote(context.name)}" + (" --plain-http" if context.plain_http else "")
    facts = {"context": token.place} if token.origin == "context" else {"path": token.place}
    return refuse_token(token.origin, server=token.url, store=token.store, login=login, **facts)


def is_plain_http_allowed() -> bool:
    return str(settings_of(None).value("plain_http")).strip().lower() in ("on", "true", "yes", "1")


def refuse_server_for(out: Printer, command: str) -> None:
    """For commands about a store: refuse where other commands go to a server, with the way back to the store."""
    server = server_of(out)
    if server is None:
        return
    if out.server is not None:
        raise refuse("only_here", command=command, server=server.url)
    if server.origin == SERVER_VARIABLE:
        raise refuse("only_here_variable", command=command, server=server.url)
    name = "" if server.context is None else server.context.name
    raise refuse("only_here_context", command=command, server=server.url, context=name)


def note_unused_server(out: Printer) -> None:
    """For nodes, which always work on a store: say in one line that other commands go to a server."""
    try:
        server = server_of(out)
    except HoraeError:  # a node does not need it
        return
    if server is None:
        return
    if server.origin == SERVER_VARIABLE:
        out.note(words.SERVER_NOT_USED, server=server.url)
    else:
        out.note(
            words.CONTEXT_NOT_USED, server=server.url, context="" if server.context is None else server.context.name
        )
