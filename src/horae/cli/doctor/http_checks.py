"""Checks of `horae doctor` for commands at a server: connection, version, identity of the token, readiness, TLS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...client.connection import is_loopback
from ...client.service import RemoteService, TokenIdentity
from ...clock import SystemClock
from ...errors import HoraeError, Refusal
from ...message import Message
from ...model.accounts.principal import LOCAL
from ...model.events.webhook import Webhook
from ...version import __version__
from ..messages import account_messages as words
from ..output.printer import Printer
from ..session.interruptible import run_interruptible
from ..session.servers import Server, connect
from .machine_checks import Check, escape_braces, make_check


def check_server(server: Server, out: Printer) -> list[Check]:
    """Run the checks; a failed connection is the only result, since the others need it."""
    try:
        identity, state, webhooks = run_interruptible(_query_server(server, out))
    except HoraeError as error:
        return [connection_failure(error)]
    from .store_checks import check_webhooks  # noqa: PLC0415 - it imports the stores

    checks = [_check_version(server, state), _check_identity(identity), _check_parts(state)]
    return [*checks, *check_webhooks(webhooks), *_check_encryption(server)]


async def _query_server(server: Server, out: Printer) -> tuple[TokenIdentity, Mapping[str, Any], tuple[Webhook, ...]]:
    clock = SystemClock()
    async with connect(server, clock, out) as connection:
        state = await connection.readiness()
        service = RemoteService(connection, clock, "UTC")
        identity = await service.whoami()
        # Agents have no webhooks.
        webhooks = () if identity.agent is not None else (await service.webhooks.page(LOCAL)).items
        return identity, state, webhooks


def connection_failure(error: HoraeError) -> Check:
    if not isinstance(error, Refusal):
        return make_check("server", "error", words.SERVER_TROUBLE, problem=error)
    en, zh = error.in_language("en"), error.in_language("zh")
    return make_check(
        "server", "error", escape_braces(Message(en.message, zh.message)), escape_braces(Message(en.hint, zh.hint))
    )


def _check_version(server: Server, state: Mapping[str, Any]) -> Check:
    theirs = str(state.get("version", "?"))
    facts: dict[str, Any] = {"server": server.url, "theirs": theirs, "origin": server.origin}
    if theirs == __version__:
        return make_check("server", "ok", words.SERVER_ANSWERS, **facts)
    return make_check("server", "warning", words.SERVER_IS_OTHER, words.SAME_VERSION, ours=__version__, **facts)


def _check_identity(identity: TokenIdentity) -> Check:
    agent = "" if identity.agent is None else f" ({identity.agent})"
    return make_check(
        "token", "ok", words.TOKEN_IDENTITY, owner=f"{identity.owner}{agent}", scopes=", ".join(identity.scopes)
    )


def _check_parts(state: Mapping[str, Any]) -> Check:
    missing = [name for name, is_present in dict(state.get("parts") or {}).items() if is_present is False]
    if missing:
        return make_check("ready", "error", words.PARTS_MISSING, words.PARTS_FIX, names=", ".join(missing))
    return make_check("ready", "ok", words.ALL_PARTS)


def _check_encryption(server: Server) -> list[Check]:
    if server.url.startswith("https://") or is_loopback(server.url):
        return []
    return [make_check("tls", "warning", words.IN_CLEAR, words.USE_HTTPS)]
