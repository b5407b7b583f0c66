"""`horae next --all`: what will run within a period, of all tasks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ....model.page import MAX_HTTP_PAGE_SIZE
from ....service.query.instants import parse_span
from ....service.runs.planned import PlannedList, PlannedRun
from ....wire.planned import planned_run_json
from ...messages import messages
from ...output.formats import next_times
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...output.table import STAYS, Fit
from ...session.command_session import CommandSession, has_store, run_in_session

_SHOWN: Final = 20
_DAY: Final = timedelta(days=1)
_MICROSECOND: Final = timedelta(microseconds=1)


class Window(NamedTuple):
    """Period and zone as typed, and the number of fires; None stands for the defaults."""

    after: str | None
    until: str | None
    zone: str | None
    number: int | None
    system: bool = False
    """Whether the fires are those of system tasks instead of all others."""


class _Found(NamedTuple):
    planned: PlannedList
    zone: str
    now: datetime


def show_all(out: Printer, window: Window) -> None:
    """Print the fires of all tasks, by due instant."""
    found = run_in_session(out, lambda app: _load(app, window)) if has_store(out) else None
    runs = () if found is None else found.planned.items
    if out.json:
        out.data([planned_run_json(run) for run in runs])
    elif out.quiet:
        out.ids([run.task.id for run in runs])
    elif found is not None and runs:
        _show(out, found)
    if not runs:
        out.note(messages.NOTHING_PLANNED)


async def _load(app: CommandSession, window: Window) -> _Found:
    now, zone = app.clock.now(), window.zone or app.zone
    since = now if window.after is None else parse_span(window.after, zone, now).first
    until = since + _DAY if window.until is None else parse_span(window.until, zone, now).last + _MICROSECOND
    limit = min(window.number or _SHOWN, MAX_HTTP_PAGE_SIZE)
    reader = app.principal.as_system_reader() if window.system else app.principal
    return _Found(await app.service.planned.list(reader, since, until, limit), zone, now)


def _show(out: Printer, found: _Found) -> None:
    runs = found.planned.items
    times = next_times([run.due for run in runs], found.zone, found.now, out.language)
    rows: list[list[Cell]] = [
        [clock.strip(), relative.strip(), run.task.name, StyledText(_note(out, run), "dim")]
        for run, (relative, clock) in zip(runs, times, strict=True)
    ]
    titles = out.translate(messages.PLANNED_TITLES).split("|")
    fits = [STAYS, Fit(2), Fit(wrap=12), Fit(1)]
    if not out.plain and len({run.task.owner for run in runs}) > 1:
        titles, fits = (
            [titles[0], out.translate(messages.TASK_COLUMNS["owner"]), *titles[1:]],
            [*fits[:1], Fit(1), *fits[1:]],
        )
        rows = [[row[0], run.task.owner, *row[1:]] for row, run in zip(rows, runs, strict=True)]
    out.table(titles, rows, fits)
    if not out.plain:
        text = messages.PLANNED_MORE if found.planned.is_partial else messages.PLANNED_FOOTER
        out.aside(StyledText(out.translate(text, number=len(runs), zone=found.zone), "dim"))


def _note(out: Printer, run: PlannedRun) -> str:
    if run.occurrence.attempt > 1:
        return out.translate(messages.PLANNED_RETRY, number=run.occurrence.attempt)
    return out.translate(messages.PLANNED_ESTIMATE) if run.occurrence.is_estimate else ""
