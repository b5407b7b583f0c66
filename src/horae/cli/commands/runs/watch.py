"""`horae watch`: live dashboard on a terminal (rich), or a line for each event elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

import click

from ....model.ids import SHORT_DIGITS
from ....model.run import Run
from ....ports.store import RunFilter
from ....service.runs.overview import Overview
from ....wire.tasks.task import next_due
from ...command import Command
from ...lookup import FAILURES
from ...messages import messages
from ...output.formats import error_text, first_line, next_times, short_duration, sign_of, state_of_run, time_cells
from ...output.line_breaks import wrap_cell
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText, pad, render_cell, terminal_width
from ...output.table import Fit, render_table
from ...parameters import NumberRange
from ...session.command_session import CommandSession, run_in_session
from ...task_filter import optional_task_argument
from ..operate.overview import need_lines, overview_rows
from .runs import follow_events

if TYPE_CHECKING:
    from rich.text import Text

_REFRESH_SECONDS: Final = 0.5
_MAX_UPCOMING: Final = 20
_MIN_UPCOMING: Final = 3
_MAX_FAILURES: Final = 5
_OVERVIEW_ROWS: Final = 6
"""Rows of the overview that the dashboard shows: the counts, without tasks."""
_LABEL_WIDTH: Final = 8
_INDENT: Final = 2


@click.command("watch", cls=Command)
@optional_task_argument
@click.option("--seconds", type=NumberRange(0), help="End after this time. Default: on Ctrl-C or q.")
def watch(out: Printer, *, task: str | None, seconds: float | None) -> None:
    """Watch what happens, live."""
    live = sys.stdout.isatty() and not (out.json or out.plain or out.quiet)
    with suppress(TimeoutError, KeyboardInterrupt):
        run_in_session(out, lambda app: _watch(app, out, task, seconds, live=live))


async def _watch(app: CommandSession, out: Printer, task: str | None, seconds: float | None, *, live: bool) -> None:
    task_id = None if task is None else (await app.service.tasks.find_by_name(app.principal, task)).task.id
    async with asyncio.timeout(seconds):
        if live:
            await _run_dashboard(app, out)
        else:
            await follow_events(app, out, None, task_id)


async def _run_dashboard(app: CommandSession, out: Printer) -> None:
    """Redraw the dashboard twice a second until the key q is pressed."""
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    quit_event = asyncio.Event()
    with _quit_on_key(quit_event), Live(auto_refresh=False, screen=True) as screen:
        while not quit_event.is_set():
            found = await app.service.overview.now(app.principal)
            failed = await app.service.runs.page(app.principal, RunFilter(states=FAILURES), limit=_MAX_FAILURES)
            names = {each: task.name for each, task in (await app.tasks_of((*found.running, *failed.items))).items()}
            screen.update(_as_rich_text(dashboard_lines(out, found, failed.items, names, app.zone)), refresh=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(_REFRESH_SECONDS):
                    await quit_event.wait()


@contextmanager
def _quit_on_key(quit_event: asyncio.Event) -> Iterator[None]:
    """Context manager: read single keys without Enter (termios); `q` sets the event."""
    try:
        import termios  # noqa: PLC0415 - not on every system
        import tty  # noqa: PLC0415
    except ImportError:
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    loop = asyncio.get_running_loop()
    tty.setcbreak(number)
    loop.add_reader(number, lambda: quit_event.set() if sys.stdin.read(1) in ("q", "Q", "") else None)
    try:
        yield
    finally:
        loop.remove_reader(number)
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def dashboard_lines(
    out: Printer, found: Overview, failed: tuple[Run, ...], names: dict[str, str], zone: str
) -> list[str]:
    """Return the dashboard as lines that fit the terminal; a low terminal shows fewer upcoming tasks."""
    head: Cell = [
        StyledText("horae", "bold"),
        f"  {found.at:%Y-%m-%d %H:%M:%S}Z  ",
        StyledText(out.translate(messages.WATCHING), "dim"),
    ]
    above = _wrap(head, 2)
    for label, cell in overview_rows(out, found, zone, names)[:_OVERVIEW_ROWS]:
        rest = (cell,) if isinstance(cell, str | StyledText) else tuple(cell)
        above += _wrap(["  ", StyledText(pad(label, _LABEL_WIDTH), "dim"), " ", *rest], _LABEL_WIDTH + 3)
    above += _section(out.translate(messages.RUNNING), _running(out, found, names))
    needs = [line for cell in need_lines(out, found) for line in _wrap(cell, 2)]
    above += _section(out.translate(messages.NEEDS_YOU), needs)
    below = _section(out.translate(messages.FAILURES), _failures(out, failed, names, zone, found.at))
    upcoming = _upcoming(out, found, zone)
    left = get_terminal_size().lines - len(above) - len(below) - 2
    return [*above, *_section(out.translate(messages.UPCOMING), upcoming[: max(_MIN_UPCOMING, left)]), *below]


def _running(out: Printer, found: Overview, names: dict[str, str]) -> list[str]:
    short_ids = out.short_ids((run.id for run in found.running), SHORT_DIGITS)
    rows: list[list[Cell]] = [
        [
            [sign_of(run), f" {names.get(run.task_id, run.task_id)}"],
            "" if run.started is None else short_duration(found.at - run.started),
            StyledText(short_ids[run.id], "dim"),
        ]
        for run in found.running
    ]
    return _table(rows, (Fit(wrap=12), Fit(), Fit()))


def _upcoming(out: Printer, found: Overview, zone: str) -> list[str]:
    coming = [(at, facts.task.name) for facts in found.upcoming if (at := next_due(facts)) is not None][:_MAX_UPCOMING]
    times = next_times([at for at, _ in coming], zone, found.at, out.language)
    rows: list[list[Cell]] = [
        [relative, StyledText(when, "dim"), name] for (relative, when), (_, name) in zip(times, coming, strict=True)
    ]
    return _table(rows, (Fit(2), Fit(), Fit(1, wrap=12)))


def _failures(out: Printer, failed: tuple[Run, ...], names: dict[str, str], zone: str, now: datetime) -> list[str]:
    """Rows with a short id, for `horae why ID`."""
    short_ids = out.short_ids((run.id for run in failed), SHORT_DIGITS)
    times = time_cells(out, [run.planned for run in failed], zone, now)
    rows: list[list[Cell]] = [
        [
            [sign_of(run), f" {names.get(run.task_id, run.task_id)}"],
            at,
            StyledText(short_ids[run.id], "dim"),
            StyledText(first_line(error_text(run, out.language) or state_of_run(run, out.language)), "bad"),
        ]
        for run, at in zip(failed, times, strict=True)
    ]
    return _table(rows, (Fit(1, wrap=12), Fit(), Fit(), Fit(2, cut=12)))


def _table(rows: list[list[Cell]], fits: tuple[Fit, ...]) -> list[str]:
    if not rows:
        return []
    return list(render_table((), rows, room=terminal_width() - _INDENT, colour=True, fits=fits))


def _section(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    return ["", render_cell(StyledText(title, "bold"), colour=True), *(f"{' ' * _INDENT}{line}" for line in lines)]


def _wrap(cell: Cell, hang: int) -> list[str]:
    return [render_cell(line, colour=True) for line in wrap_cell(cell, terminal_width() - _INDENT, hang)]


def _as_rich_text(lines: list[str]) -> Text:
    from rich.text import Text  # noqa: PLC0415 - only a terminal needs it

    return Text.from_ansi("\n".join(lines), overflow="fold")
