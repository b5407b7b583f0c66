"""`horae export` and `horae import`: tasks move between deployments, and come here from other schedulers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer

from ..command import command
from ..messages import operating_messages as words
from ..messages.operating_refusals import refuse
from ..output.printer import Printer, json_text, write

if TYPE_CHECKING:
    from ...interchange import ImportedTask
    from ...schedule.compat import Note
    from ...settings import DefaultZone
    from ..session.command_session import CommandSession
    from .import_batch import ImportBatch
    from .import_writer import ImportCounts, ImportPlan

T = TypeVar("T")
_STANDARD_INPUT: Final = "-"
_MANY: Final = 100
"""Fewer are done before a bar could be read."""


def register(app: typer.Typer) -> None:
    command(app, "export", asks=True)(export)
    command(app, "import")(import_file)


def export(
    out: Printer,
    runs: bool = typer.Option(False, "--runs", help="With the history of each task."),
    path: Path | None = typer.Option(None, "--out", metavar="FILE", help="Into a file that only you may read."),
) -> None:
    """Write all tasks as JSON lines, to move or to keep them."""
    from ..session.command_session import run_in_session  # noqa: PLC0415 - `--help` does without

    if path is None:
        run_in_session(out, lambda app: _write_lines(app, sys.stdout, runs=runs))
        return
    from ..commands.db import confirm_replacing  # noqa: PLC0415

    there = path.expanduser().absolute()
    if there.exists():
        confirm_replacing(out, there)
    tasks, rows = _to_file(out, there, runs=runs)
    if out.json:
        out.data({"path": str(there), "tasks": tasks, "runs": rows})
    else:
        out.line(("✓ ", out.translate(words.EXPORTED, tasks=tasks, runs=rows, path=there)))


async def _write_lines(app: CommandSession, stream: Any, *, runs: bool) -> tuple[int, int]:
    from .export import export_items  # noqa: PLC0415

    tasks = rows = 0
    async for value in export_items(app, runs=runs):
        write(stream, json_text(value))
        tasks, rows = tasks + ("task" in value), rows + ("run" in value)
    return tasks, rows


def _to_file(out: Printer, path: Path, *, runs: bool) -> tuple[int, int]:
    """Complete or not there."""
    from ..session.command_session import run_in_session  # noqa: PLC0415

    try:
        handle, draft = tempfile.mkstemp(prefix=".horae-export-", dir=path.parent)
    except OSError as error:
        raise refuse("unwritable_file", path=path, problem=error.strerror) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            counted = run_in_session(out, lambda app: _write_lines(app, file, runs=runs))
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return counted


def import_file(  # noqa: PLR0917 - typer calls it by name
    out: Printer,
    path: str = typer.Argument(..., metavar="FILE|-", help="An export, a crontab, a NanoClaw database, OpenClaw jobs."),
    kind: str = typer.Option("auto", "--format", help="auto, jsonl, crontab, nanoclaw or openclaw."),
    zone: str | None = typer.Option(
        None, "--zone", "--tz", help="The zone that counted there. Default: as its times show."
    ),
    owner: str | None = typer.Option(None, "--owner", help="Whose tasks they become."),
    system: bool = typer.Option(False, "--system", help="A crontab with a column for the user, as /etc/crontab."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would be done."),
) -> None:
    """Take tasks over; doing it twice changes nothing."""
    from ..session.open_store import process_zone, settings_of  # noqa: PLC0415

    incoming = _read(path, kind, process_zone(zone, settings_of(out.store)), owner, system=system)

    async def take(app: CommandSession) -> tuple[ImportPlan, ImportCounts]:
        from .import_writer import plan_import, preview_import, write_import  # noqa: PLC0415

        plan = await plan_import(app, incoming, path)
        if dry_run:
            return plan, await preview_import(app, incoming, plan)
        with out.progress(words.IMPORTING, len(plan.tasks)) as bar:
            tell = bar.update if len(plan.tasks) >= _MANY else _nobody
            return plan, await write_import(app, incoming, plan, partial(_pause_note, out), tell)

    plan, taken = at_work_or_in_memory(out, take, dry_run=dry_run)
    _show(out, incoming, plan, taken, dry_run=dry_run)
    if plan.rejected and not plan.tasks and not taken.groups:
        raise refuse("nothing_taken_over", path=path, number=len(plan.rejected))


def _pause_note(out: Printer, found: ImportedTask) -> str:
    return out.translate(words.GAVE_UP_THERE if found.gave_up else words.PAUSED_THERE)


def _nobody(_done: int) -> None:
    """Nobody wants to know."""


def at_work_or_in_memory(out: Printer, work: Callable[[CommandSession], Awaitable[T]], *, dry_run: bool) -> T:
    """A rehearsal on a store that is not there yet needs one, but not on the disk."""
    from ..session.command_session import has_durable_store, refuse_memory, run_in_memory, run_in_session  # noqa: PLC0415

    if dry_run and not has_durable_store(out):
        return run_in_memory(work)
    if not dry_run:
        refuse_memory(out)
    return run_in_session(out, work, create=not dry_run)


def _read(path: str, kind: str, default: DefaultZone, owner: str | None, *, system: bool) -> ImportBatch:
    from typing import get_args  # noqa: PLC0415

    from ...interchange.zone_evidence import AssumedZone  # noqa: PLC0415
    from ...model.refusals import refuse as refuse_choice  # noqa: PLC0415
    from ..schedule_question import zone_of_process  # noqa: PLC0415
    from .formats import Format, Options, read_file  # noqa: PLC0415

    if kind not in get_args(Format):
        raise refuse_choice("bad_choice", name="--format", value=kind, allowed=", ".join(get_args(Format)))
    piped = sys.stdin.buffer.read() if path == _STANDARD_INPUT else b""
    file = None if path == _STANDARD_INPUT else Path(path).expanduser()
    if file is not None and not file.exists():
        raise refuse("no_such_file", path=file)
    assumed = zone_of_process(default)
    home = AssumedZone(assumed.name, assumed.because, default.origin == "flag", default.origin == "environment")
    return read_file(file, piped, Options(kind, home, owner, system))  # type: ignore[arg-type]  # it was looked at above


# --- told ----------------------------------------------------------------------------------------------------------


def _show(out: Printer, incoming: ImportBatch, plan: ImportPlan, taken: ImportCounts, *, dry_run: bool) -> None:
    turns = [step.kind for step in plan.dry_runs]
    counts: dict[str, int] = {turn: turns.count(turn) for turn in ("new", "changed", "same")}
    if out.json:
        out.data(_shape(out, incoming, plan, taken, counts, dry_run=dry_run))
        return
    out.line(out.translate(words.IMPORT_SUMMARY, **counts, unclear=len(plan.rejected)))
    for each in plan.rejected:
        because = _said(out, each.note)
        out.line(("  ", out.translate(words.NOT_TAKEN_OVER, source=each.source, text=each.text, because=because)))
    if incoming.runs:
        said = words.RUNS_TAKEN_BEFORE if taken.known else words.RUNS_TAKEN
        out.line(("  ", out.translate(said, taken=taken.runs, left=taken.skipped, there=taken.known)))
    if incoming.result.groups:
        out.line(("  ", out.translate(words.GROUPS_TAKEN, number=len(incoming.result.groups))))
    if incoming.finished:
        out.line(("  ", out.translate(words.OVER, number=incoming.finished)))
    for source, note in _notes(out, incoming, plan):
        out.note(words.ABOUT, source=source, note=note)
    if dry_run:
        out.note(words.NOTHING_WRITTEN)


def _notes(out: Printer, incoming: ImportBatch, plan: ImportPlan) -> list[tuple[str, str]]:
    about_file = [("*", _said(out, note)) for note in incoming.result.notes]
    about_lines = [(each.source, _said(out, note)) for each in plan.tasks for note in each.notes]
    about_targets = [
        (each.source, warning.in_language(out.language))
        for each, step in zip(plan.tasks, plan.dry_runs, strict=True)
        for warning in step.warnings
    ]
    return about_file + about_lines + about_targets


def _said(out: Printer, note: Note) -> str:
    return note.english if out.language == "en" else note.chinese


def _shape(
    out: Printer, incoming: ImportBatch, plan: ImportPlan, taken: ImportCounts, counts: dict[str, int], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        **counts,
        "tasks": [
            {
                "change": step.kind,
                "id": None if step.kind == "new" and dry_run else task.id,
                "name": task.name,
                "key": task.key,
                "owner": task.owner,
                "paused": found.paused,
                "source": found.source,
            }
            for found, step, task in zip(plan.tasks, plan.dry_runs, taken.tasks, strict=True)
        ],
        "unclear": [
            {
                "source": each.source,
                "text": each.text,
                "code": each.note.code,
                "because": _said(out, each.note),
            }
            for each in plan.rejected
        ],
        "notes": [{"source": source, "note": note} for source, note in _notes(out, incoming, plan)],
        "over": incoming.finished,
        "groups": len(incoming.result.groups),
        "runs": {"taken": taken.runs, "left": taken.skipped, "there": taken.known},
    }
