"""Output of `horae run --gate-only`: the verdict of a gate."""

from __future__ import annotations

import json
from typing import Any

from ....model.run import Run
from ....model.task import Task
from ....wire.runs import run_json
from ...messages import messages
from ...messages.refusals import refuse
from ...output.formats import error_text, first_line
from ...output.printer import Printer
from .show_run import show_lines


def show_gate_verdict(out: Printer, ended: Run, task: Task) -> None:
    """Show the verdict, the result of the check. Refuses a check that has none: the gate failed, or the run was stopped."""
    verdict = ended.result
    if out.json:
        out.data(run_json(ended, task.name, task.schedule.zone, out.language))
    elif out.quiet:
        out.ids([ended.id])
    elif isinstance(verdict, dict):
        _show_fields(out, verdict)
    if not isinstance(verdict, dict):
        english, chinese = (first_line(error_text(ended, language)) for language in ("en", "zh"))
        raise refuse("gate_not_checked", id=ended.id, problem=(english, chinese))


def _show_fields(out: Printer, verdict: dict[str, Any]) -> None:
    sign, message = ("✓", messages.GATE_OPEN) if verdict["run"] else ("–", messages.GATE_CLOSED)
    out.line(f"{sign} {out.translate(message)}")
    for name, label in messages.GATE_FIELDS.items():
        value = verdict.get(name)
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            show_lines(out, out.translate(label), text)
