"""`horae watch`: what happens, as it happens; a page on a terminal, a line for each event elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import typer

from ..model.run import Run
from ..ports.store import RunFilter
from ..service.overview import Overview
from . import words
from .filtering import TASK
from .frame import command
from .history import follow_events
from .out import Out
from .pieces import Cell, Piece, painted
from .runsof import FAILURES
from .showing import run_line
from .signs import sign_of
from .standing import need_lines, overview_rows, upcoming_lines
from .workplace import Workplace, at_work

if TYPE_CHECKING:
    from rich.text import Text

_REFRESH: Final = 0.5
_NEXT: Final = 20
_FAILED: Final = 5


def register(app: typer.Typer) -> None:
    command(app, "watch")(watch)


def watch(
    out: Out,
    *,
    task: str | None = TASK,
    seconds: float | None = typer.Option(None, "--seconds", min=0, help="End after so long. Default: on Ctrl-C or q."),
) -> None:
    """Watch what happens, live."""
    live = sys.stdout.isatty() and not (out.json or out.plain or out.quiet)
    with suppress(TimeoutError, KeyboardInterrupt):
        at_work(out, lambda app: _watch(app, out, task, seconds, live=live))


async def _watch(app: Workplace, out: Out, task: str | None, seconds: float | None, *, live: bool) -> None:
    task_id = None if task is None else (await app.service.tasks.named(app.who, task)).task.id
    async with asyncio.timeout(seconds):
        if live:
            await _page(app, out)
        else:
            await follow_events(app, out, None, task_id)


async def _page(app: Workplace, out: Out) -> None:
    """Redrawn twice a second until somebody presses q."""
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    over = asyncio.Event()
    with _keys(over), Live(auto_refresh=False, screen=True) as screen:
        while not over.is_set():
            found = await app.service.overview.now(app.who)
            failed = await app.service.runs.page(app.who, RunFilter(states=FAILURES), limit=_FAILED)
            names = {each: task.name for each, task in (await app.tasks_of((*found.running, *failed.items))).items()}
            screen.update(_drawn(page_of(out, found, failed.items, names, app.zone)), refresh=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(_REFRESH):
                    await over.wait()


@contextmanager
def _keys(over: asyncio.Event) -> Iterator[None]:
    """Single keys without Enter, where the system can do that; `q` ends it."""
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
    loop.add_reader(number, lambda: over.set() if sys.stdin.read(1) in ("q", "Q", "") else None)
    try:
        yield
    finally:
        loop.remove_reader(number)
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def page_of(out: Out, found: Overview, failed: tuple[Run, ...], names: dict[str, str], zone: str) -> list[Cell]:
    """Everything worth a look, line by line."""
    lines: list[Cell] = [
        [Piece("horae", "bold"), f"  {found.at:%Y-%m-%d %H:%M:%S}Z  ", Piece(out.told(words.WATCHING), "dim")]
    ]
    for label, cell in overview_rows(out, found, zone, names)[:6]:
        rest = (cell,) if isinstance(cell, str | Piece) else tuple(cell)
        lines.append([Piece(f"  {label}  ", "dim"), *rest])
    lines += _section(out.told(words.RUNNING), [_going(run, names) for run in found.running])
    lines += _section(out.told(words.NEEDS_YOU), need_lines(out, found))
    lines += _section(out.told(words.UPCOMING), upcoming_lines(out, found, zone)[:_NEXT])
    lines += _section(
        out.told(words.FAILURES),
        [[f"{names.get(run.task_id, run.task_id)}  ", *run_line(run, zone, out)] for run in failed],
    )
    return lines


def _going(run: Run, names: dict[str, str]) -> Cell:
    return [sign_of(run), f" {names.get(run.task_id, run.task_id)}  ", Piece(run.id, "dim")]


def _section(title: str, cells: list[Cell]) -> list[Cell]:
    if not cells:
        return []
    lines: list[Cell] = ["", Piece(title, "bold")]
    return lines + [["  ", *((cell,) if isinstance(cell, str | Piece) else cell)] for cell in cells]


def _drawn(lines: list[Cell]) -> Text:
    from rich.text import Text  # noqa: PLC0415 - only a terminal needs it

    whole = "\n".join(painted(line, colour=True) for line in lines)
    return Text.from_ansi(whole, no_wrap=True, overflow="ellipsis")
