"""`horae login` and `horae context`: stored servers with their tokens, and the one that commands use."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click

from ....client.connection import Connection, check_address, is_encrypted, is_loopback, refuse_plain_http, unix_path
from ....client.service import RemoteService, TokenIdentity
from ....clock import SystemClock
from ....errors import NotAuthenticated
from ....version import __version__
from ...command import Command, CommandGroup
from ...messages import account_messages as words
from ...messages.account_refusals import refuse
from ...output.printer import Printer
from ...output.styled_text import replace_unprintable
from ...session.contexts import Context, read_contexts, read_token, token_from_input, write_contexts
from ...session.interruptible import run_interruptible
from ...session.servers import (
    FoundToken,
    Server,
    explain_refused_token,
    find_local,
    find_local_token,
    is_plain_http_allowed,
    token_file_of,
)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NONE: Final = "none"


context_commands: Final = CommandGroup("context", help="Choose the server that commands go to.")


@click.command("login", cls=Command)
@click.argument("url", metavar="URL", help="https://horae.example.org")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.option("--name", help="Name of the server on this machine. Default: its host.")
@click.option("--plain-http", is_flag=True, help="Allow http:// to another machine: others can read the token.")
def login(out: Printer, *, url: str, token_stdin: bool, name: str | None, plain_http: bool) -> None:
    """Log in to a server; commands go there from now on."""
    server = check_address(url)
    if not (plain_http or is_plain_http_allowed(out.settings)):
        refuse_plain_http(server)
    if name is not None:
        _check_name(name)
    token, (found, server_version, deployment) = _authenticate(out, server, piped=token_stdin)
    chosen = _check_name(_default_name(server, deployment if found.admin else "")) if name is None else name
    server = token.url
    write_contexts(read_contexts().add(Context(chosen, server, token.text, found.owner, plain_http, deployment)))
    if out.json:
        out.data(_shape(chosen, server, found))
    elif out.quiet:
        out.ids([chosen])
    else:
        out.line(("✓ ", out.translate(words.LOGGED_IN, server=server, owner=found.owner, name=chosen)))
    if token_file_of(Server(server, "")) is not None:
        out.note(words.TOKEN_FILE_WINS)
    if not is_encrypted(server) and not is_loopback(server):
        out.note(words.IN_CLEAR)
    if server_version not in (None, __version__):
        out.note(words.OTHER_VERSION, theirs=server_version, ours=__version__)


class _Identified(NamedTuple):
    """What a server reports for a token; `deployment` is empty where the server is no router."""

    identity: TokenIdentity
    version: str | None
    deployment: str


def _authenticate(out: Printer, server: str, *, piped: bool) -> tuple[FoundToken, _Identified]:
    """Return a token that the server accepts: from standard input, else the stored one of a local server, else typed."""
    kept = None if piped else find_local_token(server)
    if kept is not None:
        try:
            return kept, run_interruptible(_identify(out, kept))
        except NotAuthenticated:
            if not out.asks:
                raise
    text = token_from_input() if piped else _prompt_for_token(out, server)
    local = find_local(server)
    token = FoundToken(text, "given", server, store="" if local is None else local.store)
    return token, run_interruptible(_identify(out, token))


async def _identify(out: Printer, token: FoundToken) -> _Identified:
    """Return the identity, version and deployment that the server reports for this token; an invalid token is refused."""
    clock = SystemClock()
    connection = Connection(token.url, token.text, clock, out.language, plain_http=True)  # checked before
    try:
        identity = await RemoteService(connection, clock, "UTC").whoami()
        deployment = connection.deployment
        return _Identified(identity, await connection.version(), deployment)
    except NotAuthenticated:
        raise explain_refused_token(token) from None
    finally:
        await connection.close()


def _prompt_for_token(out: Printer, server: str) -> str:
    if not out.asks:
        raise refuse("no_token_given")
    from getpass import getpass  # noqa: PLC0415 - only for an interactive prompt

    return read_token(getpass(replace_unprintable(out.translate(words.TOKEN_OF, server=server)), stream=sys.stderr))


def _default_name(server: str, deployment: str) -> str:
    """Return the host; an admin behind a router has one context for each deployment."""
    name = _host_name(server)
    return f"{name}-{deployment}" if deployment else name


def _host_name(server: str) -> str:
    path = unix_path(server)
    if path is not None:
        return Path(path).stem
    parts = urlsplit(server)
    host = (parts.hostname or "").replace(":", "-").strip("-")
    return host if parts.port is None else f"{host}-{parts.port}"


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None or name == _NONE:
        raise refuse("bad_context_name", name=name)
    return name


def _shape(name: str, server: str, found: TokenIdentity) -> dict[str, Any]:
    return {
        "name": name,
        "server": server,
        "owner": found.owner,
        "admin": found.admin,
        "scopes": list(found.scopes),
        "agent": found.agent,
    }


@context_commands.command("ls")
def ls(out: Printer) -> None:
    """List the servers that you have logged in to."""
    contexts = read_contexts()
    if out.json:
        out.data([_context_json(each, current=each.name == contexts.current) for each in contexts.known])
    elif out.quiet:
        out.ids([each.name for each in contexts.known])
    elif contexts.known:
        rows = [
            ["*" if each.name == contexts.current else "", each.name, each.server, each.owner]
            for each in contexts.known
        ]
        out.table(out.translate(words.CONTEXT_TITLES).split("|"), rows)
    if not contexts.known:
        out.note(words.NO_CONTEXTS)


def _context_json(context: Context, *, current: bool) -> dict[str, Any]:
    return {"name": context.name, "server": context.server, "owner": context.owner, "current": current}


@context_commands.command("use")
@click.argument("context", metavar="NAME|none", help="none: commands go to a store.")
def use(out: Printer, *, context: str) -> None:
    """Choose the server that commands go to."""
    contexts = read_contexts()
    if context == _NONE:
        write_contexts(contexts.select(None))
        _show_current(out, None, out.translate(words.USING_NONE))
        return
    found = _find_context(context)
    write_contexts(contexts.select(context))
    _show_current(out, found, out.translate(words.USING, server=found.server, name=context))


@context_commands.command("rm")
@click.argument("context", metavar="NAME")
def remove(out: Printer, *, context: str) -> None:
    """Forget a server and the token for it."""
    found = _find_context(context)
    write_contexts(read_contexts().remove(context))
    if out.json:
        out.data({"removed": context})
    elif not out.quiet:
        out.line(("✓ ", out.translate(words.CONTEXT_GONE, name=found.name)))
        out.note(words.TOKEN_STAYS)


def _find_context(name: str) -> Context:
    found = read_contexts().find(name)
    if found is None:
        raise refuse("no_such_context", name=name)
    return found


def _show_current(out: Printer, context: Context | None, text: str) -> None:
    if out.json:
        out.data({"current": None if context is None else context.name})
    elif not out.quiet:
        out.line(("✓ ", text))
