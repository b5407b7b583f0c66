"""`horae run`, `retry`, `stop`, `backfill`: request runs outside of the schedule, wait for them, or end them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Final, NamedTuple

import click

from ....lifecycle.control.edit import backfill as plan_backfill
from ....lifecycle.due_backlog import MICROSECOND, without_repeat
from ....model.change import Facts
from ....model.entry import Entry, EntryKind
from ....model.ids import run_id
from ....model.inputs.run_input import RunInput
from ....model.page import Page
from ....model.reason import describe_reason
from ....model.run import Origin, Run, RunState
from ....model.task import Task, past_of
from ....ports.store import RunFilter
from ....schedule import count
from ....service.query.instants import parse_span
from ....service.runs.explanations import find_occurrence
from ....service.tasks.task_request import read_duration
from ....state_names import state_name
from ....wire.runs import run_json
from ....wire.tasks.task import task_json
from ...command import Command
from ...lookup import find_failed_run, find_run, is_run
from ...messages import messages
from ...messages.refusals import refuse
from ...output.formats import duration_message, error_text, exact_duration, first_line, sign_of
from ...output.printer import Printer
from ...output.readiness import Readiness, show_readiness
from ...output.run_tail import RunTail, follow_lines, wait_for_claim
from ...output.styled_text import StyledText
from ...parameters import Values
from ...session.command_session import CommandSession, run_in_session
from ...task_filter import (
    CONFIRM_ABOVE,
    BulkAction,
    act_on_many,
    bulk_options,
    is_filter,
    optional_task_argument,
    task_argument,
)
from ...task_options import input_options, read_input_options
from .show_run import show_gate_verdict, show_lines

_run_argument: Final = click.argument("run", metavar="RUN|TASK", help="The id of a run; or a task, for its newest one.")


class QueuedRun(NamedTuple):
    """A requested run; it has no row before its claim. `readiness`: the nodes that could claim it."""

    id: str
    task: Task
    zone: str
    readiness: Readiness


@click.command("run", cls=Command, asks=True)
@optional_task_argument
@click.option("--wait", "-w", is_flag=True, help="Wait until it has ended, retries included.")
@click.option("--follow", "-f", is_flag=True, help="Show its log lines; implies --wait.")
@click.option("--timeout", metavar="30s", help="Longest time to wait.")
@click.option("--as-of", metavar="INSTANT", help="Run the occurrence of this past time.")
@input_options
@click.option("--no-chain", is_flag=True, help="Do not start the tasks that run after it.")
@click.option("--gate-only", is_flag=True, help="Ask its gate and show the verdict; the target is not called.")
@bulk_options
def run(
    out: Printer,
    *,
    task: str | None,
    wait: bool,
    follow: bool,
    timeout: str | None,
    as_of: str | None,
    inputs: Values,
    no_chain: bool,
    gate_only: bool,
    filters: Values,
) -> None:
    """Run a task now, once more."""
    given = read_input_options(inputs)
    if gate_only and (as_of is not None or is_filter(task, filters)):
        raise refuse("gate_of_one_task")
    if is_filter(task, filters):
        if given is not None:
            raise refuse("input_for_many")
        act_on_many(
            out,
            filters,
            messages.RUN,
            BulkAction("run", {"chain": False} if no_chain else {}),
        )
        return
    seconds = None if timeout is None else read_duration("timeout", timeout).total_seconds()
    request = _RunRequest(as_of, given, chain=not no_chain, gate_only=gate_only)
    queued = run_in_session(out, lambda app: _queue(app, task or "", request))
    show_readiness(out, queued.readiness)
    if not (wait or follow or gate_only):
        _show_queued(out, queued)
        return
    if not out.json:
        out.note(messages.WAITS_TO_START, name=queued.task.name, id=queued.id)
    try:
        ended = run_in_session(out, lambda app: _follow_to_end(app, out, queued, seconds, follow=follow))
    except TimeoutError:
        raise refuse("wait_timed_out", seconds=f"{seconds:g}", task=queued.task.name) from None
    if gate_only:
        show_gate_verdict(out, ended, queued.task)
    else:
        _show_ended(out, queued, ended, follow=follow)


class _RunRequest(NamedTuple):
    as_of: str | None
    given: RunInput | None
    chain: bool
    gate_only: bool


async def _queue(app: CommandSession, name: str, request: _RunRequest) -> QueuedRun:
    facts = await app.service.tasks.find_by_name(app.principal, name)
    given, chain = request.given, request.chain
    if request.as_of is None:
        name = await app.service.tasks.run_now(
            app.principal, facts.task.id, given, chain=chain, gate_only=request.gate_only
        )
        return QueuedRun(name, facts.task, app.zone, await app.readiness(facts.task.target))
    at = find_occurrence(facts, request.as_of, app.zone, app.clock.now())
    after = await app.service.tasks.backfill(app.principal, facts.task.id, at, at, again=True, given=given, chain=chain)
    name = _backfill_run_id(after, at, at)
    return QueuedRun(name, facts.task, app.zone, await app.readiness(facts.task.target))


def _backfill_run_id(facts: Facts, first: datetime, last: datetime) -> str:
    """Return the id of the first run of the entries that the backfill put on the agenda."""
    entry = next(each for each in facts.entries if _is_backfill_entry(each, first, last))
    return run_id(facts.task.id, entry.origin, entry.planned, entry.attempt)


def _is_backfill_entry(entry: Entry, first: datetime, last: datetime) -> bool:
    return entry.kind is EntryKind.WAITING and entry.origin is Origin.BACKFILL and first <= entry.planned <= last


async def _follow_to_end(
    app: CommandSession, out: Printer, queued: QueuedRun, seconds: float | None, *, follow: bool
) -> Run:
    async with asyncio.timeout(seconds):
        first = await wait_for_claim(app, queued.id, queued.task.id)
        with out.progress(messages.PROGRESS, 1) as bar:
            tail = RunTail(out, queued.zone, bar)
            if follow:
                _show_started(out, first)
                async for line in follow_lines(app, queued.id, follow=True):
                    tail.show(line)
            return await _wait_for_end(app, queued.task.id, (first.origin, first.planned))


async def _wait_for_end(app: CommandSession, task_id: str, occurrence: tuple[Origin, datetime]) -> Run:
    from ....app.wait import RunWaiters  # noqa: PLC0415 - most commands do not wait

    return await RunWaiters().wait_for_end(lambda: _WaitReads(app), task_id, app.principal.owner_filter, occurrence)


class _WaitReads:
    """Reads for `RunWaiters`, through the session of the command."""

    def __init__(self, app: CommandSession) -> None:
        self._app = app

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        del owner
        return await self._app.facts(task_id)

    async def runs(self, filters: RunFilter, *, limit: int) -> Page[Run]:
        return await self._app.service.runs.page(self._app.principal, filters, None, limit)


def _show_queued(out: Printer, queued: QueuedRun) -> None:
    if out.json:
        out.data({"run_id": queued.id, "task_id": queued.task.id, "task": queued.task.name})
    elif out.quiet:
        out.ids([queued.id])
    else:
        starts = bool(queued.readiness.nodes.live) and queued.readiness.missing is None
        message = messages.QUEUED if starts else messages.QUEUED_LATER
        out.line(out.translate(message, name=queued.task.name, id=queued.id))


def _show_started(out: Printer, run: Run) -> None:
    if out.json or out.quiet or run.lateness is None:
        return
    node = "" if run.node is None else f" · {run.node}"
    out.line(
        StyledText(
            out.translate(messages.STARTED, id=run.id, late=duration_message(exact_duration(run.lateness)), node=node),
            "dim",
        ),
        flush=True,
    )


def _show_ended(out: Printer, queued: QueuedRun, ended: Run, *, follow: bool) -> None:
    shape = run_json(ended, queued.task.name, queued.task.schedule.zone, out.language)
    if out.json:
        out.each(shape) if follow else out.data(shape)
    elif out.quiet:
        out.ids([ended.id])
    else:
        took = (
            "–"
            if ended.started is None or ended.ended is None
            else duration_message(exact_duration(ended.ended - ended.started))
        )
        out.line(
            (
                sign_of(ended),
                f" {out.translate(messages.ENDED, state=state_name(ended.state, out.language), took=took)}",
            )
        )
        show_lines(out, "", error_text(ended, out.language), "bad")
    if ended.state is RunState.SKIPPED:
        because, because_zh = (
            ("", "") if ended.reason is None else (describe_reason(ended.reason), describe_reason(ended.reason, "zh"))
        )
        raise refuse("awaited_run_skipped", id=ended.id, because=because, because_zh=because_zh)
    if ended.state is not RunState.SUCCEEDED:
        error, error_zh = first_line(error_text(ended, "en")), first_line(error_text(ended, "zh"))
        raise refuse("awaited_run_failed", id=ended.id, state=ended.state.value, error=error, error_zh=error_zh)


@click.command("retry", cls=Command)
@_run_argument
@input_options
def retry(out: Printer, *, run: str, inputs: Values) -> None:
    """Try a failed run again."""
    given = read_input_options(inputs)

    async def work(app: CommandSession) -> tuple[str, Facts]:
        found = await find_failed_run(app, run)
        return found.run.id, await app.service.runs.retry(app.principal, found.run.id, given)

    name, facts = run_in_session(out, work)
    if out.json:
        out.data({"run_id": name, "task_id": facts.task.id, "task": facts.task.name})
    elif out.quiet:
        out.ids([name])
    else:
        out.line(out.translate(messages.RETRYING, id=name))


@click.command("stop", cls=Command)
@_run_argument
def stop(out: Printer, *, run: str) -> None:
    """Ask a run to end."""

    async def work(app: CommandSession) -> tuple[Run, Facts]:
        ended = await app.service.runs.cancel(app.principal, await _find_run_to_stop(app, run))
        return ended, await app.service.tasks.get(app.principal, ended.task_id)

    ended, facts = run_in_session(out, work)
    if out.json:
        out.data(run_json(ended, facts.task.name, facts.task.schedule.zone, out.language))
    elif out.quiet:
        out.ids([ended.id])
    else:
        message = messages.STOPPING if ended.live else messages.STOPPED
        if ended.state is RunState.SKIPPED:
            message = messages.STOPPED_BEFORE_START
        out.line(out.translate(message, id=ended.id, state=state_name(ended.state, out.language)))


async def _find_run_to_stop(app: CommandSession, name: str) -> str:
    """Return the run id; for a task, its newest run, or its requested run that has not started."""
    if is_run(name):
        return name
    facts = await app.service.tasks.find_by_name(app.principal, name)
    page = await app.service.runs.page(app.principal, RunFilter(task_id=facts.task.id), limit=1)
    waiting = [entry for entry in facts.entries if entry.kind is EntryKind.MANUAL]
    if waiting and not (page.items and page.items[0].live):
        return run_id(facts.task.id, waiting[-1].origin, waiting[-1].planned, waiting[-1].attempt)
    return (await find_run(app, name)).run.id


@click.command("backfill", cls=Command, asks=True)
@task_argument
@click.option("--from", "first", required=True, metavar="INSTANT", help="Start of the range, included.")
@click.option(
    "--to", "last", required=True, metavar="INSTANT", help="End of the range, included; a date is the whole day."
)
@click.option("--again", is_flag=True, help="Also occurrences that were backfilled before.")
@click.option("--no-chain", is_flag=True, help="Do not start the tasks that run after it.")
@click.option("--dry-run", is_flag=True, help="Show the number only; change nothing.")
@input_options
def backfill(
    out: Printer,
    *,
    task: str,
    first: str,
    last: str,
    again: bool,
    no_chain: bool,
    dry_run: bool,
    inputs: Values,
) -> None:
    """Run the occurrences of a past range."""
    given = read_input_options(inputs)

    async def load_range(app: CommandSession) -> tuple[Facts, datetime, datetime, int]:
        facts = await app.service.tasks.find_by_name(app.principal, task)
        now, zone = app.clock.now(), facts.task.schedule.zone or app.zone
        begin, end = parse_span(first, zone, now).first, min(parse_span(last, zone, now).last, now)
        plan_backfill(facts, begin, end, now, given=given)  # refuses an impossible range
        return facts, begin, end, _count_occurrences(facts, begin, end)

    facts, begin, end, number = run_in_session(out, load_range)
    if not dry_run:
        if number > CONFIRM_ABOVE:
            out.confirm(messages.BACKFILL, name=facts.task.name, number=number)
        facts = run_in_session(
            out,
            lambda app: app.service.tasks.backfill(
                app.principal, facts.task.id, begin, end, again=again, given=given, chain=not no_chain
            ),
        )
    if out.json:
        out.data({"task": task_json(facts, out.language), "count": number, "dry_run": dry_run})
    elif out.quiet:
        out.ids([facts.task.id])
    else:
        message = messages.WOULD_BACKFILL if dry_run else messages.BACKFILLED
        out.line(out.translate(message, name=facts.task.name, number=number))


def _count_occurrences(facts: Facts, first: datetime, last: datetime) -> int:
    return count(without_repeat(facts.task.schedule), first - MICROSECOND, last, past_of(facts.task, facts.status))
