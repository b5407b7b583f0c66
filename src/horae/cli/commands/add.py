"""`horae add`: a task in one line, and a receipt that leaves nothing to wonder about."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

import typer

from ...model.change import Facts
from ...model.task import Task
from ...schedule import Schedule
from ...schedule.warnings import ScheduleWarning
from ...service.tasks.advisories import Advisory
from ...service.tasks.default_zone import AssumedZone
from ...service.tasks.edits import EditResult, fire_changes
from ...service.tasks.functions import ResolvedRequest
from ...service.tasks.quotas import used_up_advisories
from ...service.tasks.task_request import TaskRequest
from ...wire.previews import warnings_json
from ...wire.tasks import read_task, task_json
from ..command import Said, command
from ..messages import messages
from ..messages.refusals import refuse
from ..output.command_hints import command_line
from ..output.printer import Printer
from ..output.readiness import Readiness, show_readiness
from ..output.receipt import (
    FIRES,
    fires_json,
    fires_of,
    policies_line,
    show_declared,
    show_schedule,
    show_warnings,
    target_line,
)
from ..output.styled_text import Cell, StyledText
from ..schedule_question import Question, ask, explaining
from ..session.command_session import CommandSession, has_durable_store, refuse_memory, run_in_memory, run_in_session
from ..session.owner_zone import owner_zone
from ..task_options import DEFINITION, task_shape, usual_name
from ..task_reference import short_task_id, task_reference
from .edit import changed_fields, fires_changed_json, show_changes

_NOT_SAID: tuple[str, ...] = ("anchored",)  # true of every interval: `explain` says it


class CreatedTask(NamedTuple):
    """What came of it. `now` is the moment that the receipt counts from; `readiness`: the nodes that could run it, None for
    a dry run.

    `edited`: the key was taken, so it is about the task that has it. `reference`: how the next command names the task.
    """

    facts: Facts
    now: datetime
    dry_run: bool
    readiness: Readiness | None = None
    edited: EditResult | None = None
    resolved: ResolvedRequest | None = None
    warnings: tuple[ScheduleWarning | Advisory, ...] = ()
    reference: str = ""

    @property
    def declared(self) -> list[str]:
        """Fields that came from the declaration of its function."""
        return [] if self.resolved is None else self.resolved.declared_in(self.facts.task.schedule)

    @property
    def change(self) -> Literal["new", "changed", "same"]:
        if self.edited is None:
            return "new"
        return "changed" if changed_fields(self.edited) else "same"


def register(app: typer.Typer) -> None:
    command(app, "add", groups={"said": DEFINITION})(add)


def add(
    out: Printer,
    *,
    when: list[str] = typer.Argument(..., metavar="WHEN", help='"every weekday at 9am", "in 20m", 每天早上9点.'),
    name: str | None = typer.Option(None, "--name", help="What it is called. Default: after what it does."),
    said: Said,
    behind: tuple[str, ...] = (),
    key: str | None = typer.Option(None, "--key", help="Made once: said again, the same task is edited."),
    owner: str | None = typer.Option(None, "--owner", help="Whose task it is."),
    pause: bool = typer.Option(False, "--pause", help="Made, but paused."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would be made; make nothing."),
) -> None:
    """Make a task."""
    text, stray = _split(when, said)
    shape = task_shape(said, stray, behind)
    if not any(each in shape for each in ("say", "http", "command", "function", "event", "target")):
        raise refuse("no_work")
    kept = has_durable_store(out)
    if said["zone"] is not None or not kept:
        # Refused before a store is opened or made. Elsewhere the owner may have a zone.
        _read(text, said["zone"], out)
    named = {"name": usual_name(shape) if name is None else name, "when": text, "key": key, "owner": owner}
    wish = read_task(named | shape)

    async def work(app: CommandSession) -> CreatedTask:
        resolved = await app.resolve(wish)
        assumed = await owner_zone(app, wish.owner) if resolved.request.zone is None else None
        schedule, surprises = _read(text, resolved.request.zone, out, assumed)
        resolved = resolved._replace(request=resolved.request._replace(when=schedule))
        made = await (_rehearsed(app, resolved.request) if dry_run else _make(app, resolved.request, paused=pause))
        resolved = app.with_advisories(resolved)
        shown = not (dry_run or out.json or out.quiet)
        reference = await task_reference(app, made.facts.task, out) if shown else ""
        warnings = _distinct((*used_up_advisories(made.facts), *resolved.warnings, *surprises))
        return made._replace(resolved=resolved, warnings=warnings, reference=reference)

    if not dry_run:
        refuse_memory(out)
    with explaining(text):
        made = run_in_memory(work) if dry_run and not kept else run_in_session(out, work, create=not dry_run)
    _show(out, made)


def _distinct(warnings: tuple[ScheduleWarning | Advisory, ...]) -> tuple[ScheduleWarning | Advisory, ...]:
    """Each code once: a server warns of what is known here too."""
    return tuple({each.code: each for each in reversed(warnings)}.values())[::-1]


def _split(when: list[str], said: Said) -> tuple[str, list[str]]:
    """The words of the schedule; with `--http METHOD`, an address may stand behind them."""
    if said["http"] is not None and len(when) > 1 and when[-1].lower().startswith(("http://", "https://")):
        return " ".join(when[:-1]), [when[-1]]
    return " ".join(when), []


def _read(
    text: str, zone: str | None, out: Printer, assumed: AssumedZone | None = None
) -> tuple[Schedule, list[ScheduleWarning]]:
    from ...clock import SystemClock  # noqa: PLC0415 - the app has a clock of its own

    answer = ask(Question(text, zone, out.language, number=1, assumed=assumed), SystemClock().now())
    return answer.schedule, [each for each in answer.warnings if each.code not in _NOT_SAID]


async def _make(app: CommandSession, wish: TaskRequest, *, paused: bool) -> CreatedTask:
    before = None if wish.key is None else (await app.service.tasks.preview_declaration(app.principal, wish))[0]
    task = await app.service.tasks.create(app.principal, wish, paused="" if paused else None)
    facts, now = await app.service.tasks.get(app.principal, task.id), app.clock.now()
    readiness = await app.readiness(facts.task.target)
    return CreatedTask(facts, now, dry_run=False, readiness=readiness, edited=_edited(before, facts.task, now))


def _edited(before: Facts | None, after: Task, now: datetime) -> EditResult | None:
    if before is None:
        return None
    return EditResult(before.task, after, fire_changes(before.task, after, before.status, now))


async def _rehearsed(app: CommandSession, wish: TaskRequest) -> CreatedTask:
    """What would become of the task that has the key already, or of a new one: every check is the real one, and
    nothing is written."""
    before, after = (
        (None, None) if wish.key is None else await app.service.tasks.preview_declaration(app.principal, wish)
    )
    now = app.clock.now()
    if before is None or after is None:
        return CreatedTask(await app.preview(wish), now, dry_run=True)
    return CreatedTask(before._replace(task=after), now, dry_run=True, edited=_edited(before, after, now))


def _show(out: Printer, made: CreatedTask) -> None:
    facts, task = made.facts, made.facts.task
    if out.json:
        out.data(_receipt_json(out, made))
        return
    if out.quiet:
        out.ids([] if made.dry_run else [task.id])
        return
    out.line(_headline(out, made))
    if made.edited is not None:
        show_changes(out, made.edited, made.now)
    show_schedule(out, facts, made.now, made=True)
    out.row(out.translate(messages.DOES), target_line(task.target))
    out.row(out.translate(messages.LATE), policies_line(task.policies, out.language))
    show_declared(out, task, made.declared)
    if not made.dry_run:
        if facts.status.pause is not None:
            out.row(out.translate(messages.STATE), out.translate(messages.PAUSED_AT_BIRTH, name=task.id))
        if made.edited is None:
            # Of a task that was there before, removing it would take more away than was just put there.
            out.row(out.translate(messages.UNDO), command_line(out, "rm", short_task_id(out, task), "--yes"))
        out.row(out.translate(messages.SEE), command_line(out, "show", made.reference))
    show_warnings(out, made.warnings)
    if made.readiness is not None:
        show_readiness(out, made.readiness, made.warnings)


def _headline(out: Printer, made: CreatedTask) -> Cell:
    task, change = made.facts.task, made.change
    said = {
        "new": messages.NOT_MADE if made.dry_run else None,
        "changed": messages.WAS_EDITED,
        "same": messages.AS_IT_IS,
    }[change]
    if made.dry_run and change == "changed":
        said = messages.NOT_EDITED
    sign = (
        StyledText("○ ", "dim")
        if made.dry_run
        else StyledText("= ", "dim")
        if change == "same"
        else StyledText("✓ ", "good")
    )
    told = "" if said is None else out.translate(said, version=task.version)
    name = "" if made.dry_run and change == "new" else f"{task.id}  "
    return (sign, StyledText(task.name, "bold"), "  ", StyledText(f"{name}{told}".rstrip(), "dim"))


def _receipt_json(out: Printer, made: CreatedTask) -> dict[str, Any]:
    facts = made.facts
    return {
        "task": task_json(facts, out.language),
        "fires": fires_json(fires_of(facts.task, facts.status, made.now, FIRES)),
        "warnings": warnings_json(made.warnings, out.language),
        "declared": made.declared,
        "dry_run": made.dry_run,
        "change": made.change,
        **({"removed": [], "added": []} if made.edited is None else fires_changed_json(made.edited)),
    }
