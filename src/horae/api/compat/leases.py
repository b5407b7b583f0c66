"""Leases of live runs, shown as `locked_by` and `locked_until`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...model.accounts.principal import LOCAL
from ...model.change import Facts
from ...model.run import Run, RunState
from ...ports.node_records import load_agreed_lease
from ...service.runs.nodes import NodeState
from ...service.service import Service

_TARGET: Final = "target"
"""Holder of a run that waits for an external target, until its deadline."""


class Lease(NamedTuple):
    holder: str
    until: datetime | None


async def leases_of(service: Service, tasks: Sequence[Facts]) -> dict[str, Lease]:
    """Return the leases by task id. An expired lease is left out: its runs are recovered without any client clearing a
    lock."""
    running = [facts for facts in tasks if facts.live]
    if not running:
        return {}
    length = await load_agreed_lease(service.store)
    # The list of nodes is for operators only; the caller sees just the node of its own run.
    seen = await service.nodes.all(LOCAL)
    nodes = {each.node.id: each.node.renewed + length for each in seen if each.state is not NodeState.SILENT}
    pairs = ((facts.task.id, _lease(facts.live, nodes)) for facts in running)
    return {task_id: lease for task_id, lease in pairs if lease is not None}


def _lease(live: Sequence[Run], nodes: Mapping[str, datetime]) -> Lease | None:
    for run in live:
        if run.state is RunState.WAITING:
            return Lease(_TARGET, run.deadline)
        if run.node is not None and run.node in nodes:
            return Lease(run.node, nodes[run.node])
    return None
