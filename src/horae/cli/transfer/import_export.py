"""`horae export` and `horae import`: tasks as JSON lines, and import from crontab and other schedulers."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ..command import Command
from ..messages import operating_messages as words
from ..messages.operating_refusals import refuse
from ..output.printer import Printer, json_text, write
from ..parameters import FILE

if TYPE_CHECKING:
    from ...interchange import ImportedTask
    from ...schedule.compat import Note
    from ...settings import DefaultZone
    from ..session.command_session import CommandSession
    from .import_batch import ImportBatch
    from .import_groups import GroupOutcome
    from .import_writer import ImportCounts, ImportPlan

T = TypeVar("T")
_STANDARD_INPUT: Final = "-"
_PROGRESS_ABOVE: Final = 100
"""Number of tasks from which on a progress bar is shown."""


@click.command("export", cls=Command, asks=True)
@click.option("--runs", is_flag=True, help="Export the history of each task too.")
@click.option("--out", "path", type=FILE, metavar="FILE", help="Write to a file that only you can read.")
def export(out: Printer, *, runs: bool, path: Path | None) -> None:
    """Write all tasks as JSON lines, to move or to keep them."""
    from ..session.command_session import run_in_session  # noqa: PLC0415 - `--help` does without

    if path is None:
        run_in_session(out, lambda app: _write_lines(app, sys.stdout, runs=runs))
        return
    from ..commands.operate.db import confirm_replacing  # noqa: PLC0415

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
    """Write to a temporary file, then rename it; returns the numbers of tasks and runs."""
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


@click.command("import", cls=Command)
@click.argument(
    "path", metavar="FILE|DIRECTORY|-", help="An export, a crontab, a NanoClaw database or installation, OpenClaw jobs."
)
@click.option("--format", "kind", default="auto", show_default=True, help="auto, jsonl, crontab, nanoclaw or openclaw.")
@click.option("--zone", "--tz", help="Zone of the times in the file. Default: as the times show.")
@click.option("--owner", help="Owner of the imported tasks.")
@click.option("--system", is_flag=True, help="A crontab with a column for the user, as /etc/crontab.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
def import_file(
    out: Printer, *, path: str, kind: str, zone: str | None, owner: str | None, system: bool, dry_run: bool
) -> None:
    """Import tasks; importing twice changes nothing."""
    from ..session.open_store import process_zone  # noqa: PLC0415

    incoming = _read(path, kind, process_zone(zone, out.settings), owner, system=system)
    directory = _agents_directory(out)

    async def import_all(app: CommandSession) -> tuple[ImportPlan, ImportCounts]:
        from .import_writer import plan_import, preview_import, write_import  # noqa: PLC0415

        plan = await plan_import(app, incoming, path)
        if dry_run:
            return plan, await preview_import(app, incoming, plan, directory)
        with out.progress(words.IMPORTING, len(plan.tasks)) as bar:
            on_progress = bar.update if len(plan.tasks) >= _PROGRESS_ABOVE else _ignore_progress
            return plan, await write_import(app, incoming, plan, partial(_pause_note, out), on_progress, directory)

    plan, result = run_in_store_or_memory(out, import_all, dry_run=dry_run)
    _show(out, incoming, plan, result, dry_run=dry_run)
    if plan.rejected and not plan.tasks and not result.groups:
        raise refuse("nothing_taken_over", path=path, number=len(plan.rejected))


def _agents_directory(out: Printer) -> Path | None:
    """Return the directory of agents of this deployment; None at a server, whose files are elsewhere."""
    from ..session.servers import server_of  # noqa: PLC0415

    given = None if server_of(out) is not None else out.settings.target("agent").get("directory")
    return None if given is None else Path(str(given)).expanduser()


def _pause_note(out: Printer, found: ImportedTask) -> str:
    return out.translate(words.GAVE_UP_THERE if found.gave_up else words.PAUSED_THERE)


def _ignore_progress(_done: int) -> None:
    """Progress callback that does nothing."""


def run_in_store_or_memory(out: Printer, work: Callable[[CommandSession], Awaitable[T]], *, dry_run: bool) -> T:
    """Run on the store; a dry run without a store uses a memory store, so that no file is created."""
    from ..session.command_session import has_durable_store, refuse_memory, run_in_memory, run_in_session  # noqa: PLC0415

    if dry_run and not has_durable_store(out):
        return run_in_memory(out, work)
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
    return read_file(file, piped, Options(kind, home, owner, system))  # type: ignore[arg-type]  # checked above


# --- output --------------------------------------------------------------------------------------------------------


def _show(out: Printer, incoming: ImportBatch, plan: ImportPlan, result: ImportCounts, *, dry_run: bool) -> None:
    turns = [step.kind for step in plan.dry_runs]
    counts: dict[str, int] = {turn: turns.count(turn) for turn in ("new", "changed", "same")}
    if out.json:
        out.data(_shape(out, incoming, plan, result, counts, dry_run=dry_run))
        return
    out.line(out.translate(words.IMPORT_SUMMARY, **counts, unclear=len(plan.rejected)))
    for each in plan.rejected:
        because = _note_text(out, each.note)
        out.line(("  ", out.translate(words.NOT_TAKEN_OVER, source=each.source, text=each.text, because=because)))
    if incoming.runs:
        message = words.RUNS_TAKEN_BEFORE if result.known else words.RUNS_TAKEN
        out.line(("  ", out.translate(message, taken=result.runs, left=result.skipped, there=result.known)))
    if result.chats:
        out.line(("  ", out.translate(words.GROUPS_TAKEN, number=len(result.chats))))
    for chat in result.chats:
        out.line(("    ", _group_line(out, chat)))
    if incoming.finished:
        out.line(("  ", out.translate(words.OVER, number=incoming.finished)))
    for source, note in _notes(out, incoming, plan, result):
        out.note(words.ABOUT, source=source, note=note)
    if dry_run:
        out.note(words.NOTHING_WRITTEN)


def _group_line(out: Printer, chat: GroupOutcome) -> str:
    """Return what was imported of one group: its chat, messages, session and files."""
    parts = [out.translate(words.GROUP_NEW if chat.is_new else words.GROUP_KNOWN, chat=chat.chat)]
    if chat.messages:
        parts.append(out.translate(words.MESSAGES_TAKEN, messages=chat.messages, waiting=chat.waiting))
    if chat.has_session:
        parts.append(out.translate(words.SESSION_TAKEN))
    if any(chat.files):
        parts.append(out.translate(words.FILES_TAKEN, **chat.files._asdict()))
    separator = "；" if out.language == "zh" else "; "
    return f"{chat.folder}: {separator.join(parts)}"


def _notes(out: Printer, incoming: ImportBatch, plan: ImportPlan, result: ImportCounts) -> list[tuple[str, str]]:
    about_file = [("*", _note_text(out, note)) for note in (*incoming.result.notes, *result.lists)]
    about_file += [(f"group {each.folder}", _note_text(out, note)) for each in result.chats for note in each.notes]
    about_lines = [(each.source, _note_text(out, note)) for each in plan.tasks for note in each.notes]
    about_targets = [
        (each.source, warning.in_language(out.language))
        for each, step in zip(plan.tasks, plan.dry_runs, strict=True)
        for warning in step.warnings
    ]
    return about_file + about_lines + about_targets


def _note_text(out: Printer, note: Note) -> str:
    return note.english if out.language == "en" else note.chinese


def _shape(
    out: Printer,
    incoming: ImportBatch,
    plan: ImportPlan,
    result: ImportCounts,
    counts: dict[str, int],
    *,
    dry_run: bool,
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
            for found, step, task in zip(plan.tasks, plan.dry_runs, result.tasks, strict=True)
        ],
        "unclear": [
            {
                "source": each.source,
                "text": each.text,
                "code": each.note.code,
                "because": _note_text(out, each.note),
            }
            for each in plan.rejected
        ],
        "notes": [{"source": source, "note": note} for source, note in _notes(out, incoming, plan, result)],
        "over": incoming.finished,
        "groups": result.groups,
        "chats": [
            {
                "folder": each.folder,
                "chat": each.chat,
                "change": "new" if each.is_new else "same",
                "messages": each.messages,
                "waiting": each.waiting,
                "session": each.has_session,
                "files": each.files._asdict(),
            }
            for each in result.chats
        ],
        "runs": {"taken": result.runs, "left": result.skipped, "there": result.known},
    }
