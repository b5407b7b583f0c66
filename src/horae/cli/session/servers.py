"""Chooses the server and the token of a command: from an option, the environment, a context, or a local `horae up`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from ...client.connection import Connection, check_address, is_loopback, refuse_plain_http, unix_path
from ...client.refusals import refuse as refuse_server
from ...clock import Clock
from ...errors import HoraeError, NotAuthenticated
from ...settings import Settings
from ..messages import account_messages as words
from ..messages.account_refusals import refuse, refuse_token
from ..output.printer import Printer
from .contexts import Context, read_contexts, read_token

if TYPE_CHECKING:
    from ...runtime.local_servers import LocalServer

SERVER_VARIABLE: Final = "HORAE_SERVER"
TOKEN_VARIABLE: Final = "HORAE_TOKEN_FILE"  # noqa: S105 - the name of a variable
_BAD_TOKEN: Final = "bad_token"  # noqa: S105 - a code


class Server(NamedTuple):
    """`origin` is `--server`, the variable, or a context. `by_name`: the context was chosen by its name."""

    url: str
    origin: str
    context: Context | None = None
    by_name: bool = False


def server_of(out: Printer) -> Server | None:
    """Return the server of a command; None: it works on a store.

    At a router, an owner that the command names chooses the context of its deployment, unless a context was named.

    Precedence: `--server`, `--store`, the environment, the store of a settings file, the context in use.
    """
    server = _chosen_server(out)
    return server if server is None or out.named_owner is None else _for_owner(out, server, out.named_owner)


def _for_owner(out: Printer, server: Server, owner: str) -> Server:
    """Return the server with the context of the owner's deployment, where the server is a router and the map is known."""
    here = server.context
    if here is None or server.by_name or not here.deployment or here.owner == owner or not out.settings.deployments:
        return server
    from ...router.deployment_map import read_deployment_map  # noqa: PLC0415 - only where there is a map

    deployment = read_deployment_map(out.settings, plain_http=True).deployment_of(owner).name
    if here.deployment == deployment:
        return server
    found = read_contexts().find_deployment(server.url, deployment)
    if found is None:
        raise refuse("no_context_of_deployment", owner=owner, deployment=deployment, server=server.url)
    return Server(server.url, f"context {found.name}", found, by_name=True)


def _chosen_server(out: Printer) -> Server | None:
    if out.server is not None:
        return _resolve(out.server, "--server")
    if out.store is not None:
        return None
    value = os.environ.get(SERVER_VARIABLE, "").strip()
    if value:
        return _resolve(value, SERVER_VARIABLE)
    if out.settings.value("store") is not None or out.settings.value("redis_addr") is not None:
        return None
    context = read_contexts().in_use
    return None if context is None else Server(context.server, f"context {context.name}", context)


def _resolve(value: str, origin: str) -> Server:
    """Return the server of an address, or of the name of a context."""
    contexts = read_contexts()
    if "://" not in value and unix_path(value) is None:
        context = contexts.find(value)
        if context is None:
            raise refuse("no_such_context", name=value)
        return Server(context.server, origin, context, by_name=True)
    url = check_address(value)
    return Server(url, origin, contexts.find_server(url))


class FoundToken(NamedTuple):
    """A token with its origin (`context`, `variable`, `file`), the address that it is sent to, and the store of that server."""

    text: str
    origin: str
    url: str
    place: str = ""
    store: str = ""

    def __repr__(self) -> str:
        return f"FoundToken({self.origin!r}, {self.url!r})"


def token_for(server: Server) -> FoundToken:
    """Return the token of a context that was chosen by its name; else of the file that the variable names; else of a context
    of this address; else of a local `horae up` at exactly this address. Raises a refusal if there is none."""
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
    """Return the file that `HORAE_TOKEN_FILE` names, if its token is used for this server."""
    named = os.environ.get(TOKEN_VARIABLE, "").strip()
    return Path(named).expanduser() if named and not server.by_name else None


def token_origin(server: Server) -> str:
    """Return where the token for this server comes from, as `horae config` shows it."""
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
    """Return the server of this user at this address of this machine."""
    if not is_loopback(url):
        return None
    from ...runtime.local_servers import find_server  # noqa: PLC0415 - only for addresses of this machine

    return find_server(url)


def find_local_token(url: str) -> FoundToken | None:
    """Return the token that this user's `horae up` at this address has written next to its store."""
    local = find_local(url)
    text = None if local is None else local.read_token()
    if local is None or text is None:
        return None
    # `localhost` may resolve to another program first, so the token is sent to the registered address.
    return FoundToken(text, "file", local.url, str(local.token_file), local.store)


@asynccontextmanager
async def connect(server: Server, clock: Clock, out: Printer) -> AsyncIterator[Connection]:
    """Yield a connection with the token of this server; plain HTTP to another machine must be allowed.

    If the server refuses the token, the refusal names its origin and a command that gets a valid one.
    """
    allowed = is_plain_http_allowed(out.settings) or (server.context is not None and server.context.plain_http)
    if not allowed:
        refuse_plain_http(server.url)  # before the token is read
    token = token_for(server)
    connection = Connection(token.url, token.text, clock, out.language, plain_http=allowed)
    try:
        yield connection
    except NotAuthenticated as refusal:
        if refusal.code != _BAD_TOKEN:
            raise
        raise explain_refused_token(token, server.context) from None
    finally:
        await connection.close()


def explain_refused_token(token: FoundToken, context: Context | None = None) -> HoraeError:
    """Return the refusal of this token, with a command that replaces it."""
    login = f"horae login {quote(token.url)}"
    if context is not None:
        login += f" --name {quote(context.name)}" + (" --plain-http" if context.plain_http else "")
    facts = {"context": token.place} if token.origin == "context" else {"path": token.place}
    return refuse_token(token.origin, server=token.url, store=token.store, login=login, **facts)


def is_plain_http_allowed(settings: Settings) -> bool:
    return str(settings.value("plain_http")).strip().lower() in ("on", "true", "yes", "1")


def refuse_server_for(out: Printer, command: str) -> None:
    """Refuse a command that needs a store, if a server is chosen; the hint tells how to choose the store."""
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
    """Note that a chosen server has no effect on a node, which always works on a store."""
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
