"""What `horae doctor` looks at when commands go to a server: whether it answers, which it is, and whom it takes us for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ...choices import Language
from ...client.connection import is_loopback
from ...client.service import RemoteService, TokenIdentity
from ...clock import SystemClock
from ...errors import HoraeError, Refusal
from ...model.accounts.principal import LOCAL
from ...model.events.webhook import Webhook
from ...version import __version__
from ..messages import account_messages as words
from ..messages.messages import Message
from ..session.servers import Server, connected
from .machine_checks import Check, check, plain_words


def about_http(server: Server, language: Language) -> list[Check]:
    """One after the other; where one fails, those behind it could only fail too."""
    try:
        found, state, webhooks = asyncio.run(_asked(server, language))
    except HoraeError as error:
        return [about_trouble(error)]
    from .store_checks import about_webhooks  # noqa: PLC0415 - it loads what looks at stores

    checks = [_about_version(server, state), _about_self(found), _about_parts(state)]
    return [*checks, *about_webhooks(webhooks), *_about_address(server)]


async def _asked(server: Server, language: Language) -> tuple[TokenIdentity, Mapping[str, Any], tuple[Webhook, ...]]:
    clock = SystemClock()
    async with connected(server, clock, language) as connection:
        state = await connection.readiness()
        service = RemoteService(connection, clock, "UTC")
        found = await service.whoami()
        # Agents have no webhooks.
        webhooks = () if found.agent is not None else (await service.webhooks.page(LOCAL)).items
        return found, state, webhooks


def about_trouble(error: HoraeError) -> Check:
    if not isinstance(error, Refusal):
        return check("server", "error", words.SERVER_TROUBLE, problem=error)
    en, zh = error.in_language("en"), error.in_language("zh")
    return check(
        "server", "error", plain_words(Message(en.message, zh.message)), plain_words(Message(en.hint, zh.hint))
    )


def _about_version(server: Server, state: Mapping[str, Any]) -> Check:
    theirs = str(state.get("version", "?"))
    facts: dict[str, Any] = {"server": server.url, "theirs": theirs, "origin": server.origin}
    if theirs == __version__:
        return check("server", "ok", words.SERVER_ANSWERS, **facts)
    return check("server", "warning", words.SERVER_IS_OTHER, words.SAME_VERSION, ours=__version__, **facts)


def _about_self(found: TokenIdentity) -> Check:
    agent = "" if found.agent is None else f" ({found.agent})"
    return check("token", "ok", words.TAKEN_FOR, owner=f"{found.owner}{agent}", scopes=", ".join(found.scopes))


def _about_parts(state: Mapping[str, Any]) -> Check:
    missing = [name for name, there in dict(state.get("parts") or {}).items() if there is False]
    if missing:
        return check("ready", "error", words.PARTS_MISSING, words.PARTS_FIX, names=", ".join(missing))
    return check("ready", "ok", words.ALL_PARTS)


def _about_address(server: Server) -> list[Check]:
    if server.url.startswith("https://") or is_loopback(server.url):
        return []
    return [check("tls", "warning", words.IN_CLEAR, words.USE_HTTPS)]
