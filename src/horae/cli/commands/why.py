"""`horae why`: one sentence, the fact that it rests on, and what would help."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import typer

from ...errors import NotFound
from ...lifecycle.explain import Verdict
from ...model.ids import SHORT_DIGITS
from ...model.run import Run
from ...service.runs.ledger import OccurrenceExplanation
from ...service.runs.outages import Outage
from ...service.tasks.functions import start_command
from ...wire.instants import utc
from ...wire.runs import why_json
from ..command import command
from ..messages import messages
from ..output.command_hints import complete_command, complete_commands
from ..output.fixes import Fix, fixes_for
from ..output.formatting import full_time, sign_of
from ..output.printer import Printer
from ..output.readiness import node_start_command
from ..output.styled_text import StyledText
from ..output.width import display_width, pad
from ..run_lookup import is_run
from ..session.command_session import CommandSession, run_in_session
from ..task_filter import ONE
from ..task_reference import task_reference
from .show import run_line
from .show_run import show_whole

_WAITS = StyledText("◐", "odd")
_TO_COME = StyledText("○", "dim")
_NOT_RUN = StyledText("⊘", "odd")


def register(app: typer.Typer) -> None:
    command(app, "why")(why)


def why(
    out: Printer,
    *,
    task: str = ONE,
    at: str | None = typer.Option(
        None,
        "--at",
        metavar="MOMENT",
        help="2026-11-15T02:00Z, 02:00, yesterday, 'today at 9am', 'last Monday 18:00'. Default: newest.",
    ),
) -> None:
    """Say why a task did, or did not, run."""
    found, zone, reference, has_lines = run_in_session(out, lambda app: _explained(out, app, task, at))
    fixes = tuple(
        fix._replace(command=complete_command(out, fix.command))
        for fix in fixes_for(found, shlex.quote(reference), partial(node_start_command, out), has_lines=has_lines)
    )
    if out.json:
        out.data(_json(out, found, fixes))
    elif out.quiet:
        out.ids([found.explanation.verdict.value])
    else:
        _tell(out, found, fixes, zone)


async def _explained(
    out: Printer, app: CommandSession, name: str, at: str | None
) -> tuple[OccurrenceExplanation, str, str, bool]:
    if is_run(name):
        task_id, planned = await _occurrence(app, name)
        found = await app.service.ledger.explain(app.principal, task_id, planned, app.zone)
    else:
        facts = await app.service.tasks.find_by_name(app.principal, name)
        found = await app.service.ledger.explain(app.principal, facts.task.id, at, app.zone)
    task = found.facts.task
    return found, task.schedule.zone or app.zone, await task_reference(app, task, out), await _has_lines(app, found)


async def _occurrence(app: CommandSession, name: str) -> tuple[str, datetime]:
    """The task and the planned instant of a run; also of one that was asked for and has not started."""
    try:
        run = await app.service.runs.get(app.principal, name)
    except NotFound as refusal:
        task_id, planned = refusal.facts.get("task"), refusal.facts.get("planned")
        if refusal.code == "run_waiting" and isinstance(task_id, str) and isinstance(planned, datetime):
            return task_id, planned
        raise
    return run.task_id, run.planned


async def _has_lines(app: CommandSession, found: OccurrenceExplanation) -> bool:
    """Whether the newest run of the answer has log lines; a live one may write some."""
    run = found.explanation.run
    if run is None or run.live or run.started is None:
        return True
    return bool(await app.service.runs.lines(app.principal, run.id, limit=1))


def _json(out: Printer, found: OccurrenceExplanation, fixes: tuple[Fix, ...]) -> dict[str, Any]:
    task = found.facts.task
    shape = why_json(found.explanation, utc(found.at), task.name, task.schedule.zone, out.language, found.outage)
    shape["sentence"] = complete_commands(out, shape["sentence"])
    return shape | {"fixes": [{"command": fix.command, "does": fix.does.in_language(out.language)} for fix in fixes]}


def _tell(out: Printer, found: OccurrenceExplanation, fixes: tuple[Fix, ...], zone: str) -> None:
    task, told = found.facts.task, found.explanation
    at = full_time(found.at, zone, out.language)
    out.line((_sign(found), " ", StyledText(out.translate(messages.AT, name=task.name, at=at), "bold")))
    out.line(f"  {_without_commands(_sentence(out, found), fixes)}")
    if found.outage is not None:
        out.line(f"  {outage_line(out, found.outage)}")
    for run in told.runs:
        out.line(("  ", *run_line(run, zone, out, told.lateness_of(run))))
        show_whole(out, "", "\n".join((run.error or "").strip().splitlines()[1:]), "bad")
    _show_fixes(out, [(_shortened(out, fix.command, told.runs), fix.does.in_language(out.language)) for fix in fixes])


def _sentence(out: Printer, found: OccurrenceExplanation) -> str:
    text = found.explanation.in_language(out.language)
    if found.missing is not None and found.missing.source is not None:
        source = found.missing.source
        text = text.replace(start_command(source), node_start_command(out, source))
    return complete_commands(out, text)


def _without_commands(sentence: str, fixes: Sequence[Fix]) -> str:
    """A command that a fix shows is not repeated in the sentence."""
    for fix in fixes:
        sentence = sentence.replace(f": {fix.command}", ".").replace(f"：{fix.command}", "。")
    return sentence


def _shortened(out: Printer, text: str, runs: Sequence[Run]) -> str:
    for whole, short in out.short_ids((run.id for run in runs), SHORT_DIGITS).items():
        text = text.replace(whole, short)
    return text


def _show_fixes(out: Printer, fixes: Sequence[tuple[str, str]]) -> None:
    """Commands with what they do, side by side; or each below its command, where a terminal is too narrow for both."""
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


def _sign(found: OccurrenceExplanation) -> StyledText:
    told = found.explanation
    if told.run is not None:
        return sign_of(told.run)
    if told.verdict is Verdict.PENDING:
        return _TO_COME
    return _WAITS if told.verdict is Verdict.WAITING else _NOT_RUN


def outage_line(out: Printer, outage: Outage) -> str:
    how = messages.STOPPED_CLEANLY if outage.clean else messages.DIED
    since, until = outage.since.astimezone(UTC), outage.until.astimezone(UTC)
    same_day = since.date() == until.date()
    return out.translate(
        messages.OUTAGE, since=_clock(since, full=not same_day), until=_clock(until, full=not same_day), how=how
    )


def _clock(at: datetime, *, full: bool) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if full else f"{at:%H:%M:%S}"
