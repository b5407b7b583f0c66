"""`horae status`: health check with exit code: a live node, its store, lateness, next runs, tasks that need attention."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import click

from ....message import Message
from ....service.runs.overview import NeedKind, Overview
from ....version import __version__
from ....wire.overview import overview_json
from ....wire.problems import ExitCode
from ...command import Command
from ...messages import messages
from ...output.printer import Printer
from ...output.server_store import show_steps
from ...output.styled_text import Cell, StyledText
from ...session.command_session import (
    CommandSession,
    display_location,
    has_durable_store,
    refuse_memory,
    run_in_memory,
    run_in_session,
)
from .overview import overview_rows

_NODE_UP: Final = Message("✓ a node is up", "✓ 节点正在运行")
_STORE_LABEL: Final = Message("Store", "存储")
_NO_NODE: Final = "no_node"
_NOTHING_STARTS: Final = Message(
    "no node is running, so nothing starts: horae up", "没有节点在运行,任务不会启动:horae up"
)
_DRAINING: Final = "nodes_draining"
_DRAINED: Final = Message(
    "the only running node is draining, so nothing new starts: horae nodes drain {node} --undo, or start another: horae up",
    "唯一在运行的节点正在排空,不再启动新的运行:horae nodes drain {node} --undo,或另启动一个:horae up",
)
_NEEDS: Final = Message("tasks that need attention: {number} ({what})", "需要处理的任务:{number} 个({what})")


class _Status(NamedTuple):
    found: Overview
    names: dict[str, str]
    zone: str
    is_up: bool
    draining: str | None = None
    """The id of a draining node, where no node starts new work. Only admins see nodes."""


@click.command("status", cls=Command)
def status(out: Printer) -> None:
    """Say whether a node is up, and what needs attention."""
    refuse_memory(out)
    durable = has_durable_store(out)
    report = run_in_session(out, _load) if durable else run_in_memory(out, _load)
    problems = _problems(report)
    if out.json:
        out.data(_shape(out, report, problems))
    elif out.quiet:
        out.ids([code for code, _ in problems])
    else:
        _show(out, report, problems)
        if not durable:
            out.note(messages.NO_TASKS_YET, path=display_location(out))
    if problems:
        raise click.exceptions.Exit(ExitCode.FAILED)


async def _load(app: CommandSession) -> _Status:
    found = await app.service.overview.now(app.principal)
    names = {each: task.name for each, task in (await app.tasks_of(found.running)).items()}
    # A killed process of this machine holds its lease until it expires, so the process itself is checked too.
    is_up = found.alive and await app.has_live_node()
    draining = [node.id for node in found.nodes if node.draining]
    idle = bool(draining) and len(draining) == len(found.nodes)
    return _Status(found, names, app.zone, is_up, draining[0] if idle else None)


def _problems(report: _Status) -> list[tuple[str, int]]:
    """Return problem codes with their number; `needs` ignores what came due less than half a minute ago."""
    # Revoking an owner is a decision of an admin: shown, but no failure of the deployment.
    counts = report.found.needs_counts.items()
    kinds = {kind.value: number for kind, number in counts if kind is not NeedKind.OWNER_REVOKED}
    node = [(_NO_NODE, 1)] if not report.is_up else [(_DRAINING, 1)] if report.draining else []
    return [*node, *sorted(kinds.items())]


def _show(out: Printer, report: _Status, problems: list[tuple[str, int]]) -> None:
    if report.is_up and not report.draining:
        out.line(StyledText(out.translate(_NODE_UP), "good"))
    for code, number in problems:
        out.line(("! ", StyledText(_problem_text(out, report, code, number), "odd")))
    show_steps(out, report.found.clock_steps)
    out.row(out.translate(_STORE_LABEL), display_location(out))
    nodes = out.translate(messages.NODES)
    rows: list[tuple[str, Cell]] = overview_rows(out, report.found, report.zone, report.names)
    for label, cell in rows:
        if label != nodes or report.is_up:
            out.row(label, cell)


def _problem_text(out: Printer, report: _Status, code: str, number: int) -> str:
    if code == _NO_NODE:
        return out.translate(_NOTHING_STARTS)
    if code == _DRAINING:
        return out.translate(_DRAINED, node=report.draining)
    return out.translate(_NEEDS, number=number, what=out.translate(messages.NEEDS[code]))


def _shape(out: Printer, report: _Status, problems: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "ok": not problems,
        "node_up": report.is_up,
        "store": display_location(out),
        "version": __version__,
        "problems": [
            {"code": code, "number": number, "detail": _problem_text(out, report, code, number)}
            for code, number in problems
        ],
        "overview": overview_json(report.found, out.language),
    }
