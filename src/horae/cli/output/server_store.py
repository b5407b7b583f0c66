"""A store on a server in one line, for people and for programs; never with a password."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from ...ports.clock_steps import ClockStep
from ...runtime.store_status import ServerStatus
from ..doctor.machine_checks import escape_braces
from ..messages import operating_messages as words
from ..messages.messages import Message
from .formatting import duration_message, exact_duration
from .printer import Printer
from .styled_text import StyledText

NOTEWORTHY: Final = timedelta(seconds=1)
"""Nodes correct their clock to the server's; a person wonders only at what can be seen."""


def server_line(out: Printer, server: ServerStatus) -> str:
    said = out.translate(server_location(server))
    return (
        said
        if abs(server.clock_offset) < NOTEWORTHY
        else f"{said}; {out.translate(clock_offset_message(server.clock_offset))}"
    )


def server_location(server: ServerStatus) -> Message:
    """Which server, which database, and where in it."""
    kept = fill_message(words.KEPT_IN[server.namespace_kind], named=server.namespace)
    facts = {"kind": server.kind, "version": server.version, "place": server.address, "database": server.database}
    return fill_message(words.ON_SERVER, **facts, kept=kept)


def clock_offset_message(offset: timedelta) -> Message:
    return fill_message(words.CLOCK_OFF[offset > timedelta(0)], by=duration_message(exact_duration(abs(offset))))


def fill_message(said: Message, **facts: object) -> Message:
    """Complete: it may be told again, or be a fact in another sentence, whatever a name in it looks like."""
    return escape_braces(Message(said.in_language("en", **facts), said.in_language("zh", **facts)))


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
    """What the sentence about it contains."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S} UTC"
    return {"host": step.host or "?", "by": f"{step.by.total_seconds():g} s", "at": at}


def show_steps(out: Printer, steps: Iterable[ClockStep]) -> None:
    for step in sorted(steps, key=lambda each: (each.at, each.host)):
        out.line(("! ", StyledText(out.translate(words.CLOCK_STEP, **step_facts(step)), "odd")))
