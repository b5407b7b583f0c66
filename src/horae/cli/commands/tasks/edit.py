"""`horae edit`: changes the given fields of a task and prints the fires that are removed and added."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import click

from ....model.change import Facts
from ....model.refusals import refuse as refuse_task
from ....schedule import Once, to_json
from ....schedule.after import with_names
from ....schedule.any_of import parts_of
from ....schedule.describe import describe_schedule
from ....schedule.preview import make_fires
from ....service.tasks.advisories import Advisory
from ....service.tasks.edits import EditResult
from ....wire.instants import local, utc
from ....wire.tasks.previews import warnings_json
from ....wire.tasks.task import definition_json, edited_after, read_edits, task_json
from ...command import Command
from ...messages import messages
from ...messages.refusals import refuse
from ...output.printer import Printer, json_text
from ...output.receipt import show_warnings, whole_seconds
from ...output.schedule_text import fire_lines
from ...output.styled_text import StyledText
from ...parameters import INTEGER, Values
from ...schedule_question import Question, answer_question, hint_explain_command
from ...session.command_session import CommandSession, run_in_session
from ...task_filter import task_argument
from ...task_options import after_options, complete_agent, definition_options, task_shape
from .chain_tree import predecessor_names


@click.command("edit", cls=Command, takes_program=True)
@task_argument
@click.argument("extra_words", nargs=-1, metavar="[URL]", help="The address for --http METHOD.")
@click.option("--when", help="A new schedule; it counts from now.")
@after_options
@click.option("--name", help="A new name.")
@definition_options
@click.option("--if-version", type=INTEGER, help="Change the task only if it still has this version.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
def edit(
    out: Printer,
    *,
    task: str,
    extra_words: tuple[str, ...],
    when: str | None,
    after: tuple[str, ...],
    after_mode: str | None,
    name: str | None,
    definition: Values,
    program: tuple[str, ...],
    if_version: int | None,
    dry_run: bool,
) -> None:
    """Change a task."""
    shape = task_shape(definition, list(extra_words), program, is_edit=True)
    shape |= {key: value for key, value in (("when", when), ("name", name)) if value is not None}
    if when is not None and (after or after_mode is not None):
        raise refuse_task("after_and_schedule")
    if not (shape or after or after_mode):
        raise refuse("nothing_to_change")

    async def work(app: CommandSession) -> _Edited:
        found = await app.service.tasks.find_by_name(app.principal, task)
        if when is not None:
            # Parsed here first, so that a refusal can point at the place in the typed text.
            question = Question(when, definition["zone"] or found.task.schedule.zone, out.language, number=1)
            answer = answer_question(question, out.command_settings.base, app.clock.now())
            if any(isinstance(part, Once) for part in parts_of(answer.schedule)):
                # As with `add`: "in 5s" counts from a whole second.
                shape["when"] = to_json(answer.schedule)
        links = edited_after(found.task, after, after_mode)
        given = complete_agent(shape, found.task)
        edits = read_edits(given if links is None else {**given, "when": links})
        done = await app.service.tasks.edit(app.principal, found.task.id, edits, expected=if_version, dry_run=dry_run)
        warnings = await app.review(done, edits)
        facts = await app.service.tasks.get(app.principal, found.task.id)
        names = await predecessor_names(app, done.before, done.after)
        return _Edited(done, facts, app.clock.now(), warnings, names)

    with hint_explain_command(when or ""):
        edited = run_in_session(out, work)
    if out.json:
        out.data(_json(out, edited, dry_run=dry_run))
    elif out.quiet:
        out.ids([edited.facts.task.id])
    else:
        _show(out, edited, dry_run=dry_run)
        show_warnings(out, edited.warnings)


class _Edited(NamedTuple):
    """`names`: those of the tasks that it ran after, and runs after now, by id."""

    done: EditResult
    facts: Facts
    now: datetime
    warnings: tuple[Advisory, ...]
    names: Mapping[str, str]


def _json(out: Printer, edited: _Edited, *, dry_run: bool) -> dict[str, Any]:
    return {
        "task": task_json(edited.facts, out.language, names=edited.names),
        "changed": changed_fields(edited.done),
        **fires_changed_json(edited.done),
        "dry_run": dry_run,
        "warnings": warnings_json(edited.warnings, out.language),
    }


def fires_changed_json(done: EditResult) -> dict[str, Any]:
    before, after = done.before.schedule.zone, done.after.schedule.zone
    return {
        "removed": [{"at": utc(at), "at_local": local(at, before)} for at in done.fires.removed],
        "added": [{"at": utc(at), "at_local": local(at, after)} for at in done.fires.added],
    }


def changed_fields(done: EditResult) -> dict[str, Any]:
    """Return the value before and after by field name; each policy is a field of its own."""
    before, after = _flatten_policies(definition_json(done.before)), _flatten_policies(definition_json(done.after))
    return {name: {"from": before[name], "to": after[name]} for name in after if before[name] != after[name]}


def _flatten_policies(definition: dict[str, Any]) -> dict[str, Any]:
    policies = definition.pop("policies")
    return definition | {f"policies.{name}": value for name, value in policies.items()}


def _show(out: Printer, edited: _Edited, *, dry_run: bool) -> None:
    done = edited.done
    changed = changed_fields(done)
    if not changed:
        out.line(out.translate(messages.UNCHANGED, name=done.after.name))
        return
    message = messages.WOULD_EDIT if dry_run else messages.EDITED
    out.line(out.translate(message, name=done.after.name, version=done.after.version))
    show_changes(out, done, edited.now, edited.names)


def show_changes(out: Printer, done: EditResult, now: datetime, names: Mapping[str, str]) -> None:
    """Print each changed field, then the removed and added fires. `names`: those of predecessors, by id."""
    for name, change in changed_fields(done).items():
        before, after = json_text(change["from"]), json_text(change["to"])
        if name == "when":
            before, after = (
                describe_schedule(with_names(each.schedule, names), out.language) for each in (done.before, done.after)
            )
        out.line(("  ~ ", f"{name}: ", StyledText(before, "dim"), " → ", after))
    lines = ((messages.GONE, "-", done.fires.removed, done.before), (messages.NEW, "+", done.fires.added, done.after))
    for label, sign, instants, task in lines:
        fires = [whole_seconds(fire) for fire in make_fires(task.schedule.zone or "UTC", instants[:5])]
        for number, text in enumerate(fire_lines(fires, now.replace(microsecond=0), out, indent=2)):
            out.row(out.translate(label) if number == 0 else "", f"{sign} {text}")
    if done.fires.removed or done.fires.added:
        out.row("", StyledText(out.translate(messages.NOT_RETROACTIVE), "dim"))
