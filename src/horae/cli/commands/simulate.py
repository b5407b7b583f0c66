"""`horae simulate`: what tasks will do, found out by the real engine in virtual time, before they do it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from ..command import command
from ..messages import operating_messages as words
from ..output.formatting import fine
from ..output.printer import Printer
from ..output.styled_text import Cell, Style, StyledText
from ..output.table import Fit

if TYPE_CHECKING:
    from datetime import datetime

    from ...forecast import Candidate, Report
    from ...forecast.report import Busiest, TaskForecast
    from ..messages.messages import Message
    from ..session.workplace import CommandSession

_TASK_FITS: Final = (Fit(wrap=12), Fit(1), Fit(1), Fit(2), Fit(3), Fit(1), Fit(5), Fit(4))
_LANE_FITS: Final = (Fit(wrap=12), Fit(1), Fit(1), Fit(1), Fit(2), Fit(1))
_SIGNS: Final[dict[str, tuple[str, Style]]] = {"problem": ("✕", "bad"), "warning": ("!", "odd"), "info": ("·", "dim")}
_NAMED: Final = 5


def register(app: typer.Typer) -> None:
    command(app, "simulate")(simulate)


def simulate(  # noqa: PLR0917 - typer calls it by name
    out: Printer,
    file: Path | None = typer.Argument(None, metavar="[FILE]", help="A file of tasks; without: those of the store."),
    span: str = typer.Option("30d", "--for", metavar="TIME", help="How far ahead: 24h, 30d."),
    start: str | None = typer.Option(None, "--from", metavar="INSTANT", help="From when on. Default: now."),
    zone: str | None = typer.Option(
        None, "--zone", "--tz", help="Where a task names none. Default: the file's, or yours."
    ),
    takes: str = typer.Option(
        "1s", "--takes", metavar="TIME", help="How long a run goes on where nothing else is known."
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit code 1 when there is a problem."),
) -> None:
    """Try tasks in advance: overlaps, full lanes, clock changes, busy moments."""
    from ...clock import SystemClock  # noqa: PLC0415 - `--help` does without
    from ...forecast import forecast  # noqa: PLC0415
    from ...forecast.request import LONGEST_SPAN  # noqa: PLC0415
    from ...model.field_checks import check_duration  # noqa: PLC0415
    from ...service.query.instants import parse_span  # noqa: PLC0415
    from ...service.tasks.task_request import read_duration  # noqa: PLC0415

    length = read_duration("--for", span)
    check_duration("--for", length, LONGEST_SPAN)
    usual = read_duration("--takes", takes)
    candidates, lanes, home = _asked(out, file, zone)
    now = SystemClock().now()
    begin = now if start is None else parse_span(start, home, now).first
    with out.progress(words.SIMULATING, 100) as bar:
        report = forecast(
            candidates,
            start=begin,
            span=length,
            zone=home,
            lanes=lanes,
            takes=usual,
            progress=lambda share, _at: bar.share(share),
        )
    if out.json:
        out.data(report.to_json())
    elif out.quiet:
        out.ids([task.name for task in report.tasks])
    else:
        _show(out, report)
    if strict and any(finding.severity == "problem" for finding in report.findings):
        raise typer.Exit(1)


def _asked(out: Printer, file: Path | None, zone: str | None) -> tuple[list[Candidate], dict[str, int], str]:
    from ...forecast import Candidate  # noqa: PLC0415
    from ..session.open_store import home_zone, settings_of  # noqa: PLC0415
    from ..session.workplace import run_in_session  # noqa: PLC0415
    from ..transfer.tasks_file import read_tasks_file  # noqa: PLC0415

    home = home_zone(zone, settings_of(out.store)).name
    if file is None:
        candidates, lanes = run_in_session(out, lambda app: _stored(out, app))
        return candidates, lanes, home
    read = read_tasks_file(file.expanduser())
    return [Candidate(*task) for task in read.tasks], _open_lanes(read.lanes.items()), zone or read.zone or home


async def _stored(out: Printer, app: CommandSession) -> tuple[list[Candidate], dict[str, int]]:
    """What is active, as it stands; a run takes as long as the last one did."""
    from ...forecast import Candidate  # noqa: PLC0415
    from ...model.page import MAX_PAGE_SIZE  # noqa: PLC0415
    from ...model.task import TaskState  # noqa: PLC0415
    from ...ports.store import TaskFilter  # noqa: PLC0415
    from ...wire.tasks import read_task, task_json  # noqa: PLC0415
    from ..transfer.export_reader import carried_on  # noqa: PLC0415

    found: list[Candidate] = []
    idle, after = 0, None
    while True:
        page = await app.service.tasks.page(app.principal, TaskFilter(), after, MAX_PAGE_SIZE)
        last = await app.service.tasks.latest(app.principal, page.items)
        for facts in page.items:
            if facts.status.state is not TaskState.ACTIVE:
                idle += 1
                continue
            shape = task_json(facts)
            wish = read_task({**shape, "when": carried_on(shape)}, exported=True)._replace(key=None)
            run = last.get(facts.task.id)
            length = None if run is None or run.started is None or run.ended is None else run.ended - run.started
            found.append(Candidate(wish, length))
        after = page.after
        if after is None:
            break
    if idle:
        out.note(words.SKIPPED_TASKS, number=idle)
    return found, _open_lanes((lane.name, lane.limit) for lane in await app.service.lanes.all(app.principal))


def _open_lanes(lanes: Any) -> dict[str, int]:
    """A lane that is closed lets nothing through for as long as it is; a forecast takes it as it is when open."""
    return {name: max(1, limit) for name, limit in lanes}


# --- told ----------------------------------------------------------------------------------------------------------


def _show(out: Printer, report: Report) -> None:
    """What needs a look comes first."""
    for finding in report.findings:
        said = finding.in_language(out.language)
        sign, style = _SIGNS[finding.severity]
        out.line((StyledText(sign, style), f" {said.message}"))
        out.line(("  ", StyledText(said.hint, "dim")))
    if not report.findings:
        out.line(("✓ ", out.translate(words.NO_FINDINGS)))
    facts = {"runs": report.runs, "skipped": report.skipped, "most": report.most_at_once, "zone": report.zone}
    start, until = _at(report.start, report.zone), _at(report.until, report.zone)
    out.line(out.translate(words.SIMULATED, start=start, until=until, **facts))
    _show_busiest(out, words.BUSIEST_MINUTE, report.busiest_minute, report.zone)
    _show_busiest(out, words.BUSIEST_SECOND, report.busiest_second, report.zone)
    if report.tasks:
        out.table(
            [out.translate(each) for each in words.SIMULATED_TITLES], [_row(each) for each in report.tasks], _TASK_FITS
        )
    if report.lanes:
        rows: list[list[Cell]] = [
            [
                lane.name,
                str(lane.limit),
                str(lane.runs),
                str(lane.peak_wanted),
                f"{100 * lane.full_share:.0f} %",
                fine(lane.longest_wait),
            ]
            for lane in report.lanes
        ]
        out.table([out.translate(each) for each in words.LANE_TITLES], rows, _LANE_FITS)


def _row(task: TaskForecast) -> list[Cell]:
    return [
        task.name,
        str(task.planned),
        str(task.ran),
        str(sum(task.skipped.values())),
        str(task.waiting),
        f"+{fine(task.lateness_max)}",
        _at(task.first, task.zone),
        _at(task.last, task.zone),
    ]


def _show_busiest(out: Printer, said: Message, busiest: Busiest | None, zone: str) -> None:
    if busiest is not None and busiest.count > 1:
        names = [name for name, _ in busiest.tasks[:_NAMED]] + (["…"] if len(busiest.tasks) > _NAMED else [])
        out.line(out.translate(said, at=_at(busiest.at, zone), count=busiest.count, names=", ".join(names)))


def _at(moment: datetime | None, zone: str) -> str:
    from ...schedule.preview import make_fires  # noqa: PLC0415

    return "-" if moment is None else make_fires(zone, [moment])[0].local.strftime("%Y-%m-%d %H:%M:%S")
