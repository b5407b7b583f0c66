"""`horae run`, `retry`, `stop`, `backfill`: runs that somebody asks for, or wants to end."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import NamedTuple

import typer

from ...lifecycle.due_backlog import MICROSECOND, without_repeat
from ...lifecycle.edit import backfill as plan_backfill
from ...model.change import Facts
from ...model.entry import Entry, EntryKind
from ...model.ids import run_id
from ...model.page import Page
from ...model.reason import describe_reason
from ...model.run import Origin, Run, RunState
from ...model.task import Task, past_of
from ...ports.store import RunFilter
from ...schedule import count
from ...service.query.instants import parse_span
from ...service.runs.ledger import find_occurrence
from ...service.tasks.task_request import read_duration
from ...state_names import state_name
from ...wire.runs import run_json
from ...wire.tasks import task_json
from ..command import Said, command
from ..messages import messages
from ..messages.refusals import refuse
from ..output.formatting import duration_message, error_text, exact_duration, first_line, sign_of
from ..output.printer import Printer
from ..output.readiness import Readiness, show_readiness
from ..output.run_tail import RunTail, follow_lines, wait_for_claim
from ..output.styled_text import StyledText
from ..run_lookup import failed_run_of, is_run, run_of
from ..session.command_session import CommandSession, run_in_session
from ..task_filter import MANY, MOST_UNASKED, ONE, TASK, BulkAction, do_to_many, is_filter
from .show_run import show_whole

_RUN = typer.Argument(..., metavar="RUN|TASK", help="The id of a run; or a task, for its newest one.")


class QueuedRun(NamedTuple):
    """A run that was asked for; before its claim it has no row. `readiness`: the nodes that could claim it."""

    id: str
    task: Task
    zone: str
    readiness: Readiness


def register(app: typer.Typer) -> None:
    command(app, "run", asks=True, groups={"wanted": MANY})(run)
    command(app, "retry")(retry)
    command(app, "stop")(stop)
    command(app, "backfill", asks=True)(backfill)


def run(
    out: Printer,
    *,
    task: str | None = TASK,
    wait: bool = typer.Option(False, "--wait", "-w", help="Until it has ended, retries included."),
    follow: bool = typer.Option(False, "--follow", "-f", help="Show what it says; implies --wait."),
    timeout: str | None = typer.Option(None, "--timeout", metavar="30s", help="Wait no longer than this."),
    as_of: str | None = typer.Option(
        None, "--as-of", metavar="INSTANT", help="As if due then: one occurrence made up for."
    ),
    wanted: Said,
) -> None:
    """Run a task now, once more."""
    if is_filter(task, wanted):
        do_to_many(
            out,
            wanted,
            messages.RUN,
            BulkAction(lambda app, each: app.service.tasks.run_now(app.principal, each.id), "run"),
        )
        return
    seconds = None if timeout is None else read_duration("timeout", timeout).total_seconds()
    queued = run_in_session(out, lambda app: _queue(app, task or "", as_of))
    show_readiness(out, queued.readiness)
    if not (wait or follow):
        _tell_queued(out, queued)
        return
    if not out.json:
        out.note(messages.WAITS_TO_START, name=queued.task.name, id=queued.id)
    try:
        ended = run_in_session(out, lambda app: _until_over(app, out, queued, seconds, follow=follow))
    except TimeoutError:
        raise refuse("wait_timed_out", seconds=f"{seconds:g}", task=queued.task.name) from None
    _tell_ended(out, queued, ended, follow=follow)


async def _queue(app: CommandSession, name: str, as_of: str | None) -> QueuedRun:
    facts = await app.service.tasks.find_by_name(app.principal, name)
    if as_of is None:
        name = await app.service.tasks.run_now(app.principal, facts.task.id)
        return QueuedRun(name, facts.task, app.zone, await app.readiness(facts.task.target))
    at = find_occurrence(facts, as_of, app.zone, app.clock.now())
    after = await app.service.tasks.backfill(app.principal, facts.task.id, at, at, again=True)
    name = _backfilled(after, at, at)
    return QueuedRun(name, facts.task, app.zone, await app.readiness(facts.task.target))


def _backfilled(facts: Facts, first: datetime, last: datetime) -> str:
    """The id of the first run of what was just put on the agenda."""
    entry = next(each for each in facts.entries if _is_of(each, first, last))
    return run_id(facts.task.id, entry.origin, entry.planned, entry.attempt)


def _is_of(entry: Entry, first: datetime, last: datetime) -> bool:
    return entry.kind is EntryKind.WAITING and entry.origin is Origin.BACKFILL and first <= entry.planned <= last


async def _until_over(
    app: CommandSession, out: Printer, queued: QueuedRun, seconds: float | None, *, follow: bool
) -> Run:
    async with asyncio.timeout(seconds):
        first = await wait_for_claim(app, queued.id, queued.task.id)
        with out.progress(messages.PROGRESS, 1) as bar:
            tail = RunTail(out, queued.zone, bar)
            if follow:
                _tell_started(out, first)
                async for line in follow_lines(app, queued.id, follow=True):
                    tail.show(line)
            return await _ended(app, queued.task.id, (first.origin, first.planned))


async def _ended(app: CommandSession, task_id: str, occurrence: tuple[Origin, datetime]) -> Run:
    from ...app.wait import RunWaiters  # noqa: PLC0415 - the library knows how to wait; most commands do not

    return await RunWaiters().wait_for_end(lambda: _Rows(app), task_id, app.principal.owner_filter, occurrence)


class _Rows:
    """What somebody who waits looks at."""

    def __init__(self, app: CommandSession) -> None:
        self._app = app

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        del owner
        return await self._app.facts(task_id)

    async def runs(self, wanted: RunFilter, *, limit: int) -> Page[Run]:
        return await self._app.service.runs.page(self._app.principal, wanted, None, limit)


def _tell_queued(out: Printer, queued: QueuedRun) -> None:
    if out.json:
        out.data({"run_id": queued.id, "task_id": queued.task.id, "task": queued.task.name})
    elif out.quiet:
        out.ids([queued.id])
    else:
        starts = bool(queued.readiness.nodes.live) and queued.readiness.missing is None
        said = messages.QUEUED if starts else messages.QUEUED_LATER
        out.line(out.translate(said, name=queued.task.name, id=queued.id))


def _tell_started(out: Printer, run: Run) -> None:
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


def _tell_ended(out: Printer, queued: QueuedRun, ended: Run, *, follow: bool) -> None:
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
        show_whole(out, "", error_text(ended, out.language), "bad")
    if ended.state is RunState.SKIPPED:
        because, because_zh = (
            ("", "") if ended.reason is None else (describe_reason(ended.reason), describe_reason(ended.reason, "zh"))
        )
        raise refuse("awaited_run_skipped", id=ended.id, because=because, because_zh=because_zh)
    if ended.state is not RunState.SUCCEEDED:
        error, error_zh = first_line(error_text(ended, "en")), first_line(error_text(ended, "zh"))
        raise refuse("awaited_run_failed", id=ended.id, state=ended.state.value, error=error, error_zh=error_zh)


def retry(out: Printer, *, run: str = _RUN) -> None:
    """Try a failed run again."""

    async def work(app: CommandSession) -> tuple[str, Facts]:
        found = await failed_run_of(app, run)
        return found.run.id, await app.service.runs.retry(app.principal, found.run.id)

    name, facts = run_in_session(out, work)
    if out.json:
        out.data({"run_id": name, "task_id": facts.task.id, "task": facts.task.name})
    elif out.quiet:
        out.ids([name])
    else:
        out.line(out.translate(messages.RETRYING, id=name))


def stop(out: Printer, *, run: str = _RUN) -> None:
    """Ask a run to end."""

    async def work(app: CommandSession) -> tuple[Run, Facts]:
        ended = await app.service.runs.cancel(app.principal, await _stoppable(app, run))
        return ended, await app.service.tasks.get(app.principal, ended.task_id)

    ended, facts = run_in_session(out, work)
    if out.json:
        out.data(run_json(ended, facts.task.name, facts.task.schedule.zone, out.language))
    elif out.quiet:
        out.ids([ended.id])
    else:
        said = messages.STOPPING if ended.live else messages.STOPPED
        if ended.state is RunState.SKIPPED:
            said = messages.STOPPED_BEFORE_START
        out.line(out.translate(said, id=ended.id, state=state_name(ended.state, out.language)))


async def _stoppable(app: CommandSession, name: str) -> str:
    """The id of the run that is meant: of a task, its newest, or the one that was asked for and has not started."""
    if is_run(name):
        return name
    facts = await app.service.tasks.find_by_name(app.principal, name)
    page = await app.service.runs.page(app.principal, RunFilter(task_id=facts.task.id), limit=1)
    waiting = [entry for entry in facts.entries if entry.kind is EntryKind.MANUAL]
    if waiting and not (page.items and page.items[0].live):
        return run_id(facts.task.id, waiting[-1].origin, waiting[-1].planned, waiting[-1].attempt)
    return (await run_of(app, name)).run.id


def backfill(
    out: Printer,
    *,
    task: str = ONE,
    first: str = typer.Option(..., "--from", metavar="INSTANT", help="From here on, included."),
    last: str = typer.Option(..., "--to", metavar="INSTANT", help="Up to here, included; a day counts whole."),
    again: bool = typer.Option(False, "--again", help="Also those that were backfilled before."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only count."),
) -> None:
    """Run the occurrences of a past range."""

    async def ranged(app: CommandSession) -> tuple[Facts, datetime, datetime, int]:
        facts = await app.service.tasks.find_by_name(app.principal, task)
        now, zone = app.clock.now(), facts.task.schedule.zone or app.zone
        begin, end = parse_span(first, zone, now).first, min(parse_span(last, zone, now).last, now)
        plan_backfill(facts, begin, end, now)  # refuses what could not be done
        return facts, begin, end, _counted(facts, begin, end)

    facts, begin, end, number = run_in_session(out, ranged)
    if not dry_run:
        if number > MOST_UNASKED:
            out.confirm(messages.BACKFILL, name=facts.task.name, number=number)
        facts = run_in_session(
            out, lambda app: app.service.tasks.backfill(app.principal, facts.task.id, begin, end, again=again)
        )
    if out.json:
        out.data({"task": task_json(facts, out.language), "count": number, "dry_run": dry_run})
    elif out.quiet:
        out.ids([facts.task.id])
    else:
        said = messages.WOULD_BACKFILL if dry_run else messages.BACKFILLED
        out.line(out.translate(said, name=facts.task.name, number=number))


def _counted(facts: Facts, first: datetime, last: datetime) -> int:
    return count(without_repeat(facts.task.schedule), first - MICROSECOND, last, past_of(facts.task, facts.status))
