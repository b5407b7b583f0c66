"""`horae why`: explains why an occurrence ran or did not run, with its runs and the commands that fix the cause."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click

from ....errors import NotFound
from ....lifecycle.explain.explanation import Verdict
from ....model.ids import SHORT_DIGITS
from ....model.run import Run
from ....service.runs.explanations import OccurrenceExplanation
from ....service.runs.outages import Outage
from ....service.tasks.functions.functions import start_command
from ....wire.instants import utc
from ....wire.runs import why_json
from ....wire.tasks.fixes import Fix, fixes_for
from ...command import Command
from ...lookup import is_run, task_reference
from ...messages import messages
from ...output.command_hints import complete_command, complete_commands
from ...output.formats import full_time, sign_of
from ...output.printer import Printer
from ...output.readiness import node_start_command
from ...output.styled_text import StyledText, display_width, pad
from ...session.command_session import CommandSession, run_in_session
from ...task_filter import task_argument
from ..tasks.show import run_line
from .show_run import show_lines

_WAITING_SIGN = StyledText("◐", "odd")
_PENDING_SIGN = StyledText("○", "dim")
_NOT_RUN_SIGN = StyledText("⊘", "odd")


@click.command("why", cls=Command)
@task_argument
@click.option(
    "--at",
    metavar="MOMENT",
    help="2026-11-15T02:00Z, 02:00, yesterday, 'today at 9am', 'last Monday 18:00'. Default: newest.",
)
def why(out: Printer, *, task: str, at: str | None) -> None:
    """Say why a task did, or did not, run."""
    found, zone, reference, has_lines = run_in_session(out, lambda app: _load(out, app, task, at))
    fixes = tuple(
        fix._replace(command=complete_command(out, fix.command))
        for fix in fixes_for(found, shlex.quote(reference), partial(node_start_command, out), has_lines=has_lines)
    )
    if out.json:
        out.data(_json(out, found, fixes))
    elif out.quiet:
        out.ids([found.explanation.verdict.value])
    else:
        _show(out, found, fixes, zone)


async def _load(
    out: Printer, app: CommandSession, name: str, at: str | None
) -> tuple[OccurrenceExplanation, str, str, bool]:
    if is_run(name):
        task_id, planned = await _occurrence_of_run(app, name)
        found = await app.service.explanations.explain(app.principal, task_id, planned, app.zone)
    else:
        facts = await app.service.tasks.find_by_name(app.principal, name)
        found = await app.service.explanations.explain(app.principal, facts.task.id, at, app.zone)
    task = found.facts.task
    return found, task.schedule.zone or app.zone, await task_reference(app, task, out), await _has_lines(app, found)


async def _occurrence_of_run(app: CommandSession, name: str) -> tuple[str, datetime]:
    """Return task id and planned instant of a run, also of a requested run that has not started."""
    try:
        run = await app.service.runs.get(app.principal, name)
    except NotFound as refusal:
        task_id, planned = refusal.facts.get("task"), refusal.facts.get("planned")
        if refusal.code == "run_waiting" and isinstance(task_id, str) and isinstance(planned, datetime):
            return task_id, planned
        raise
    return run.task_id, run.planned


async def _has_lines(app: CommandSession, found: OccurrenceExplanation) -> bool:
    """Return whether the newest run has log lines; True for a live run, which may still write some."""
    run = found.explanation.run
    if run is None or run.live or run.started is None:
        return True
    return bool(await app.service.runs.lines(app.principal, run.id, limit=1))


def _json(out: Printer, found: OccurrenceExplanation, fixes: tuple[Fix, ...]) -> dict[str, Any]:
    task = found.facts.task
    shape = why_json(found.explanation, utc(found.at), task.name, task.schedule.zone, out.language, found.outage)
    shape["sentence"] = complete_commands(out, shape["sentence"])
    return shape | {"fixes": [{"command": fix.command, "does": fix.does.in_language(out.language)} for fix in fixes]}


def _show(out: Printer, found: OccurrenceExplanation, fixes: tuple[Fix, ...], zone: str) -> None:
    task, explanation = found.facts.task, found.explanation
    at = full_time(found.at, zone, out.language)
    out.line((_verdict_sign(found), " ", StyledText(out.translate(messages.AT, name=task.name, at=at), "bold")))
    out.line(f"  {_without_commands(_sentence(out, found), fixes)}")
    if found.outage is not None:
        out.line(f"  {outage_line(out, found.outage)}")
    for run in explanation.runs:
        out.line(("  ", *run_line(run, zone, out, explanation.lateness_of(run))))
        show_lines(out, "", "\n".join((run.error or "").strip().splitlines()[1:]), "bad")
    _show_fixes(
        out,
        [(_shorten_run_ids(out, fix.command, explanation.runs), fix.does.in_language(out.language)) for fix in fixes],
    )


def _sentence(out: Printer, found: OccurrenceExplanation) -> str:
    text = found.explanation.in_language(out.language)
    if found.missing is not None and found.missing.source is not None:
        source = found.missing.source
        text = text.replace(start_command(source), node_start_command(out, source))
    return complete_commands(out, text)


def _without_commands(sentence: str, fixes: Sequence[Fix]) -> str:
    """Remove the commands from the sentence that are listed as fixes."""
    for fix in fixes:
        sentence = sentence.replace(f": {fix.command}", ".").replace(f"：{fix.command}", "。")
    return sentence


def _shorten_run_ids(out: Printer, text: str, runs: Sequence[Run]) -> str:
    for whole, short in out.short_ids((run.id for run in runs), SHORT_DIGITS).items():
        text = text.replace(whole, short)
    return text


def _show_fixes(out: Printer, fixes: Sequence[tuple[str, str]]) -> None:
    """Print commands and their effect side by side, or below each other on a narrow terminal."""
    widest = max((display_width(typed) for typed, _ in fixes), default=0)
    room = out.row_room - widest - 3
    below = out.on_terminal and any(display_width(does) > room for _, does in fixes)
    for number, (typed, does) in enumerate(fixes):
        label = out.translate(messages.FIX) if number == 0 else ""
        if below:
            out.row(label, typed)
            out.row("", StyledText(f"  {does}", "dim"))
        else:
            out.row(label, (pad(typed, widest), "   ", StyledText(does, "dim")))


def _verdict_sign(found: OccurrenceExplanation) -> StyledText:
    explanation = found.explanation
    if explanation.run is not None:
        return sign_of(explanation.run)
    if explanation.verdict is Verdict.PENDING:
        return _PENDING_SIGN
    return _WAITING_SIGN if explanation.verdict is Verdict.WAITING else _NOT_RUN_SIGN


def outage_line(out: Printer, outage: Outage) -> str:
    how = messages.STOPPED_CLEANLY if outage.clean else messages.DIED
    since, until = outage.since.astimezone(UTC), outage.until.astimezone(UTC)
    same_day = since.date() == until.date()
    return out.translate(
        messages.OUTAGE, since=_clock(since, full=not same_day), until=_clock(until, full=not same_day), how=how
    )


def _clock(at: datetime, *, full: bool) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if full else f"{at:%H:%M:%S}"
