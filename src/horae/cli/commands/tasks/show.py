"""`horae show`: all fields of one task, with its next fires and last runs; a run id is shown by `show_run`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import click

from ....choices import Language
from ....model.agents.agent_task import AGENT_KIND
from ....model.change import Facts
from ....model.ids import SHORT_DIGITS
from ....model.lanes.route import describe_route, is_queue
from ....model.pauses import pause_note
from ....model.run import Run
from ....model.task import Task
from ....model.text.invisible_characters import escape_hidden
from ....ports.store import RunFilter
from ....service.tasks.task_chain import ChainNode, build_tree
from ....wire.runs import run_json
from ....wire.tasks.fixes import pause_fixes
from ....wire.tasks.review import review_of
from ....wire.tasks.task import task_json, waiting_for
from ...command import Command
from ...lookup import is_run
from ...messages import messages
from ...output.formats import (
    error_style,
    error_text,
    exact_duration,
    first_line,
    full_time,
    localize_error,
    planned_text,
    sign_of,
    state_cell,
    state_of_run,
)
from ...output.printer import Printer
from ...output.receipt import (
    fires_if_resumed,
    fires_json,
    fires_to_come,
    more_policies_line,
    policies_line,
    review_cells,
    show_schedule,
    target_line,
)
from ...output.styled_text import Cell, StyledText
from ...session.command_session import CommandSession, run_in_session
from ..runs.run_tree import show_run_tree
from ..runs.show_run import show_run
from .chain_tree import predecessor_names, show_tree, tree_json

_FIRES: Final = 5
_RUNS: Final = 5


class TaskDetails(NamedTuple):
    facts: Facts
    runs: tuple[Run, ...]
    now: datetime
    zone: str
    names: Mapping[str, str] = {}
    """Names of the tasks that it runs after, by id."""
    tree: ChainNode | None = None


@click.command("show", cls=Command)
@click.argument("task", metavar="TASK|RUN", help="A task: name, id or key, or a part; or the id of a run.")
@click.option(
    "--tree", is_flag=True, help="Show what runs after it, level by level; of a run, the states of its chain."
)
def show(out: Printer, *, task: str, tree: bool) -> None:
    """Show one task, or one run, in full."""
    if is_run(task):
        show_run_tree(out, task) if tree else show_run(out, task)
        return
    shown = run_in_session(out, lambda app: _load(app, task, tree=tree))
    if out.json:
        out.data(_json(out, shown))
    elif out.quiet:
        out.ids([shown.facts.task.id])
    elif shown.tree is not None:
        show_tree(out, shown.tree)
    else:
        _show(out, shown)


async def _load(app: CommandSession, name: str, *, tree: bool) -> TaskDetails:
    facts = await app.service.tasks.find_by_name(app.principal, name)
    runs = await app.service.runs.page(app.principal, RunFilter(task_id=facts.task.id), limit=_RUNS)
    # Read again by id: the result of a search has no lanes.
    facts = await app.service.tasks.get(app.principal, facts.task.id)
    names = await predecessor_names(app, facts.task)
    chain = build_tree(await app.service.tasks.chain(app.principal, facts.task.id), facts.task.id) if tree else None
    return TaskDetails(facts, runs.items, app.clock.now(), app.zone, names, chain)


def _json(out: Printer, shown: TaskDetails) -> dict[str, Any]:
    facts, task = shown.facts, shown.facts.task
    zone = task.schedule.zone
    last = shown.runs[0] if shown.runs else None
    fires_after_resume = [] if facts.status.pause is None else fires_if_resumed(facts, shown.now, _FIRES)
    return {
        "task": task_json(facts, out.language, last, names=shown.names, now=shown.now),
        "fires": fires_json(fires_to_come(facts, shown.now, _FIRES)),
        "fires_if_resumed": fires_json(fires_after_resume),
        "runs": [run_json(run, task.name, zone, out.language) for run in shown.runs],
        "tree": None if shown.tree is None else tree_json(shown.tree),
    }


def _show(out: Printer, shown: TaskDetails) -> None:
    facts, task = shown.facts, shown.facts.task
    zone = task.schedule.zone or shown.zone
    out.line((StyledText(task.name, "bold"), "  ", StyledText(task.id, "dim")))
    show_schedule(out, facts, shown.now, _FIRES, names=shown.names)
    out.row(out.translate(messages.DOES), escape_hidden(target_line(task.target)))
    out.row(out.translate(messages.LATE), policies_line(task.policies, out.language))
    out.row("", more_policies_line(task.policies, out.language))
    state: list[str | StyledText] = [
        _single_part(state_cell(facts, out.language, shown.now, whole=True)),
        out.translate(messages.VERSION, version=task.version),
    ]
    out.row(out.translate(messages.STATE), state)
    for line in _status_lines(out, shown, zone):
        out.row("", line)
    for fix in pause_fixes(facts):
        out.row(
            out.translate(messages.FIX), (fix.command, "   ", StyledText(fix.does.in_language(out.language), "dim"))
        )
    made = full_time(task.created, zone, out.language)
    out.row(out.translate(messages.OWNER), f"{task.owner} · {out.translate(messages.CREATED)} {made}")
    for label, value in ((messages.KEY, task.key), (messages.LANE, ", ".join(task.lanes) or None)):
        if value is not None:
            out.row(out.translate(label), value)
    if task.labels:
        out.row(out.translate(messages.LABELS), "  ".join(f"{name}={value}" for name, value in task.labels))
    waits = waiting_line(out, facts, shown.now)
    if waits is not None:
        out.row(out.translate(messages.WAITS), waits)
    for number, run in enumerate(shown.runs):
        out.row(out.translate(messages.RUNS) if number == 0 else "", run_line(run, zone, out))
    _show_definition(out, task)


def _show_definition(out: Printer, task: Task) -> None:
    """Print every field of the definition as stored; the rows above are a summary."""
    review = review_of(task, out.language)
    out.line()
    out.line(StyledText(out.translate(messages.AS_IT_RUNS), "dim"))
    for line in review_cells(review):
        out.line(line, hang=4)


def _single_part(cell: Cell) -> str | StyledText:
    return cell if isinstance(cell, str | StyledText) else StyledText("")


def _status_lines(out: Printer, shown: TaskDetails, zone: str) -> list[str]:
    status = shown.facts.status
    found = []
    if status.pause is not None:
        pause = status.pause
        until = (
            messages.PAUSED_UNTIL.in_language(out.language, until=full_time(pause.until, zone, out.language))
            if pause.until
            else ""
        )
        note = (
            f" ({pause_note(pause, out.language)})"
            if pause.note and pause.cause.value not in messages.PAUSE_CAUSES
            else ""
        )
        since = full_time(pause.since, zone, out.language)
        found.append(out.translate(messages.PAUSED_SINCE, since=since, until=until, note=note))
    if status.skips_left:
        text = messages.SKIPS_ONE if status.skips_left == 1 else messages.SKIPS_LEFT
        found.append(out.translate(text, number=status.skips_left))
    if status.last_result:
        found.append(f"→ {first_line(_last_result(shown.facts, out.language))}")
    return found


def waiting_line(out: Printer, facts: Facts, now: datetime) -> str | None:
    """Return the cause that keeps a due run from starting; None where nothing waits."""
    waits = waiting_for(facts, now)
    if waits is None:
        return None
    kind, _, name = waits.removeprefix("node:" if waits.startswith("node:function:") else "").partition(":")
    if is_queue(name):
        kind, name = "labels", describe_route(name)
    return out.translate(messages.WAITS_FOR.get(waits, messages.WAITS_FOR[kind]), name=name)


def _last_result(facts: Facts, language: Language) -> str:
    """Return the last result; after a failure that is the error, which is localized. The result of an agent is its text."""
    text = facts.status.last_result or ""
    if facts.status.failures:
        return localize_error(text, language)
    if facts.task.target.kind != AGENT_KIND:
        return text
    from ....agents.target.turn_state import last_result  # noqa: PLC0415 - for tasks of agents only

    return last_result(text) or text


def run_line(run: Run, zone: str, out: Printer, lateness: timedelta | None = None) -> list[str | StyledText]:
    """Return one row for a run. `lateness` replaces the lateness that is stored in the run."""
    delay = run.lateness if lateness is None else lateness
    late = "" if delay is None else f"  +{exact_duration(delay)}"
    planned = planned_text(run, zone, out.language)
    state = state_of_run(run, out.language)
    error = f"  {first_line(error_text(run, out.language))}" if run.error else ""
    short = out.short_ids((run.id,), SHORT_DIGITS)[run.id]
    return [
        sign_of(run),
        f" {planned}  {state}{late}",
        StyledText(error, error_style(run)),
        StyledText(f"  {short}", "dim"),
    ]
