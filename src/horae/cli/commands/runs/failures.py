"""`horae failures`: failed runs grouped by their error, and retry of a whole group."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final, NamedTuple

import click

from ....model.reason import describe_reason
from ....model.run import Run
from ....model.task import Task
from ....service.runs.failures import MAX_RETRIES, FailureSummaries, FailureSummary, RetryReport
from ....wire.failures import failure_group_json, retry_report_json
from ...command import Command
from ...messages import messages
from ...messages.refusals import refuse
from ...output.formats import error_text, first_line, state_of_run, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import IntegerRange, Values
from ...run_filter import RunRequest, load_run_filter, run_filter_options
from ...session.command_session import CommandSession, has_store, run_in_session
from ...task_filter import CONFIRM_ABOVE, optional_task_argument, system_option

_MOST_GROUPS: Final = 200
_SHOWN_GROUPS: Final = 20
_FITS: Final = (Fit(), Fit(2, wrap=16), Fit(1, wrap=10), Fit(3), Fit())


class _Found(NamedTuple):
    """Groups with the tasks of their newest runs; a removed task is missing."""

    failures: FailureSummaries
    tasks: dict[str, Task]
    zone: str
    now: datetime


@click.command("failures", cls=Command, asks=True)
@optional_task_argument
@run_filter_options
@click.option("--retry", metavar="GROUP", help="Try all occurrences of this group again.")
@click.option("--dry-run", is_flag=True, help="Show the number only; change nothing.")
@click.option(
    "--limit",
    "-n",
    type=IntegerRange(1, _MOST_GROUPS),
    default=_SHOWN_GROUPS,
    show_default=True,
    help="Largest number of groups.",
)
@system_option
def failures(
    out: Printer, *, task: str | None, filters: Values, retry: str | None, dry_run: bool, limit: int, system: bool
) -> None:
    """List failed runs by their error, or retry all of one error."""
    request = RunRequest(task, None, filters)
    if retry is not None:
        _retry(out, request, retry, dry_run=dry_run, system=system)
        return
    if dry_run:
        raise refuse("dry_run_of_nothing")
    found = run_in_session(out, lambda app: _load(app, request, None, limit, system=system)) if has_store(out) else None
    groups = () if found is None else found.failures.items
    if out.json:
        out.data([_group_json(out, found, each) for each in groups if found is not None])
    elif out.quiet:
        out.ids([each.key for each in groups])
    elif found is not None and groups:
        _show(out, found)
    if not groups:
        out.note(messages.NO_FAILURES)


async def _load(app: CommandSession, request: RunRequest, key: str | None, limit: int, *, system: bool) -> _Found:
    run_filter = await load_run_filter(app, request)
    reader = app.principal.as_system_reader() if system else app.principal
    found = await app.service.failures.summaries(reader, run_filter, key, limit)
    tasks = await app.tasks_of([group.newest for group in found.items])
    return _Found(found, tasks, app.zone, app.clock.now())


def _group_json(out: Printer, found: _Found, group: FailureSummary) -> dict[str, object]:
    return failure_group_json(group, _task_name(found, group.newest), out.language)


def _task_name(found: _Found, run: Run) -> str | None:
    task = found.tasks.get(run.task_id)
    return None if task is None else task.name


def _show(out: Printer, found: _Found) -> None:
    groups = found.failures.items
    times = time_cells(out, [each.newest.planned for each in groups], found.zone, found.now)
    rows: list[list[Cell]] = [
        [str(each.number), StyledText(_sample(out, each.newest), "bad"), _tasks_cell(found, each), at, each.key]
        for each, at in zip(groups, times, strict=True)
    ]
    out.table(out.translate(messages.FAILURE_TITLES).split("|"), rows, _FITS)
    if out.plain:
        return
    footer = messages.FAILURES_CUT if found.failures.is_cut else messages.FAILURES_FOOTER
    total, shown = found.failures.total, len(groups)
    text = out.translate(footer, shown=shown, groups=found.failures.groups, total=total, zone=found.zone)
    out.aside(StyledText(text, "dim"))
    out.note(messages.RETRY_A_GROUP, key=groups[0].key)


def _sample(out: Printer, run: Run) -> str:
    """Return the first line of the newest error; without one, the reason or the state."""
    language = "en" if out.plain else out.language
    if run.error:
        return first_line(error_text(run, language))
    return state_of_run(run, language) if run.reason is None else describe_reason(run.reason, language)


def _tasks_cell(found: _Found, group: FailureSummary) -> str:
    """Return the task of the newest run, and the number of the others."""
    others = len(group.task_ids) - 1
    name = _task_name(found, group.newest) or group.newest.task_id
    return f"{name} +{others}" if others else name


def _retry(out: Printer, request: RunRequest, key: str, *, dry_run: bool, system: bool) -> None:
    found = run_in_session(out, lambda app: _load(app, request, key, 2, system=system))
    if len(found.failures.items) != 1:
        raise refuse("several_failure_groups" if found.failures.items else "no_such_failure_group", key=key)
    (group,) = found.failures.items
    number, error = len(group.run_ids), _sample(out, group.newest)
    if dry_run:
        _show_report(out, RetryReport(group.run_ids), number, error, dry_run=True)
        return
    if number > CONFIRM_ABOVE:
        out.confirm(messages.RETRY_GROUP, number=number, error=error)
    with out.progress(messages.RETRY, number) as bar:

        async def retry_all(app: CommandSession) -> RetryReport:
            report = RetryReport()
            for start in range(0, number, MAX_RETRIES):
                batch = group.run_ids[start : start + MAX_RETRIES]
                done = await app.service.failures.retry(app.principal, batch)
                report = RetryReport((*report.retried, *done.retried), (*report.refused, *done.refused))
                bar.update(start + len(batch))
            return report

        report = run_in_session(out, retry_all)
    _show_report(out, report, number, error, dry_run=False)


def _show_report(out: Printer, report: RetryReport, number: int, error: str, *, dry_run: bool) -> None:
    if out.json:
        out.data(retry_report_json(report, out.language, dry_run=dry_run))
        return
    if out.quiet:
        out.ids(report.retried)
        return
    message = messages.WOULD_RETRY_GROUP if dry_run else messages.RETRIED_GROUP
    out.line(out.translate(message, done=len(report.retried), number=number, error=error))
    for sentence, refused in Counter(each.error.in_language(out.language).message for each in report.refused).items():
        out.aside(f"  ✕ {refused} × {sentence}" if refused > 1 else f"  ✕ {sentence}")
