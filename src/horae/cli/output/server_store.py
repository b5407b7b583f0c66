"""Lines about a database server (location, clock offset; never its password) and about clocks that were set back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...doctor import messages as words
from ...doctor.database_checks import NOTEWORTHY, clock_offset_message, server_location, step_facts
from ...ports.doctor import Check
from ...ports.node_records import ClockStep
from ...runtime.store_status import ServerStatus
from .printer import Printer
from .styled_text import StyledText


def server_line(out: Printer, server: ServerStatus) -> str:
    location = out.translate(server_location(server))
    for loss in server.possible_losses:
        location = f"{location}; {out.translate(words.SHORT_LOSSES[loss])}"
    if abs(server.clock_offset) < NOTEWORTHY:
        return location
    return f"{location}; {out.translate(clock_offset_message(server.clock_offset))}"


def server_json(server: ServerStatus) -> dict[str, Any]:
    return {
        "kind": server.kind,
        "version": server.version,
        "place": server.address,
        "database": server.database,
        server.namespace_kind: server.namespace,
        "schema_version": server.schema,
        "possible_loss": server.possible_loss.value,
        "clock_offset": round(server.clock_offset.total_seconds(), 3),
    }


def show_steps(out: Printer, steps: Iterable[ClockStep]) -> None:
    for step in sorted(steps, key=lambda each: (each.at, each.host)):
        out.line(("! ", StyledText(out.translate(words.CLOCK_STEP, **step_facts(step)), "odd")))


def show_durability(out: Printer, checks: Iterable[Check]) -> None:
    """Say what the server of the store can lose, in the sentences of `horae doctor`."""
    for check in checks:
        sentence = check.sentence(out.language)
        out.line(("! ", StyledText(sentence, "odd")) if check.grade == "warning" else (sentence,))
