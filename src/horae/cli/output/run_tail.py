"""Follows the log lines of a run by polling, and prints them; progress lines move a bar."""

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
"""Seconds between two polls, from the first to the longest: another process runs the task, and nothing notifies this one."""
_STYLES: Final[dict[str, Style]] = {"warning": "odd", "error": "bad", "debug": "dim"}


async def follow_lines(app: CommandSession, run_id: str, *, follow: bool) -> AsyncIterator[NumberedLine]:
    """Yield the lines of a run; with `follow` also later ones, until it has ended."""
    number, wait = 0, _FIRST_POLL
    while True:
        ended = not follow or await _is_over(app, run_id)
        page = await _lines(app, run_id, number)
        for line in page:
            number = line.number
            yield line
        if ended and not page:
            return
        wait = _FIRST_POLL if page else min(2 * wait, _LONGEST_POLL)
        if not page:
            await app.clock.pause(wait)


async def _lines(app: CommandSession, run_id: str, number: int) -> tuple[NumberedLine, ...]:
    try:
        return await app.service.runs.lines(app.principal, run_id, number, _PAGE)
    except NotFound:
        return ()


async def _is_over(app: CommandSession, run_id: str) -> bool:
    """Whether the run has ended; a run that is not claimed yet has no row."""
    try:
        return not (await app.service.runs.get(app.principal, run_id)).live
    except NotFound:
        return False


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
