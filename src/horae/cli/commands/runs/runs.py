"""`horae runs`, `logs`, `events`: history from the ledger, the journal and the event log."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

import click

from ....model.events.event import NumberedEvent, SequencedEvent
from ....model.ids import EPOCH, SHORT_DIGITS, SHORT_TASK_DIGITS
from ....model.page import Page
from ....model.refusals import refuse as refuse_task
from ....model.run import Run, RunState
from ....model.task import Task
from ....wire.overview import event_json
from ....wire.runs import line_json, run_json
from ...command import Command
from ...lookup import FAILURES, find_run
from ...messages import messages
from ...output.command_hints import note_next_page
from ...output.formats import (
    NOTHING,
    clock_time,
    error_style,
    error_text,
    exact_duration,
    first_line,
    full_time,
    planned_text,
    sign_of,
    state_of_run,
    time_cells,
    time_column,
)
from ...output.printer import Printer
from ...output.run_tail import RunTail, follow_lines
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import IntegerRange, Values, after_option, limit_option, typed_limit
from ...run_filter import RunRequest, load_run_filter, run_filter_options
from ...session.command_session import CommandSession, has_store, run_in_session
from ...task_filter import optional_task_argument, system_option

_ATTEMPT_COLUMN, _ERROR_COLUMN = 5, 7
_FITS: Final[tuple[Fit, ...]] = (Fit(), Fit(wrap=12), Fit(wrap=14), Fit(2), Fit(4), Fit(5), Fit(), Fit(3, cut=20))
_EVENT_FITS: Final = (Fit(), Fit(), Fit(), Fit(), Fit(2, cut=12))


class Rows(NamedTuple):
    """One page of runs with their tasks; a removed task is missing."""

    page: Page[Run]
    tasks: dict[str, Task]
    zone: str
    now: datetime = EPOCH


@click.command("runs", cls=Command)
@optional_task_argument
@click.option("--state", multiple=True, help="State of the runs: running, succeeded, failed, skipped, …; repeatable.")
@click.option("--failed", is_flag=True, help="Only those that did not succeed.")
@run_filter_options
@limit_option
@after_option
@system_option
def runs(
    out: Printer,
    *,
    task: str | None,
    state: tuple[str, ...],
    failed: bool,
    filters: Values,
    limit: int,
    after: str | None,
    system: bool,
) -> None:
    """List runs, newest first."""
    states = _states(state, failed=failed)
    if not has_store(out) and task is None:
        rows = Rows(Page(()), {}, "UTC")
    else:
        request = RunRequest(task, states, filters)
        rows = run_in_session(out, lambda app: _rows(app, request, limit, after, system=system))
    if out.json:
        out.data([_run_json(out, rows, run) for run in rows.page.items])
    elif out.quiet:
        out.ids([run.id for run in rows.page.items])
    elif rows.page.items:
        _show_table(out, rows)
    if not rows.page.items:
        out.note(messages.NO_RUNS)
    if rows.page.after is not None:
        options = {"task": task, "--state": state, "--failed": failed, "--system": system}
        options |= {f"--{name}": value for name, value in filters.items()}
        note_next_page(out, "runs", {**options, "--limit": typed_limit(limit)}, rows.page.after)


def _states(names: Sequence[str], *, failed: bool) -> frozenset[RunState] | None:
    states = [part.strip() for name in names for part in name.split(",") if part.strip()]
    for name in states:
        if name not in set(RunState):
            raise refuse_task("bad_choice", name="state", value=name, allowed=", ".join(RunState))
    chosen = frozenset(map(RunState, states))
    return (chosen | FAILURES if failed else chosen) or None


async def _rows(app: CommandSession, request: RunRequest, limit: int, after: str | None, *, system: bool) -> Rows:
    reader = app.principal.as_system_reader() if system else app.principal
    page = await app.service.runs.page(reader, await load_run_filter(app, request), after, limit)
    return Rows(page, await app.tasks_of(page.items), app.zone, app.clock.now())


def _run_json(out: Printer, rows: Rows, run: Run) -> dict[str, object]:
    task = rows.tasks.get(run.task_id)
    return run_json(
        run, None if task is None else task.name, None if task is None else task.schedule.zone, out.language
    )


def _show_table(out: Printer, rows: Rows) -> None:
    runs = rows.page.items
    names = out.short_ids((run.id for run in runs), SHORT_DIGITS)
    cells = [
        _row(out, rows, run, names[run.id], when) for run, when in zip(runs, _planned_cells(out, rows), strict=True)
    ]
    titles, fits = out.translate(messages.RUN_TITLES).split("|"), _FITS
    if out.on_terminal:
        # A column with the same value in every row is left out.
        shown = [number for number in range(len(titles)) if number not in _constant_columns(runs)]
        titles, cells = [titles[each] for each in shown], [[row[each] for each in shown] for row in cells]
        fits = tuple(_FITS[each] for each in shown)
    if not out.plain and len({run.owner for run in runs}) > 1:
        titles = [titles[0], out.translate(messages.TASK_COLUMNS["owner"]), *titles[1:]]
        cells = [[row[0], run.owner, *row[1:]] for row, run in zip(cells, runs, strict=True)]
        fits = (fits[0], Fit(1, wrap=6), *fits[1:])
    out.table(titles, cells, fits)
    if out.on_terminal:
        out.aside(StyledText(out.translate(messages.TIMES_IN, zone=rows.zone), "dim"))


def _planned_cells(out: Printer, rows: Rows) -> list[str]:
    """Return the planned time of each run; for a run that covers a span, its first and last time."""
    if not out.on_terminal:
        return [planned_text(run, rows.zone, out.language) for run in rows.page.items]
    first = time_column(
        [run.planned if run.span is None else run.span.first for run in rows.page.items], rows.zone, rows.now
    )
    return [
        at
        if run.span is None or run.span.count == 1
        else f"{at} … {clock_time(run.span.last, rows.zone, run.span.first, out.language)}"
        for run, at in zip(rows.page.items, first, strict=True)
    ]


def _constant_columns(runs: Sequence[Run]) -> set[int]:
    first_tries = {_ATTEMPT_COLUMN} if all(run.attempt == 1 for run in runs) else set()
    return first_tries if any(run.error for run in runs) else first_tries | {_ERROR_COLUMN}


def _row(out: Printer, rows: Rows, run: Run, name: str, planned: str) -> list[Cell]:
    task = rows.tasks.get(run.task_id)
    took = NOTHING if run.started is None or run.ended is None else exact_duration(run.ended - run.started)
    return [
        [sign_of(run), f" {state_of_run(run, 'en' if out.plain else out.language)}"],
        run.task_id if task is None else task.name,
        planned,
        NOTHING if run.lateness is None else f"+{exact_duration(run.lateness)}",
        took,
        str(run.attempt),
        StyledText(name, "dim"),
        StyledText(first_line(error_text(run, "en" if out.plain else out.language)), error_style(run)),
    ]


@click.command("logs", cls=Command)
@click.argument("run", metavar="RUN|TASK", help="The id of a run; or a task, for its newest one.")
@click.option("--follow", "-f", is_flag=True, help="Continue until the run has ended.")
def logs(out: Printer, *, run: str, follow: bool) -> None:
    """Show the log lines of a run."""
    number, is_function = run_in_session(out, lambda app: _print_log(app, out, run, follow=follow))
    if not number:
        out.note(messages.NO_LINES_OF_FUNCTION if is_function else messages.NO_LINES)


async def _print_log(app: CommandSession, out: Printer, name: str, *, follow: bool) -> tuple[int, bool]:
    """Print the log lines of a run: as JSON one list, or one document per line with `follow`.

    Returns the number of lines, and whether the target of the task is a function.
    """
    found = await find_run(app, name)
    is_function = found.facts.task.target.kind == "function"
    number = 0
    if out.json and not follow:
        lines = [line_json(each) async for each in follow_lines(app, found.run.id, follow=False)]
        out.data(lines)
        return len(lines), is_function
    with out.progress(messages.PROGRESS, 1) as bar:
        tail = RunTail(out, app.zone, bar if follow else None)
        async for line in follow_lines(app, found.run.id, follow=follow):
            tail.show(line)
            number += 1
    return number, is_function


@click.command("events", cls=Command)
@click.option("--after", type=IntegerRange(0), help="From this number on (not included).")
@click.option("--follow", "-f", is_flag=True, help="Continue with new events as they happen.")
@limit_option
def events(out: Printer, *, after: int | None, follow: bool, limit: int) -> None:
    """Read the event log."""
    if follow:
        with suppress(KeyboardInterrupt):  # Ctrl-C ends it
            run_in_session(out, lambda app: follow_events(app, out, after, None))
        return
    found, zone, now = (
        run_in_session(out, lambda app: _load_events(app, after, limit)) if has_store(out) else ((), "UTC", EPOCH)
    )
    if out.json:
        out.data([event_json(NumberedEvent(each.cursor, each.event)) for each in found])
    elif found and out.on_terminal and not out.quiet:
        _show_events(out, found, zone, now)
    else:
        for each in found:
            show_event(out, each, zone, now)
    if not found:
        out.note(messages.NO_EVENTS)
    elif after is not None and len(found) == limit:
        note_next_page(out, "events", {"--limit": typed_limit(limit)}, found[-1].cursor)


async def _load_events(
    app: CommandSession, after: int | None, limit: int
) -> tuple[tuple[SequencedEvent, ...], str, datetime]:
    """Load events after the cursor; without one, the newest `limit` events."""
    number = max(0, await app.service.events.last(app.principal) - limit) if after is None else after
    return await app.service.events.after(app.principal, number, limit), app.zone, app.clock.now()


def _show_events(out: Printer, found: Sequence[SequencedEvent], zone: str, now: datetime) -> None:
    """Print a table with the short id of the run, or of the task where there is no run."""
    names = _short_names(out, found)
    times = time_cells(out, [each.event.at for each in found], zone, now)
    rows: list[list[Cell]] = [
        [
            str(cursor),
            at,
            event.kind.value,
            StyledText(names[event.run_id or event.task_id], "dim"),
            event.detail or "",
        ]
        for (cursor, _, event), at in zip(found, times, strict=True)
    ]
    out.table(out.translate(messages.EVENT_TITLES).split("|"), rows, _EVENT_FITS)
    out.aside(StyledText(out.translate(messages.TIMES_IN, zone=zone), "dim"))


def _short_names(out: Printer, found: Sequence[SequencedEvent]) -> dict[str, str]:
    tasks = out.short_ids((each.event.task_id for each in found), SHORT_TASK_DIGITS)
    return tasks | out.short_ids((run for each in found if (run := each.event.run_id) is not None), SHORT_DIGITS)


async def follow_events(app: CommandSession, out: Printer, after: int | None, task_id: str | None) -> None:
    """Print events from now on, or after a cursor; does not return."""
    number = await app.service.events.last(app.principal) if after is None else after
    out.note(messages.WATCHING_FROM, number=number)
    async for each in app.follow_events(number):
        if task_id in (None, each.event.task_id):
            show_event(out, each, app.zone, app.clock.now())


def show_event(out: Printer, sequenced: SequencedEvent, zone: str, now: datetime) -> None:
    number, _, event = sequenced
    if out.json:
        out.each(event_json(NumberedEvent(number, event)))
        return
    if out.quiet:
        out.line(str(number), flush=True)
        return
    at = full_time(event.at, zone, out.language, column=True)
    cells = [str(number), at, event.kind.value, event.task_id, event.run_id or "", event.detail or ""]
    if out.plain:
        out.tabs(cells)
        return
    if out.on_terminal:
        name = _short_names(out, [sequenced])[event.run_id or event.task_id]
        cells = [str(number), *time_cells(out, [event.at], zone, now), event.kind.value, name, event.detail or ""]
    out.line("  ".join(cell for cell in cells if cell), flush=True, hang=2)
