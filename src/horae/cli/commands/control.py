"""`horae pause`, `resume`, `skip`, `cancel`, `rm`: what a person may do to a task, or to all that fit a filter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

import typer

from ...lifecycle.due_backlog import MICROSECOND
from ...model.change import Facts
from ...model.entry import EntryKind
from ...model.policy import MISSED_MODES, MissedMode
from ...model.task import Task, TaskState, past_of
from ...schedule import count
from ...service.query.instants import parse_future_instant
from ...wire.tasks import task_json
from ..command import Said, command
from ..messages import messages
from ..output.formatting import duration_message, full_time, short_duration
from ..output.printer import Printer
from ..session.command_session import CommandSession, run_in_session
from ..task_filter import MANY, ONE, TASK, BulkAction, do_to_many, is_filter


def register(app: typer.Typer) -> None:
    many = {"wanted": MANY}
    command(app, "pause", asks=True, groups=many)(pause)
    command(app, "resume", asks=True, groups=many)(resume)
    command(app, "skip")(skip)
    command(app, "cancel", asks=True, groups=many)(cancel)
    command(app, "rm", asks=True, groups=many)(remove)


def pause(
    out: Printer,
    *,
    task: str | None = TASK,
    reason: str = typer.Option("", "--reason", help="Why: shown wherever the task is."),
    until: str | None = typer.Option(None, "--until", help="When it goes on by itself: 2026-12-01 09:00."),
    wanted: Said,
) -> None:
    """Let nothing of a task start any more."""

    async def deed(app: CommandSession, each: Task) -> Facts:
        end = None if until is None else _moment(app, each, until)
        return await app.service.tasks.pause(app.principal, each.id, note=reason, until=end)

    if is_filter(task, wanted):
        arguments = {"note": reason, **({} if until is None else {"until": until})}
        do_to_many(out, wanted, messages.PAUSE, BulkAction(deed, "pause", arguments))
        return
    facts, zone = run_in_session(out, lambda app: _on_one(app, task or "", deed))
    pausing = facts.status.pause
    said = ""
    if pausing is not None and pausing.until is not None:
        said = out.translate(messages.PAUSED_UNTIL, until=full_time(pausing.until, zone, out.language))
    _tell(out, facts, out.translate(messages.PAUSED, name=facts.task.name, until=said))


def resume(
    out: Printer,
    *,
    task: str | None = TASK,
    missed: MissedMode | None = typer.Option(
        None, "--missed", help="What was missed meanwhile: skip it (default), run the latest, all, or one for all."
    ),
    wanted: Said,
) -> None:
    """Let a task go on."""
    if is_filter(task, wanted):

        async def deed(app: CommandSession, each: Task) -> Facts:
            return await app.service.tasks.resume(app.principal, each.id, missed or "skip")

        do_to_many(out, wanted, messages.RESUME, BulkAction(deed, "resume", {"missed": missed or "skip"}))
        return
    before, now = run_in_session(out, lambda app: _looked_at(app, task or ""))
    number = missed_while_away(before, now)
    mode = missed or _ask_about_missed(out, before, number, now)
    facts = run_in_session(out, lambda app: app.service.tasks.resume(app.principal, before.task.id, mode))
    told = messages.RESUMED_MISSED.in_language(out.language, number=number, mode=messages.MISSED_MODES[mode])
    if not number:
        told = out.translate(messages.RESUMED_NOTHING)
    said = out.translate(messages.RESUMED, name=facts.task.name, missed=told)
    if before.status.state is TaskState.ACTIVE:
        said = out.translate(messages.NOT_PAUSED, name=facts.task.name)
    _tell(out, facts, said)


def skip(
    out: Printer,
    *,
    task: str = ONE,
    number: int = typer.Argument(1, metavar="[N]", help="How many; 0 takes it back."),
) -> None:
    """Skip the next occurrences of a task."""

    async def deed(app: CommandSession, each: Task) -> Facts:
        return await app.service.tasks.skip_next(app.principal, each.id, number)

    facts, _ = run_in_session(out, lambda app: _on_one(app, task, deed))
    said = {0: messages.SKIPPING_NONE, 1: messages.SKIPPING_ONE}.get(number, messages.SKIPPING)
    _tell(out, facts, out.translate(said, name=facts.task.name, number=number))


def cancel(out: Printer, *, task: str | None = TASK, wanted: Said) -> None:
    """End a task for good; its history stays."""

    async def deed(app: CommandSession, each: Task) -> Facts:
        return await app.service.tasks.cancel(app.principal, each.id)

    if is_filter(task, wanted):
        do_to_many(out, wanted, messages.CANCEL, BulkAction(deed, "cancel"))
        return
    facts, _ = run_in_session(out, lambda app: _on_one(app, task or "", deed))
    _tell(out, facts, out.translate(messages.CANCELLED, name=facts.task.name))


def remove(out: Printer, *, task: str | None = TASK, wanted: Said) -> None:
    """Remove a task and its history."""

    async def deed(app: CommandSession, each: Task) -> None:
        await app.service.tasks.delete(app.principal, each.id)

    if is_filter(task, wanted):
        do_to_many(out, wanted, messages.REMOVE, BulkAction(deed, "delete"), always_asks=True)
        return
    facts, _ = run_in_session(out, lambda app: _looked_at(app, task or ""))
    out.confirm(messages.REMOVE_ONE, name=facts.task.name)
    run_in_session(out, lambda app: app.service.tasks.delete(app.principal, facts.task.id))
    if out.json:
        out.data({"id": facts.task.id, "name": facts.task.name, "removed": True})
    else:
        _tell(out, facts, out.translate(messages.REMOVED, name=facts.task.name))


async def _looked_at(app: CommandSession, name: str) -> tuple[Facts, datetime]:
    return await app.service.tasks.find_by_name(app.principal, name), app.clock.now()


async def _on_one(
    app: CommandSession, name: str, deed: Callable[[CommandSession, Task], Awaitable[Facts]]
) -> tuple[Facts, str]:
    found = await app.service.tasks.find_by_name(app.principal, name)
    return await deed(app, found.task), found.task.schedule.zone or app.zone


def _moment(app: CommandSession, task: Task, text: str) -> datetime:
    return parse_future_instant(text, task.schedule.zone or app.zone, app.clock.now())


def missed_while_away(facts: Facts, now: datetime) -> int:
    """How many occurrences have passed of a task that is paused, or has given up."""
    task, standing = facts.task, facts.status
    since = standing.ended if standing.state is TaskState.FAILED else None
    if standing.pause is not None:
        asleep = [entry.planned for entry in facts.entries if entry.kind is EntryKind.NEXT and entry.planned < now]
        since = asleep[0] - MICROSECOND if asleep else None
    return 0 if since is None else count(task.schedule, since, now, past_of(task, standing))


def _ask_about_missed(out: Printer, facts: Facts, number: int, now: datetime) -> MissedMode:
    if not number or out.yes:
        return "skip"
    pausing = facts.status.pause
    since = (pausing.since if pausing is not None else facts.status.ended) or now
    question = out.translate(
        messages.MISSED_WHILE_PAUSED, length=duration_message(short_duration(now - since)), number=number
    )
    choices = [(mode, messages.MISSED_MODES[mode].in_language(out.language)) for mode in MISSED_MODES]
    answer = out.choose(f"  {question}", choices, "skip", "--missed")
    return next(mode for mode in MISSED_MODES if mode == answer)


def _tell(out: Printer, facts: Facts, said: str) -> None:
    if out.json:
        out.data(task_json(facts, out.language))
    elif out.quiet:
        out.ids([facts.task.id])
    else:
        out.line(said)
