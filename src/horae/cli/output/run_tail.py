"""Follows the log lines of a run, and prints them; progress lines move a bar."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from ...errors import NotFound
from ...model.refusals import refuse
from ...model.run import Run
from ...ports.journal import NumberedLine, parse_progress
from ...schedule.preview import make_fires
from ...wire.runs import line_json
from ..session.command_session import CommandSession
from .printer import Printer
from .progress import ProgressBar
from .styled_text import Style, StyledText

_PAGE: Final = 1_000
_TEXT_COLUMN: Final = 22
_FIRST_POLL: Final = 0.05
_LONGEST_POLL: Final = 0.5
"""Seconds between two polls for a run that is not claimed yet, from the first to the longest."""
_LINE_WAIT: Final = 10
"""Seconds that one request waits for the next line of a run that goes on."""
_STYLES: Final[dict[str, Style]] = {"warning": "odd", "error": "bad", "debug": "dim"}


async def follow_lines(app: CommandSession, run_id: str, *, follow: bool) -> AsyncIterator[NumberedLine]:
    """Yield the lines of a run; with `follow` also later ones, until it has ended."""
    number, pause = 0, _FIRST_POLL
    while True:
        is_live = await _is_live(app, run_id) if follow else False
        if is_live is None:
            await app.clock.pause(pause)
            pause = min(2 * pause, _LONGEST_POLL)
            continue
        page = await _lines(app, run_id, number, wait=_LINE_WAIT if is_live else 0)
        for line in page:
            number = line.number
            yield line
        if not is_live and not page:
            return


async def _lines(app: CommandSession, run_id: str, number: int, wait: int) -> tuple[NumberedLine, ...]:
    try:
        return await app.service.runs.lines(app.principal, run_id, number, _PAGE, wait=wait)
    except NotFound:
        return ()


async def _is_live(app: CommandSession, run_id: str) -> bool | None:
    """Return whether the run goes on; None for a run that is not claimed yet and has no row."""
    try:
        return (await app.service.runs.get(app.principal, run_id)).live
    except NotFound:
        return None


async def wait_for_claim(app: CommandSession, run_id: str, task_id: str) -> Run:
    """Wait until the run has a row, which its claim or its skip writes; raises a refusal if the task is gone."""
    wait = _FIRST_POLL
    while True:
        try:
            return await app.service.runs.get(app.principal, run_id)
        except NotFound:
            if await app.facts(task_id) is None:
                raise refuse("no_such_task", id=task_id) from None
            await app.clock.pause(wait)
            wait = min(2 * wait, _LONGEST_POLL)


class RunTail:
    """Prints lines; those of level `progress` move the bar instead, if there is one."""

    def __init__(self, out: Printer, zone: str, bar: ProgressBar | None) -> None:
        self._out = out
        self._zone = zone
        self._bar = bar

    def show(self, numbered: NumberedLine) -> None:
        line = numbered.line
        if self._out.json:
            self._out.each(line_json(numbered))
        elif line.level == "progress" and self._bar is not None:
            self._bar.show_share(*parse_progress(line.text))
        else:
            if self._bar is not None:
                self._bar.clear()
            (at,) = make_fires(self._zone, [line.at])
            style = _STYLES.get(line.level, "")
            stamp = f"{at.local:%H:%M:%S}.{at.local.microsecond // 1000:03d}"
            cell = (StyledText(stamp, "dim"), f" {line.level.upper():8} ", StyledText(line.text, style))
            self._out.line(cell, flush=True, hang=_TEXT_COLUMN)
