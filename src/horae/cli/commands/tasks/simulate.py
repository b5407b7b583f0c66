"""`horae simulate`: forecast of tasks by running the engine in virtual time; reports overlaps, full lanes, busy times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ....model.lanes.lane import MAX_LANE_LIMIT, LaneSetting
from ....model.lanes.rate import Rate
from ...command import Command
from ...messages import operating_messages as words
from ...output.formats import exact_duration
from ...output.printer import Printer
from ...output.styled_text import Cell, Style, StyledText
from ...output.table import Fit
from ...parameters import FILE

if TYPE_CHECKING:
    from datetime import datetime

    from ....forecast import Candidate, Report
    from ....forecast.report import Busiest, TaskForecast
    from ....message import Message
    from ...session.command_session import CommandSession

_TASK_FITS: Final = (Fit(wrap=12), Fit(1), Fit(1), Fit(2), Fit(3), Fit(1), Fit(5), Fit(4))
_LANE_FITS: Final = (Fit(wrap=12), Fit(1), Fit(1), Fit(1), Fit(1), Fit(2), Fit(1))
_SIGNS: Final[dict[str, tuple[str, Style]]] = {"problem": ("✕", "bad"), "warning": ("!", "odd"), "info": ("·", "dim")}
_MAX_NAMES: Final = 5


@click.command("simulate", cls=Command)
@click.argument(
    "file", type=FILE, required=False, metavar="[FILE]", help="A file of tasks; without: those of the store."
)
@click.option(
    "--for", "span", default="30d", show_default=True, metavar="TIME", help="Length of the forecast: 24h, 30d."
)
@click.option("--from", "start", metavar="INSTANT", help="Start of the forecast. Default: now.")
@click.option("--zone", "--tz", help="Zone of tasks that name none. Default: that of the file, or yours.")
@click.option(
    "--takes",
    default="1s",
    show_default=True,
    metavar="TIME",
    help="Duration of a run, if neither the file nor its last run gives one.",
)
@click.option("--strict", is_flag=True, help="Exit code 1 when there is a problem.")
def simulate(
    out: Printer, *, file: Path | None, span: str, start: str | None, zone: str | None, takes: str, strict: bool
) -> None:
    """Try tasks in advance: overlaps, full lanes, clock changes, busy moments."""
    from ....clock import SystemClock  # noqa: PLC0415 - `--help` does without
    from ....forecast import forecast  # noqa: PLC0415
    from ....forecast.request import LONGEST_SPAN  # noqa: PLC0415
    from ....model.text.field_checks import check_duration  # noqa: PLC0415
    from ....service.query.instants import parse_span  # noqa: PLC0415
    from ....service.tasks.task_request import read_duration  # noqa: PLC0415

    length = read_duration("--for", span)
    check_duration("--for", length, LONGEST_SPAN)
    default_length = read_duration("--takes", takes)
    candidates, lanes, home = _load_candidates(out, file, zone)
    now = SystemClock().now()
    begin = now if start is None else parse_span(start, home, now).first
    with out.progress(words.SIMULATING, 100) as bar:
        report = forecast(
            candidates,
            start=begin,
            span=length,
            zone=home,
            lanes=_open_limits(lanes),
            rates={name: rate for name, (_, rate) in lanes.items() if isinstance(rate, Rate)},
            takes=default_length,
            progress=lambda share, _at: bar.show_share(share),
        )
    if out.json:
        out.data(report.to_json())
    elif out.quiet:
        out.ids([task.name for task in report.tasks])
    else:
        _show(out, report)
    if strict and any(finding.severity == "problem" for finding in report.findings):
        raise click.exceptions.Exit(1)


def _load_candidates(
    out: Printer, file: Path | None, zone: str | None
) -> tuple[list[Candidate], dict[str, LaneSetting], str]:
    from ....forecast import Candidate  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415
    from ...session.open_store import process_zone  # noqa: PLC0415
    from ...transfer.tasks_file import read_tasks_file  # noqa: PLC0415

    home = process_zone(zone, out.settings).name
    if file is None:
        candidates, lanes = run_in_session(out, lambda app: _candidates_of_store(out, app))
        return candidates, lanes, home
    read = read_tasks_file(file.expanduser())
    return [Candidate(*task) for task in read.tasks], dict(read.lanes), zone or read.zone or home


async def _candidates_of_store(out: Printer, app: CommandSession) -> tuple[list[Candidate], dict[str, LaneSetting]]:
    """Return the active tasks of the store and its lanes; a run takes as long as the last run of the task."""
    from ....forecast import Candidate  # noqa: PLC0415
    from ....model.page import MAX_PAGE_SIZE  # noqa: PLC0415
    from ....model.task import TaskState  # noqa: PLC0415
    from ....ports.store import TaskFilter  # noqa: PLC0415
    from ....wire.tasks.task import read_task, task_json  # noqa: PLC0415
    from ...transfer.export_reader import continue_schedule  # noqa: PLC0415

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
            request = read_task({**shape, "when": continue_schedule(shape)}, exported=True)._replace(key=None)
            run = last.get(facts.task.id)
            length = None if run is None or run.started is None or run.ended is None else run.ended - run.started
            found.append(Candidate(request, length, facts.task.id))
        after = page.after
        if after is None:
            break
    if idle:
        out.note(words.SKIPPED_TASKS, number=idle)
    lanes = await app.service.lanes.all(app.principal)
    return found, {lane.name: LaneSetting(lane.limit, lane.rate) for lane in lanes}


def _open_limits(lanes: Mapping[str, LaneSetting]) -> dict[str, int]:
    """Return the limits with a closed lane counted as 1: the forecast assumes that it opens."""
    return {name: max(1, MAX_LANE_LIMIT if limit is None else limit) for name, (limit, _) in lanes.items()}


# --- output --------------------------------------------------------------------------------------------------------


def _show(out: Printer, report: Report) -> None:
    """Print the findings first, then the totals and tables."""
    for finding in report.findings:
        text = finding.in_language(out.language)
        sign, style = _SIGNS[finding.severity]
        out.line((StyledText(sign, style), f" {text.message}"))
        out.line(("  ", StyledText(text.hint, "dim")))
    if not report.findings:
        out.line(("✓ ", out.translate(words.NO_FINDINGS)))
    facts = {"runs": report.runs, "skipped": report.skipped, "most": report.most_at_once, "zone": report.zone}
    start, until = _local_time(report.start, report.zone), _local_time(report.until, report.zone)
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
                "-" if lane.limit is None else str(lane.limit),
                "-" if lane.rate is None else str(lane.rate),
                str(lane.runs),
                str(lane.peak_wanted),
                f"{100 * lane.full_share:.0f} %",
                exact_duration(lane.longest_wait),
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
        f"+{exact_duration(task.lateness_max)}",
        _local_time(task.first, task.zone),
        _local_time(task.last, task.zone),
    ]


def _show_busiest(out: Printer, text: Message, busiest: Busiest | None, zone: str) -> None:
    if busiest is not None and busiest.count > 1:
        names = [name for name, _ in busiest.tasks[:_MAX_NAMES]] + (["…"] if len(busiest.tasks) > _MAX_NAMES else [])
        out.line(out.translate(text, at=_local_time(busiest.at, zone), count=busiest.count, names=", ".join(names)))


def _local_time(moment: datetime | None, zone: str) -> str:
    from ....schedule.preview import make_fires  # noqa: PLC0415

    return "-" if moment is None else make_fires(zone, [moment])[0].local.strftime("%Y-%m-%d %H:%M:%S")
