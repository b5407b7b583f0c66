"""`horae pause`, `resume`, `undo`, `skip`, `cancel`, `rm`: actions on one task, or on all tasks that match a filter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

import click

from ....lifecycle.control.restore import can_restore
from ....lifecycle.due_backlog import MICROSECOND
from ....model.change import Facts
from ....model.entry import EntryKind
from ....model.policy import MISSED_MODES, MissedMode
from ....model.task import Task, TaskState, past_of
from ....schedule import count
from ....service.query.instants import parse_future_instant
from ....service.tasks.operations.bulk import BulkReport
from ....service.tasks.operations.worker import report_of
from ....wire.tasks.task import task_json
from ...command import Command
from ...messages import messages
from ...output.formats import duration_message, full_time, short_duration
from ...output.printer import Printer
from ...parameters import INTEGER, Values, one_of
from ...session.command_session import CommandSession, run_in_session
from ...task_filter import (
    BulkAction,
    act_on_many,
    bulk_options,
    is_filter,
    optional_task_argument,
    show_report,
    task_argument,
)


@click.command("pause", cls=Command, asks=True)
@optional_task_argument
@click.option("--reason", default="", help="Reason, shown with the task.")
@click.option("--until", help="When the task is resumed by itself: 2026-12-01 09:00.")
@bulk_options
def pause(out: Printer, *, task: str | None, reason: str, until: str | None, filters: Values) -> None:
    """Pause a task: it starts no runs until it is resumed."""

    async def action(app: CommandSession, each: Task) -> Facts:
        end = None if until is None else _parse_until(app, each, until)
        return await app.service.tasks.pause(app.principal, each.id, note=reason, until=end)

    if is_filter(task, filters):
        arguments = {"note": reason, **({} if until is None else {"until": until})}
        act_on_many(out, filters, messages.PAUSE, BulkAction("pause", arguments))
        return
    facts, zone = run_in_session(out, lambda app: _act_on_one(app, task or "", action))
    pause_state = facts.status.pause
    message = ""
    if pause_state is not None and pause_state.until is not None:
        message = out.translate(messages.PAUSED_UNTIL, until=full_time(pause_state.until, zone, out.language))
    _show(out, facts, out.translate(messages.PAUSED, name=facts.task.name, until=message))


@click.command("resume", cls=Command, asks=True)
@optional_task_argument
@click.option(
    "--missed",
    type=one_of(MissedMode),
    help="What was missed meanwhile: skip it (default), run the latest, all, or one for all.",
)
@bulk_options
def resume(out: Printer, *, task: str | None, missed: MissedMode | None, filters: Values) -> None:
    """Resume a task."""
    if is_filter(task, filters):
        act_on_many(out, filters, messages.RESUME, BulkAction("resume", {"missed": missed or "skip"}))
        return
    before, now = run_in_session(out, lambda app: _find_task(app, task or ""))
    number = missed_while_paused(before, now)
    mode = missed or _ask_about_missed(out, before, number, now)
    facts = run_in_session(out, lambda app: app.service.tasks.resume(app.principal, before.task.id, mode))
    missed_text = messages.RESUMED_MISSED.in_language(out.language, number=number, mode=messages.MISSED_MODES[mode])
    if not number:
        missed_text = out.translate(messages.RESUMED_NOTHING)
    message = out.translate(messages.RESUMED, name=facts.task.name, missed=missed_text)
    if before.status.state is TaskState.ACTIVE:
        message = out.translate(messages.NOT_PAUSED, name=facts.task.name)
    _show(out, facts, message)


@click.command("undo", cls=Command)
@click.argument(
    "name", metavar="WHAT", help="The cancelled task, or the id of the operation: the command has printed it."
)
def undo(out: Printer, *, name: str) -> None:
    """Undo the cancel of a task, or a bulk pause, resume or cancel."""
    if name.startswith("opn_"):
        show_report(out, messages.UNDO_MANY, run_in_session(out, lambda app: _undo_operation(app, name)))
        return

    async def action(app: CommandSession, each: Task) -> Facts:
        return await app.service.tasks.undo_cancel(app.principal, each.id)

    facts, _ = run_in_session(out, lambda app: _act_on_one(app, name, action))
    _show(out, facts, out.translate(messages.RESTORED, name=facts.task.name))


async def _undo_operation(app: CommandSession, name: str) -> BulkReport:
    operations = app.service.operations
    begun = await operations.undo(app.principal, name)
    return report_of(await operations.wait(app.principal, begun.id))


@click.command("skip", cls=Command)
@task_argument
@click.argument("number", type=INTEGER, default=1, metavar="[N]", help="Number of occurrences; 0 cancels the skip.")
def skip(out: Printer, *, task: str, number: int) -> None:
    """Skip the next occurrences of a task."""

    async def action(app: CommandSession, each: Task) -> Facts:
        return await app.service.tasks.skip_next(app.principal, each.id, number)

    facts, _ = run_in_session(out, lambda app: _act_on_one(app, task, action))
    message = {0: messages.SKIPPING_NONE, 1: messages.SKIPPING_ONE}.get(number, messages.SKIPPING)
    _show(out, facts, out.translate(message, name=facts.task.name, number=number))


@click.command("cancel", cls=Command, asks=True)
@optional_task_argument
@bulk_options
def cancel(out: Printer, *, task: str | None, filters: Values) -> None:
    """Cancel a task; its history stays."""
    if is_filter(task, filters):
        act_on_many(out, filters, messages.CANCEL, BulkAction("cancel"))
        return
    before, _ = run_in_session(out, lambda app: _find_task(app, task or ""))
    facts = run_in_session(out, lambda app: app.service.tasks.cancel(app.principal, before.task.id))
    _show(out, facts, out.translate(messages.CANCELLED, name=facts.task.name))
    if can_restore(before.task.schedule, before.status.state):
        out.note(messages.UNDO_CANCEL, id=facts.task.id)


@click.command("rm", cls=Command, asks=True)
@optional_task_argument
@click.option("--force", is_flag=True, help="Remove it also if other tasks run after it; these are then paused.")
@bulk_options
def remove(out: Printer, *, task: str | None, force: bool, filters: Values) -> None:
    """Remove a task and its history."""
    if is_filter(task, filters):
        arguments = {"force": True} if force else {}
        act_on_many(out, filters, messages.REMOVE, BulkAction("delete", arguments), always_asks=True)
        return
    facts, _ = run_in_session(out, lambda app: _find_task(app, task or ""))
    out.confirm(messages.REMOVE_ONE, name=facts.task.name)
    run_in_session(out, lambda app: app.service.tasks.delete(app.principal, facts.task.id, force=force))
    if out.json:
        out.data({"id": facts.task.id, "name": facts.task.name, "removed": True})
    else:
        _show(out, facts, out.translate(messages.REMOVED, name=facts.task.name))


async def _find_task(app: CommandSession, name: str) -> tuple[Facts, datetime]:
    return await app.service.tasks.find_by_name(app.principal, name), app.clock.now()


async def _act_on_one(
    app: CommandSession, name: str, action: Callable[[CommandSession, Task], Awaitable[Facts]]
) -> tuple[Facts, str]:
    found = await app.service.tasks.find_by_name(app.principal, name)
    return await action(app, found.task), found.task.schedule.zone or app.zone


def _parse_until(app: CommandSession, task: Task, text: str) -> datetime:
    return parse_future_instant(text, task.schedule.zone or app.zone, app.clock.now())


def missed_while_paused(facts: Facts, now: datetime) -> int:
    """Count the occurrences that passed while the task was paused or failed."""
    task, status = facts.task, facts.status
    since = status.ended if status.state is TaskState.FAILED else None
    if status.pause is not None:
        overdue = [entry.planned for entry in facts.entries if entry.kind is EntryKind.NEXT and entry.planned < now]
        since = overdue[0] - MICROSECOND if overdue else None
    return 0 if since is None else count(task.schedule, since, now, past_of(task, status))


def _ask_about_missed(out: Printer, facts: Facts, number: int, now: datetime) -> MissedMode:
    if not number or out.yes:
        return "skip"
    pause_state = facts.status.pause
    since = (pause_state.since if pause_state is not None else facts.status.ended) or now
    question = out.translate(
        messages.MISSED_WHILE_PAUSED, length=duration_message(short_duration(now - since)), number=number
    )
    choices = [(mode, messages.MISSED_MODES[mode].in_language(out.language)) for mode in MISSED_MODES]
    answer = out.choose(f"  {question}", choices, "skip", "--missed")
    return next(mode for mode in MISSED_MODES if mode == answer)


def _show(out: Printer, facts: Facts, message: str) -> None:
    if out.json:
        out.data(task_json(facts, out.language))
    elif out.quiet:
        out.ids([facts.task.id])
    else:
        out.line(message)
