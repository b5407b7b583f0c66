"""`horae status`: is a node up, on which store, is it on time, what is due next, what needs attention."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

import typer

from ...service.runs.overview import NeedKind, Overview
from ...version import __version__
from ...wire.overview import overview_json
from ...wire.problems import ExitCode
from ..command import command
from ..messages import messages
from ..messages.messages import Message
from ..output.printer import Printer
from ..output.server_store import show_steps
from ..output.styled_text import Cell, StyledText
from ..session.command_session import (
    CommandSession,
    display_location,
    has_durable_store,
    refuse_memory,
    run_in_memory,
    run_in_session,
)
from .overview import overview_rows

_UP: Final = Message("✓ a node is up", "✓ 节点正在运行")
_PLACE: Final = Message("Store", "存储")
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


class _Seen(NamedTuple):
    found: Overview
    names: dict[str, str]
    zone: str
    is_up: bool
    draining: str | None = None
    """The id of a draining node, where no node starts new work. Only admins see nodes."""


def register(app: typer.Typer) -> None:
    command(app, "status")(status)


def status(out: Printer) -> None:
    """Say whether a node is up, and what needs attention."""
    refuse_memory(out)
    kept = has_durable_store(out)
    seen = run_in_session(out, _look) if kept else run_in_memory(_look)
    problems = _problems(seen)
    if out.json:
        out.data(_shape(out, seen, problems))
    elif out.quiet:
        out.ids([code for code, _ in problems])
    else:
        _show(out, seen, problems)
        if not kept:
            out.note(messages.NO_TASKS_YET, path=display_location(out))
    if problems:
        raise typer.Exit(ExitCode.FAILED)


async def _look(app: CommandSession) -> _Seen:
    found = await app.service.overview.now(app.principal)
    names = {each: task.name for each, task in (await app.tasks_of(found.running)).items()}
    # A process of this machine that was killed holds its lease for a while: whether it lives is looked at, too.
    is_up = found.alive and await app.has_live_node()
    draining = [node.id for node in found.nodes if node.draining]
    idle = bool(draining) and len(draining) == len(found.nodes)
    return _Seen(found, names, app.zone, is_up, draining[0] if idle else None)


def _problems(seen: _Seen) -> list[tuple[str, int]]:
    """Each with how many there are. What came due a moment ago is no problem: `needs` leaves it half a minute."""
    # An admin who takes rights away does so on purpose: it is shown, and is no failure of the deployment.
    kinds = Counter(need.kind.value for need in seen.found.needs if need.kind is not NeedKind.OWNER_REVOKED)
    node = [(_NO_NODE, 1)] if not seen.is_up else [(_DRAINING, 1)] if seen.draining else []
    return [*node, *sorted(kinds.items())]


def _show(out: Printer, seen: _Seen, problems: list[tuple[str, int]]) -> None:
    if seen.is_up and not seen.draining:
        out.line(StyledText(out.translate(_UP), "good"))
    for code, number in problems:
        out.line(("! ", StyledText(_told(out, seen, code, number), "odd")))
    show_steps(out, seen.found.clock_steps)
    out.row(out.translate(_PLACE), display_location(out))
    nodes = out.translate(messages.NODES)
    rows: list[tuple[str, Cell]] = overview_rows(out, seen.found, seen.zone, seen.names)
    for label, cell in rows:
        if label != nodes or seen.is_up:
            out.row(label, cell)


def _told(out: Printer, seen: _Seen, code: str, number: int) -> str:
    if code == _NO_NODE:
        return out.translate(_NOTHING_STARTS)
    if code == _DRAINING:
        return out.translate(_DRAINED, node=seen.draining)
    return out.translate(_NEEDS, number=number, what=out.translate(messages.NEEDS[code]))


def _shape(out: Printer, seen: _Seen, problems: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "ok": not problems,
        "node_up": seen.is_up,
        "store": display_location(out),
        "version": __version__,
        "problems": [
            {"code": code, "number": number, "detail": _told(out, seen, code, number)} for code, number in problems
        ],
        "overview": overview_json(seen.found, out.language),
    }
