"""`horae nodes`: lists the nodes with state and load; `drain` stops claims so that a node can end without losing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import click

from ....message import Message
from ....model.lanes.node_labels import format_labels
from ....ports.doctor import Check
from ....ports.store import Node
from ....service.runs.nodes import NodeState, NodeStatus, find_node
from ....service.tasks.task_request import read_duration
from ....wire.overview import node_seen_json
from ...command import Command
from ...messages import messages
from ...messages.refusals import refuse
from ...output.formats import clock_time, duration_message, short_duration, time_cells
from ...output.printer import Printer
from ...output.server_store import show_durability, show_steps
from ...output.styled_text import Cell, Style, StyledText, display_width
from ...output.table import Fit
from ...session.command_session import CommandSession, has_store, run_in_session

_DRAIN: Final = "drain"
_POLL_SECONDS: Final = 0.2
_SHOW: Final = "show"
_MAX_NAMES: Final = 3
_FITS: Final = (Fit(), Fit(wrap=8), Fit(6), Fit(4), Fit(2), Fit(), Fit(5), Fit(), Fit(3), Fit(7))
_LABELS: Final = 8
"""The column of labels."""
_STYLES: Final[dict[NodeState, Style]] = {NodeState.LIVE: "good", NodeState.DRAINING: "odd", NodeState.SILENT: "bad"}


_ACTION_HELP: Final = "show: one node with its functions. drain: claim nothing more, and end after the live runs."


class NodesRequest(NamedTuple):
    """Nodes to drain, by id or host; `undo` ends the drain."""

    node: str | None
    host: str | None
    undo: bool


@click.command("nodes", cls=Command)
@click.argument("action", required=False, metavar="[show|drain]", help=_ACTION_HELP)
@click.argument("node", required=False, metavar="[NODE]", help="Id of the node, or its beginning.")
@click.option("--host", metavar="NAME", help="All nodes of this machine.")
@click.option("--undo", is_flag=True, help="Let the node claim again, if it has not ended yet.")
@click.option("--wait", "-w", is_flag=True, help="Wait until the node has ended.")
@click.option("--timeout", metavar="5m", help="Longest time to wait.")
def nodes(
    out: Printer, *, action: str | None, node: str | None, host: str | None, undo: bool, wait: bool, timeout: str | None
) -> None:
    """List the nodes (processes that run tasks), show one, or drain one."""
    request = NodesRequest(node, host, undo)
    if action is None and request == NodesRequest(None, None, undo=False) and not wait:
        _list(out)
        return
    if action == _SHOW and node is not None and request == NodesRequest(node, None, undo=False) and not wait:
        _show(out, node)
        return
    if action != _DRAIN or (node is None) is (host is None) or (undo and wait):
        raise refuse("nodes_usage", said=" ".join(["nodes", *(each for each in (action, node, host) if each)]))
    _drain(out, request, None if timeout is None else read_duration("timeout", timeout).total_seconds(), wait=wait)


def _list(out: Printer) -> None:
    has_nodes = has_store(out)
    found, now, zone = run_in_session(out, _load) if has_nodes else ((), None, "UTC")
    if out.json:
        out.data([node_seen_json(each) for each in found])
    elif out.quiet:
        out.ids([each.node.id for each in found])
    elif now is not None and found:
        out.table(out.translate(messages.NODE_TITLES).split("|"), _table(out, found, now, zone), _fits(found))
        if out.on_terminal:
            out.aside(StyledText(out.translate(messages.TIMES_IN, zone=zone), "dim"))
    if not (out.json or out.quiet):
        show_steps(out, {step for each in found if (step := each.clock_step) is not None})
        if has_nodes:
            show_durability(out, run_in_session(out, _load_durability))
    if not found:
        out.note(messages.NO_ENGINE)


def _show(out: Printer, name: str) -> None:
    found, now, zone = run_in_session(out, _load) if has_store(out) else ((), None, "UTC")
    by_id = {each.node.id: each for each in found}
    seen = by_id[find_node(by_id, name)]
    if out.json:
        out.data([node_seen_json(seen)])
    elif out.quiet:
        out.ids([seen.node.id])
    elif now is not None:
        *titles, functions = out.translate(messages.NODE_TITLES).split("|")
        widest = max(map(display_width, (*titles, functions)))
        cells = _table(out, [seen], now, zone)[0][:-1]
        for title, cell in zip(titles, [seen.node.id, *cells[1:]], strict=True):
            out.row(title, cell, width=widest)
        for number, each in enumerate(seen.functions or ("–",)):
            out.row(functions if number == 0 else "", each, width=widest)
        if out.on_terminal:
            out.aside(StyledText(out.translate(messages.TIMES_IN, zone=zone), "dim"))


async def _load(app: CommandSession) -> tuple[tuple[NodeStatus, ...], datetime | None, str]:
    from ....engine.process_identity import is_gone  # noqa: PLC0415 - few commands ask

    return await app.service.nodes.all(app.principal, is_gone), app.clock.now(), app.zone


async def _load_durability(app: CommandSession) -> Sequence[Check]:
    report = await app.service.doctor.durability(app.principal)
    return () if report is None else report.checks


def _fits(found: Sequence[NodeStatus]) -> tuple[Fit, ...]:
    """Labels that were chosen stay on a narrow terminal, unlike the label `node`, which every node has."""
    if all(len(each.node.labels) <= 1 for each in found):
        return _FITS
    return (*_FITS[:_LABELS], Fit(1, wrap=12), *_FITS[_LABELS + 1 :])


def _table(out: Printer, found: Sequence[NodeStatus], now: datetime, zone: str) -> list[list[Cell]]:
    names = out.short_ids(seen.node.id for seen in found)
    joined = time_cells(out, [seen.node.joined for seen in found], zone, now)
    return [
        _row(out, seen, names[seen.node.id], since, clock_time(seen.node.renewed, zone, now, out.language))
        for seen, since in zip(found, joined, strict=True)
    ]


def _row(out: Printer, seen: NodeStatus, name: str, since: str, renewed: str) -> list[Cell]:
    node = seen.node
    return [
        name,
        node.host or "–",
        node.version,
        since,
        out.translate(messages.RENEWED_AGO, at=renewed, ago=duration_message(short_duration(seen.ago))),
        f"{node.load}/{node.capacity}" if node.capacity else str(node.load),
        f"{node.offset.total_seconds():+.3f} s" if node.offset else "0",
        StyledText(out.translate(messages.NODE_STATES[seen.state]), _STYLES[seen.state]),
        format_labels(node.labels) or "–",
        _first_names(seen.functions),
    ]


def _first_names(names: Sequence[str]) -> str:
    more = f" +{len(names) - _MAX_NAMES}" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more if names else "–"


def _drain(out: Printer, request: NodesRequest, seconds: float | None, *, wait: bool) -> None:
    drained = run_in_session(out, lambda app: _set_draining(app, request))
    if not wait:
        _show_nodes(out, drained, messages.CLAIMS_AGAIN if request.undo else messages.DRAINING)
        return
    if not (out.json or out.quiet):
        _show_nodes(out, drained, messages.DRAINING)
    run_in_session(out, lambda app: _wait_until_gone(app, drained, seconds))
    _show_nodes(out, drained, messages.NODE_GONE)


async def _set_draining(app: CommandSession, request: NodesRequest) -> tuple[Node, ...]:
    if request.host is not None:
        return await app.service.nodes.drain_host(app.principal, request.host, draining=not request.undo)
    return (await app.service.nodes.drain(app.principal, request.node or "", draining=not request.undo),)


async def _wait_until_gone(app: CommandSession, drained: Sequence[Node], seconds: float | None) -> None:
    left = [node.id for node in drained]
    try:
        async with asyncio.timeout(seconds):
            while left:
                there = {seen.node.id for seen in await app.service.nodes.all(app.principal)}
                left = [each for each in left if each in there]
                await app.clock.pause(_POLL_SECONDS if left else 0)
    except TimeoutError:
        raise refuse("drain_timed_out", seconds=f"{seconds:g}", nodes=", ".join(left)) from None


def _show_nodes(out: Printer, drained: Sequence[Node], message: Message) -> None:
    if out.json:
        out.data([{"id": node.id, "host": node.host, "draining": node.draining} for node in drained])
    elif out.quiet:
        out.ids([node.id for node in drained])
    else:
        for node in drained:
            out.line(out.translate(message, id=node.id, host=node.host or "?"), flush=True)
