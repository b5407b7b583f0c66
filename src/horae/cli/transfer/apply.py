"""`horae apply`: creates, edits and prunes tasks to match a file; prints the differences first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ..command import Command
from ..messages import operating_messages as words
from ..messages.operating_refusals import refuse
from ..output.printer import Printer
from ..output.styled_text import Style, StyledText
from ..parameters import FILE

if TYPE_CHECKING:
    from ...errors import Refusal
    from ..session.command_session import CommandSession
    from .diff import Difference, Differences

_SIGNS: Final[dict[str, tuple[str, Style]]] = {
    "new": ("+", "good"),
    "changed": ("~", "odd"),
    "same": ("=", "dim"),
    "gone": ("-", "bad"),
}


@click.command("apply", cls=Command, asks=True)
@click.option("-f", "--file", type=FILE, required=True, metavar="FILE", help="YAML or JSON: see docs/tasks-file.md.")
@click.option("--diff", is_flag=True, help="Show every field that changes.")
@click.option("--prune", is_flag=True, help="Remove tasks that the file no longer has, with their history.")
@click.option("--label", multiple=True, metavar="K=V", help="Prune only tasks with this label.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
def apply(out: Printer, *, file: Path, diff: bool, prune: bool, label: tuple[str, ...], dry_run: bool) -> None:
    """Make the tasks equal to those of a file."""
    from .import_export import run_in_store_or_memory  # noqa: PLC0415 - `--help` does without
    from .tasks_file import read_tasks_file  # noqa: PLC0415

    if label and not prune:
        raise refuse("label_without_prune")
    read = read_tasks_file(file.expanduser())
    labels = _labels(label)

    async def do(app: CommandSession) -> list[tuple[Difference, Refusal]] | None:
        from .diff import compute_differences  # noqa: PLC0415

        found = await compute_differences(app, read, out.language, prune=prune, labels=labels)
        if not out.json:
            _show(out, found, full=diff)
        refused = None
        if not found.is_empty and not dry_run:
            out.confirm(words.APPLY)
            refused = await _write(app, found)
        if out.json:
            out.data(_shape(out, found, dry_run=dry_run, applied=refused is not None))
        return refused

    _show_end(out, run_in_store_or_memory(out, do, dry_run=dry_run), dry_run=dry_run)


def _labels(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from ..task_filter import parse_labels  # noqa: PLC0415

    return tuple(sorted(parse_labels(texts).items()))


async def _write(app: CommandSession, found: Differences) -> list[tuple[Difference, Refusal]]:
    """Write lanes before tasks, so that no new task runs under an old limit; returns the refused removals."""
    from ...errors import Refusal  # noqa: PLC0415
    from ...service.tasks.chain_order import chain_order  # noqa: PLC0415

    for lane in found.lanes:
        rate = "keep" if lane.rate_after == lane.rate_before else lane.rate_after
        limit = None if lane.after == lane.before else lane.after
        await app.service.lanes.limit(app.principal, lane.name, limit, rate=rate)
    refused: list[tuple[Difference, Refusal]] = []
    for each in chain_order(found.tasks, lambda change: change.request):
        if each.kind in ("new", "changed") and each.request is not None:
            await app.service.tasks.declare(app.principal, each.request)
        elif each.kind == "gone":
            try:
                await app.service.tasks.delete(app.principal, each.task.id)
            except Refusal as error:
                refused.append((each, error))
    return refused


def _show_end(out: Printer, refused: list[tuple[Difference, Refusal]] | None, *, dry_run: bool) -> None:
    for each, error in refused or []:
        out.note(words.NOT_REMOVED, name=each.task.name, because=error.in_language(out.language).message)
    if not out.json:
        if dry_run:
            out.note(words.NOTHING_WRITTEN)
        elif refused is None:
            out.note(words.NOTHING_TO_DO)
        elif not refused:
            out.line(("✓ ", out.translate(words.APPLIED)))
    if refused:
        raise click.exceptions.Exit(5)


# --- output --------------------------------------------------------------------------------------------------------


def _show(out: Printer, found: Differences, *, full: bool) -> None:
    for zone in found.zones:
        out.warn(zone.warning().in_language(out.language))
    for lane in found.lanes:
        if lane.before != lane.after:
            before = "-" if lane.before is None else lane.before
            out.line(("~ ", out.translate(words.LANE_CHANGES, name=lane.name, before=before, after=lane.after)))
        if lane.rate_before != lane.rate_after:
            rates = {"before": lane.rate_before or "-", "after": lane.rate_after or "-"}
            out.line(("~ ", out.translate(words.LANE_RATE_CHANGES, name=lane.name, **rates)))
    for each in found.tasks:
        if each.kind != "same" or full:
            _show_one(out, each, full=full)
            for warning in each.warnings:
                out.note(words.ABOUT, source=each.task.name, note=warning.in_language(out.language))
    counts = {turn: found.count(turn) for turn in ("new", "changed", "same", "gone")}
    out.line(out.translate(words.APPLY_SUMMARY, **counts))


def _show_one(out: Printer, each: Difference, *, full: bool) -> None:
    from ...schedule.describe import describe_schedule  # noqa: PLC0415

    sign, style = _SIGNS[each.kind]
    rest = f"  {describe_schedule(each.task.schedule, out.language)}" if each.kind in ("new", "gone") else ""
    if each.kind == "changed":
        shown = each.fields if full else {name: each.fields[name] for name in each.fields if name == "when"}
        parts = [f"{name}: {_text(before)} → {_text(after)}" for name, (before, after) in shown.items()]
        if not full:
            parts += [name for name in each.fields if name != "when"]
        if each.removed or each.added:
            parts.append(out.translate(words.FIRES_CHANGE, removed=each.removed, added=each.added))
        rest = "  " + "  ".join(parts)
    out.line((StyledText(sign, style), f" {each.task.name}{rest}"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shape(out: Printer, found: Differences, *, dry_run: bool, applied: bool) -> dict[str, Any]:
    from ...wire.tasks.previews import warnings_json  # noqa: PLC0415

    return {
        "dry_run": dry_run,
        "applied": applied,
        **{turn: found.count(turn) for turn in ("new", "changed", "same", "gone")},
        "tasks": [
            {
                "change": each.kind,
                "name": each.task.name,
                "key": each.task.key,
                "owner": each.task.owner,
                "fields": {name: {"before": before, "after": after} for name, (before, after) in each.fields.items()},
                "fires": {"removed": each.removed, "added": each.added},
                "warnings": [{"code": one.code, "message": one.in_language(out.language)} for one in each.warnings],
            }
            for each in found.tasks
        ],
        "lanes": [lane._asdict() for lane in found.lanes],
        "warnings": warnings_json([zone.warning() for zone in found.zones], out.language),
    }
