"""Sentences about a database server (location, clock offset; never its password) and about clocks that were set back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from ...message import Message
from ...ports.node_records import ClockStep
from ...runtime.store_status import ServerStatus
from ..doctor.machine_checks import escape_braces
from ..messages import operating_messages as words
from .formatting import duration_message, exact_duration
from .printer import Printer
from .styled_text import StyledText

NOTEWORTHY: Final = timedelta(seconds=1)
"""Smaller clock offsets are not shown, since nodes correct their clock to the server's."""


def server_line(out: Printer, server: ServerStatus) -> str:
    location = out.translate(server_location(server))
    if abs(server.clock_offset) < NOTEWORTHY:
        return location
    return f"{location}; {out.translate(clock_offset_message(server.clock_offset))}"


def server_location(server: ServerStatus) -> Message:
    """Return server, database, and schema or table prefix."""
    namespace = fill_message(words.KEPT_IN[server.namespace_kind], named=server.namespace)
    facts = {"kind": server.kind, "version": server.version, "place": server.address, "database": server.database}
    return fill_message(words.ON_SERVER, **facts, kept=namespace)


def clock_offset_message(offset: timedelta) -> Message:
    return fill_message(words.CLOCK_OFF[offset > timedelta(0)], by=duration_message(exact_duration(abs(offset))))


def fill_message(message: Message, **facts: object) -> Message:
    """Return the message with its facts; braces in them are escaped, so that it can be a fact of another message."""
    return escape_braces(Message(message.in_language("en", **facts), message.in_language("zh", **facts)))


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


def step_facts(step: ClockStep) -> dict[str, str]:
    """Return the facts for the sentence about a clock that was set back."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S} UTC"
    return {"host": step.host or "?", "by": f"{step.by.total_seconds():g} s", "at": at}


def show_steps(out: Printer, steps: Iterable[ClockStep]) -> None:
    for step in sorted(steps, key=lambda each: (each.at, each.host)):
        out.line(("! ", StyledText(out.translate(words.CLOCK_STEP, **step_facts(step)), "odd")))
