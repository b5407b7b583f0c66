"""Checks of `horae doctor` for commands at a server: connection, version, clock, identity of the token, readiness, TLS.

The server makes the checks of its own machine and store; admins get them from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ...client.connection import Connection, is_loopback
from ...client.service import RemoteService, TokenIdentity
from ...clock import Clock, SystemClock
from ...doctor import messages as checked
from ...doctor.database_checks import NOTEWORTHY, clock_offset_message
from ...errors import HoraeError, Refusal
from ...message import Message
from ...model.accounts.principal import LOCAL, Scope
from ...model.events.webhook import Webhook
from ...ports.doctor import Check, Fix, escape_braces, make_check, refusal_check
from ...quantities import duration_message, exact_duration
from ...stores.sql.reads.status import RequestInstant
from ...version import __version__
from ...wire.instants import parse_instant
from ...wire.problems import sentence_of
from ..messages import account_messages as words
from ..output.printer import Printer
from ..session.interruptible import run_interruptible
from ..session.servers import Server, connect


class ServerFindings(NamedTuple):
    """Checks of the connection to a server, and those that the server made of itself; None: it did not, or may not."""

    checks: Sequence[Check]
    of_server: Sequence[Check] | None = None


class _Answers(NamedTuple):
    state: Mapping[str, Any]
    identity: TokenIdentity
    webhooks: tuple[Webhook, ...]
    clock_offset: timedelta | None
    """How far the server's clock is ahead; None if the server does not report its time."""
    report: Sequence[Check] | Check


def check_server(server: Server, out: Printer) -> ServerFindings:
    """Run the checks; a failed connection is the only result, since the others need it."""
    try:
        answers = run_interruptible(_query_server(server, out))
    except HoraeError as error:
        return ServerFindings([connection_failure(error)])
    from ...doctor.store_checks import check_webhooks  # noqa: PLC0415 - it imports the service

    checks = [_check_version(server, answers.state), _check_identity(answers.identity), _check_parts(answers.state)]
    checks += check_server_clock(answers.clock_offset)
    if isinstance(answers.report, Check):
        # The server has no report for this token; its own webhooks can be checked from here.
        found = [*checks, answers.report, *check_webhooks(answers.webhooks), *_check_encryption(server)]
        return ServerFindings(found)
    return ServerFindings([*checks, *_check_encryption(server)], answers.report)


async def _query_server(server: Server, out: Printer) -> _Answers:
    clock = SystemClock()
    async with connect(server, clock, out) as connection:
        service = RemoteService(connection, clock, "UTC")
        identity = await service.whoami()
        # Second, on an open connection: the time to connect would count as a difference of the clocks.
        state, offset = await _read_state(connection, clock)
        # Agents have no webhooks.
        webhooks = () if identity.agent is not None else (await service.webhooks.page(LOCAL)).items
        return _Answers(state, identity, webhooks, offset, await _read_report(service, identity))


async def _read_state(connection: Connection, clock: Clock) -> tuple[Mapping[str, Any], timedelta | None]:
    sent = RequestInstant.now(clock)
    state = await connection.readiness()
    try:
        now: datetime = parse_instant(state["now"])
    except (KeyError, TypeError, ValueError):
        return state, None
    return state, sent.clock_offset(now, clock)


async def _read_report(service: RemoteService, identity: TokenIdentity) -> Sequence[Check] | Check:
    """Return the checks that the server made, or why there are none."""
    if Scope.ADMIN not in identity.scopes:
        return make_check("server_checks", "skipped", words.CHECKS_FOR_ADMINS)
    try:
        return (await service.doctor.report(LOCAL)).checks
    except HoraeError as error:
        texts = sentence_of(error, "en").message, sentence_of(error, "zh").message
        problem = escape_braces(Message(*texts))
        return make_check("server_checks", "skipped", words.NO_SERVER_CHECKS, Fix(words.SAME_VERSION), problem=problem)


def connection_failure(error: HoraeError) -> Check:
    if not isinstance(error, Refusal):
        return make_check("server", "error", words.SERVER_TROUBLE, problem=error)
    return refusal_check("server", error)


def _check_version(server: Server, state: Mapping[str, Any]) -> Check:
    theirs = str(state.get("version", "?"))
    facts: dict[str, Any] = {"server": server.url, "theirs": theirs, "origin": server.origin}
    if theirs == __version__:
        return make_check("server", "ok", words.SERVER_ANSWERS, **facts)
    return make_check("server", "warning", words.SERVER_IS_OTHER, Fix(words.SAME_VERSION), ours=__version__, **facts)


def _check_identity(identity: TokenIdentity) -> Check:
    agent = "" if identity.agent is None else f" ({identity.agent})"
    return make_check(
        "token", "ok", words.TOKEN_IDENTITY, owner=f"{identity.owner}{agent}", scopes=", ".join(identity.scopes)
    )


def _check_parts(state: Mapping[str, Any]) -> Check:
    missing = [name for name, is_present in dict(state.get("parts") or {}).items() if is_present is False]
    if missing:
        return make_check("ready", "error", words.PARTS_MISSING, Fix(words.PARTS_FIX), names=", ".join(missing))
    return make_check("ready", "ok", words.ALL_PARTS)


def check_server_clock(offset: timedelta | None) -> list[Check]:
    """Compare the clocks; a difference matters to times that this command shows, and not to the engine."""
    if offset is None:
        return []
    if abs(offset) < NOTEWORTHY:
        by = duration_message(exact_duration(abs(offset)))
        return [make_check("server_clock", "ok", checked.CLOCKS_AGREE, by=by)]
    off = clock_offset_message(offset)
    return [make_check("server_clock", "warning", words.SERVER_CLOCK_OFF, checked.CLOCK_FIX, off=off)]


def _check_encryption(server: Server) -> list[Check]:
    if server.url.startswith("https://") or is_loopback(server.url):
        return []
    return [make_check("tls", "warning", words.IN_CLEAR, Fix(words.USE_HTTPS))]
