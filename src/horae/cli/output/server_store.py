"""A store on a server in one line, for people and for programs; never with a password."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from ...runtime.store_status import ServerStatus
from ..doctor.machine_checks import plain_words
from ..messages import operating_messages as words
from ..messages.messages import Message
from .formatting import fine, in_sentence
from .printer import Printer

NOTEWORTHY: Final = timedelta(seconds=1)
"""Nodes correct their clock to the server's; a person wonders only at what can be seen."""


def server_line(out: Printer, server: ServerStatus) -> str:
    said = out.translate(where(server))
    return said if abs(server.clock_offset) < NOTEWORTHY else f"{said}; {out.translate(off_by(server.clock_offset))}"


def where(server: ServerStatus) -> Message:
    """Which server, which database, and where in it."""
    kept = filled(words.KEPT_IN[server.namespace_kind], named=server.namespace)
    facts = {"kind": server.kind, "version": server.version, "place": server.address, "database": server.database}
    return filled(words.ON_SERVER, **facts, kept=kept)


def off_by(offset: timedelta) -> Message:
    return filled(words.CLOCK_OFF[offset > timedelta(0)], by=in_sentence(fine(abs(offset))))


def filled(said: Message, **facts: object) -> Message:
    """Complete: it may be told again, or be a fact in another sentence, whatever a name in it looks like."""
    return plain_words(Message(said.in_language("en", **facts), said.in_language("zh", **facts)))


def server_json(server: ServerStatus) -> dict[str, Any]:
    return {
        "kind": server.kind,
        "version": server.version,
        "place": server.address,
        "database": server.database,
        server.namespace_kind: server.namespace,
        "schema_version": server.schema,
        "clock_offset": round(server.clock_offset.total_seconds(), 3),
    }
