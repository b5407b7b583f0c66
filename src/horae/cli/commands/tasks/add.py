"""`horae add`: creates a task, or edits the one with the same key, and prints a receipt with the next fires."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

import click

from ....model.change import Facts
from ....model.refusals import refuse as refuse_task
from ....model.task import Task
from ....schedule import Schedule
from ....schedule.warnings import ScheduleWarning
from ....service.tasks.advisories import Advisory
from ....service.tasks.default_zone import AssumedZone
from ....service.tasks.edits import EditResult, fire_changes
from ....service.tasks.functions.functions import ResolvedRequest
from ....service.tasks.quotas import used_up_advisories
from ....service.tasks.task_request import TaskRequest
from ....wire.tasks.previews import warnings_json
from ....wire.tasks.task import parse_link, read_task, task_json
from ...command import Command
from ...lookup import short_task_id, task_reference
from ...messages import messages
from ...messages.refusals import refuse
from ...output.command_hints import command_line
from ...output.printer import Printer
from ...output.readiness import Readiness, show_readiness
from ...output.receipt import (
    FIRES,
    fires_json,
    fires_of,
    policies_line,
    show_declared,
    show_schedule,
    show_warnings,
    target_line,
)
from ...output.styled_text import Cell, StyledText
from ...parameters import Values
from ...schedule_question import Question, answer_question, hint_explain_command, owner_zone
from ...session.command_session import CommandSession, has_durable_store, refuse_memory, run_in_memory, run_in_session
from ...task_options import after_options, default_name, definition_options, json_option, task_shape
from .chain_tree import predecessor_names
from .edit import changed_fields, fires_changed_json, show_changes

_OMITTED_WARNINGS: tuple[str, ...] = ("anchored",)  # true of every interval; `explain` shows it


class CreatedTask(NamedTuple):
    """Result of `horae add`. `now`: the instant that the receipt counts from. `readiness`: the nodes that could run the
    task; None for a dry run.

    `edited`: the change of the task that already has the key. `reference`: the task as the next command names it.
    """

    facts: Facts
    now: datetime
    dry_run: bool
    readiness: Readiness | None = None
    edited: EditResult | None = None
    resolved: ResolvedRequest | None = None
    warnings: tuple[ScheduleWarning | Advisory, ...] = ()
    reference: str = ""
    names: Mapping[str, str] = {}
    """Names of the tasks that it runs after, by id."""

    @property
    def declared(self) -> list[str]:
        """Fields taken from the declaration of the function."""
        return [] if self.resolved is None else self.resolved.declared_in(self.facts.task.schedule)

    @property
    def change(self) -> Literal["new", "changed", "same"]:
        if self.edited is None:
            return "new"
        return "changed" if changed_fields(self.edited) else "same"


@click.command("add", cls=Command, takes_program=True)
@click.argument("when", nargs=-1, metavar="WHEN", help='"every weekday at 9am", "in 20m", 每天早上9点.')
@after_options
@click.option("--name", help="Name of the task. Default: derived from its target.")
@definition_options
@click.option("--key", help="Unique key: used again, it edits the same task.")
@click.option("--owner", help="Owner of the task.")
@click.option("--past", metavar="JSON", help="Past of a task that began in another system; for admins.")
@click.option("--pause", is_flag=True, help="Make the task paused.")
@click.option("--dry-run", is_flag=True, help="Show what would be made; make nothing.")
def add(
    out: Printer,
    *,
    when: tuple[str, ...],
    after: tuple[str, ...],
    after_mode: str | None,
    name: str | None,
    definition: Values,
    program: tuple[str, ...],
    key: str | None,
    owner: str | None,
    past: str | None,
    pause: bool,
    dry_run: bool,
) -> None:
    """Make a task."""
    if not when and not after:
        context = click.get_current_context()
        raise click.MissingParameter(
            ctx=context, param=next(each for each in context.command.params if each.name == "when")
        )
    text, extra_words = _split_url(when, definition)
    if text and after:
        raise refuse_task("after_and_schedule")
    if after_mode is not None and not after:
        raise refuse_task("missing_field", name="after")
    shape = task_shape(definition, extra_words, program)
    if not any(each in shape for each in ("say", "http", "command", "function", "event", "agent", "target")):
        raise refuse("no_work")
    durable = has_durable_store(out)
    if not after and (definition["zone"] is not None or not durable):
        # Refuse before a store is opened or created. Without --zone, the owner may have a zone in the store.
        _parse_schedule(text, definition["zone"], out)
    fields: dict[str, Any] = {
        "name": default_name(shape) if name is None else name,
        **({"after": list(map(parse_link, after)), "mode": after_mode} if after else {"when": text}),
        "key": key,
        "owner": owner,
    }
    if past is not None:
        fields["past"] = json_option("--past", past)
    request = read_task(fields | shape)

    async def work(app: CommandSession) -> CreatedTask:
        resolved = await app.resolve(request)
        schedule_warnings: list[ScheduleWarning] = []
        if not after:
            assumed = await owner_zone(app, request.owner) if resolved.request.zone is None else None
            schedule, schedule_warnings = _parse_schedule(text, resolved.request.zone, out, assumed)
            resolved = resolved._replace(request=resolved.request._replace(when=schedule))
        created = await (_preview(app, resolved.request) if dry_run else _create(app, resolved.request, paused=pause))
        resolved = app.with_advisories(resolved)
        shown = not (dry_run or out.json or out.quiet)
        named = (created.facts.task,) if created.edited is None else (created.edited.before, created.facts.task)
        created = created._replace(names=await predecessor_names(app, *named))
        reference = await task_reference(app, created.facts.task, out) if shown else ""
        warnings = _distinct((*used_up_advisories(created.facts), *resolved.warnings, *schedule_warnings))
        return created._replace(resolved=resolved, warnings=warnings, reference=reference)

    if not dry_run:
        refuse_memory(out)
    with hint_explain_command(text):
        created = run_in_memory(out, work) if dry_run and not durable else run_in_session(out, work, create=not dry_run)
    _show(out, created)


def _distinct(warnings: tuple[ScheduleWarning | Advisory, ...]) -> tuple[ScheduleWarning | Advisory, ...]:
    """Each code once: a server sends warnings that are also computed here."""
    return tuple({each.code: each for each in reversed(warnings)}.values())[::-1]


def _split_url(when: tuple[str, ...], definition: Values) -> tuple[str, list[str]]:
    """Split the schedule from the address that follows it with `--http METHOD`."""
    if definition["http"] is not None and len(when) > 1 and when[-1].lower().startswith(("http://", "https://")):
        return " ".join(when[:-1]), [when[-1]]
    return " ".join(when), []


def _parse_schedule(
    text: str, zone: str | None, out: Printer, assumed: AssumedZone | None = None
) -> tuple[Schedule, list[ScheduleWarning]]:
    from ....clock import SystemClock  # noqa: PLC0415 - a session has its own clock

    answer = answer_question(
        Question(text, zone, out.language, number=1, assumed=assumed), out.command_settings.base, SystemClock().now()
    )
    return answer.schedule, [each for each in answer.warnings if each.code not in _OMITTED_WARNINGS]


async def _create(app: CommandSession, request: TaskRequest, *, paused: bool) -> CreatedTask:
    before = None if request.key is None else (await app.service.tasks.preview_declaration(app.principal, request))[0]
    task = await app.service.tasks.create(app.principal, request, paused="" if paused else None)
    facts, now = await app.service.tasks.get(app.principal, task.id), app.clock.now()
    readiness = await app.readiness(facts.task.target)
    return CreatedTask(facts, now, dry_run=False, readiness=readiness, edited=_edit_result(before, facts.task, now))


def _edit_result(before: Facts | None, after: Task, now: datetime) -> EditResult | None:
    if before is None:
        return None
    return EditResult(before.task, after, fire_changes(before.task, after, before.status, now))


async def _preview(app: CommandSession, request: TaskRequest) -> CreatedTask:
    """Return the task as it would be created, or edited where the key exists; all checks run and nothing is written."""
    before, after = (
        (None, None) if request.key is None else await app.service.tasks.preview_declaration(app.principal, request)
    )
    now = app.clock.now()
    if before is None or after is None:
        return CreatedTask(await app.preview(request), now, dry_run=True)
    return CreatedTask(before._replace(task=after), now, dry_run=True, edited=_edit_result(before, after, now))


def _show(out: Printer, created: CreatedTask) -> None:
    facts, task = created.facts, created.facts.task
    if out.json:
        out.data(_receipt_json(out, created))
        return
    if out.quiet:
        out.ids([] if created.dry_run else [task.id])
        return
    out.line(_headline(out, created))
    if created.edited is not None:
        show_changes(out, created.edited, created.now, created.names)
    show_schedule(out, facts, created.now, made=True, names=created.names)
    out.row(out.translate(messages.DOES), target_line(task.target))
    out.row(out.translate(messages.LATE), policies_line(task.policies, out.language))
    if task.lanes:
        out.row(out.translate(messages.LANE), ", ".join(task.lanes))
    show_declared(out, task, created.declared)
    if not created.dry_run:
        if facts.status.pause is not None:
            out.row(out.translate(messages.STATE), out.translate(messages.PAUSED_AT_CREATION, name=task.id))
        if created.edited is None:
            # No undo for an edit: `rm` would remove the task that existed before.
            out.row(out.translate(messages.UNDO), command_line(out, "rm", short_task_id(out, task), "--yes"))
        out.row(out.translate(messages.SEE), command_line(out, "show", created.reference))
    show_warnings(out, created.warnings)
    if created.readiness is not None:
        show_readiness(out, created.readiness, created.warnings)


def _headline(out: Printer, created: CreatedTask) -> Cell:
    task, change = created.facts.task, created.change
    message = {
        "new": messages.NOT_MADE if created.dry_run else None,
        "changed": messages.WAS_EDITED,
        "same": messages.AS_IT_IS,
    }[change]
    if created.dry_run and change == "changed":
        message = messages.NOT_EDITED
    sign = (
        StyledText("○ ", "dim")
        if created.dry_run
        else StyledText("= ", "dim")
        if change == "same"
        else StyledText("✓ ", "good")
    )
    note = "" if message is None else out.translate(message, version=task.version)
    name = "" if created.dry_run and change == "new" else f"{task.id}  "
    return (sign, StyledText(task.name, "bold"), "  ", StyledText(f"{name}{note}".rstrip(), "dim"))


def _receipt_json(out: Printer, created: CreatedTask) -> dict[str, Any]:
    facts = created.facts
    return {
        "task": task_json(facts, out.language, names=created.names),
        "fires": fires_json(fires_of(facts.task, facts.status, created.now, FIRES)),
        "warnings": warnings_json(created.warnings, out.language),
        "declared": created.declared,
        "dry_run": created.dry_run,
        "change": created.change,
        **({"removed": [], "added": []} if created.edited is None else fires_changed_json(created.edited)),
    }
