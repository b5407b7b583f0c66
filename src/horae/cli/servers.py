"""Which server a command goes to, if to any, and with which token: said, in the environment, or logged in to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from ..choices import Language
from ..client.connection import Connection, checked_address, is_loopback, refuse_plain_http
from ..client.refusals import refuse as refuse_server
from ..clock import Clock
from ..errors import HoraeError
from . import account_words as words
from .account_refusals import refuse
from .contexts import Context, read_contexts, read_token
from .out import Out
from .session import settings_of

SERVER_VARIABLE: Final = "HORAE_SERVER"
TOKEN_VARIABLE: Final = "HORAE_TOKEN_FILE"  # noqa: S105 - the name of a variable


class Server(NamedTuple):
    """`origin` is who said so: `--server`, the variable, or a context."""

    url: str
    origin: str
    context: Context | None = None


def server_of(out: Out) -> Server | None:
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
        context = contexts.named(said)
        if context is None:
            raise refuse("no_such_context", name=said)
        return Server(context.server, origin, context)
    url = checked_address(said)
    return Server(url, origin, contexts.at(url))


def token_for(server: Server) -> str:
    """That of its context; else one in a file that is named; else, for a server of this very machine, its own first one."""
    if server.context is not None:
        return server.context.token
    named = os.environ.get(TOKEN_VARIABLE, "").strip()
    if named:
        return _from_file(Path(named).expanduser())
    found = kept_token_for(server.url)
    if found is None:
        raise refuse_server("no_token_here", server=server.url)
    return found


def has_token(server: Server) -> bool:
    try:
        return bool(token_for(server))
    except HoraeError:
        return False


def _from_file(path: Path) -> str:
    try:
        return read_token(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "no UTF-8"
        raise refuse("token_file_unreadable", path=path, problem=problem) from None


def kept_token_for(url: str) -> str | None:
    """What `horae up` of this user has kept beside the store, if the server is on this machine."""
    if not is_loopback(url):
        return None
    from ..runtime.choosing import store_url  # noqa: PLC0415 - only where nothing else was said
    from ..runtime.tokens_file import kept_token  # noqa: PLC0415

    settings = settings_of(None)
    return kept_token(store_url(settings), settings.value("key_file"))


def connect(server: Server, clock: Clock, language: Language) -> Connection:
    """A connection with the token of this server; over plain HTTP to another machine only where that was allowed."""
    allowed = plain_http_allowed() or (server.context is not None and server.context.plain_http)
    if not allowed:
        refuse_plain_http(server.url)  # before the token is looked for
    return Connection(server.url, token_for(server), clock, language, plain_http=allowed)


def plain_http_allowed() -> bool:
    return str(settings_of(None).value("plain_http")).strip().lower() in ("on", "true", "yes", "1")


def refuse_server_for(out: Out, command: str) -> None:
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


def note_unused_server(out: Out) -> None:
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
