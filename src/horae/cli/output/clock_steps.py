"""Clocks that were set back within the last day, as `status`, `nodes` and `doctor` show them."""

from __future__ import annotations

from collections.abc import Iterable

from ...ports.node_records import ClockStep
from ..messages import operating_messages as words
from .printer import Printer
from .styled_text import StyledText


def step_facts(step: ClockStep) -> dict[str, str]:
    """What the sentence about it contains."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S} UTC"
    return {"host": step.host or "?", "by": f"{step.by.total_seconds():g} s", "at": at}


def show_steps(out: Printer, steps: Iterable[ClockStep]) -> None:
    for step in sorted(steps, key=lambda each: (each.at, each.host)):
        out.line(("! ", StyledText(out.translate(words.CLOCK_STEP, **step_facts(step)), "odd")))
