"""Who is at work on a task, and until when that is certain: `locked_by` and `locked_until`, from runs that live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...model.accounts.principal import LOCAL
from ...model.change import Facts
from ...model.run import Run, RunState
from ...ports.lease_terms import agreed_lease
from ...service.runs.nodes import NodeState
from ...service.service import Service

_TARGET: Final = "target"
"""Somebody outside holds the run, until its deadline."""


class Lease(NamedTuple):
    holder: str
    until: datetime | None


async def leases_of(service: Service, listed: Sequence[Facts]) -> dict[str, Lease]:
    """By task. A dead lease is none: what it held is recovered by itself, and nobody has to clear it."""
    going = [facts for facts in listed if facts.live]
    if not going:
        return {}
    length = await agreed_lease(service.store)
    # Which nodes there are is the operator's business; that this one carries their run, they see in the run itself.
    seen = await service.nodes.all(LOCAL)
    nodes = {each.node.id: each.node.renewed + length for each in seen if each.state is not NodeState.SILENT}
    found = ((facts.task.id, _lease(facts.live, nodes)) for facts in going)
    return {task_id: lease for task_id, lease in found if lease is not None}


def _lease(live: Sequence[Run], nodes: Mapping[str, datetime]) -> Lease | None:
    for run in live:
        if run.state is RunState.WAITING:
            return Lease(_TARGET, run.deadline)
        if run.node is not None and run.node in nodes:
            return Lease(run.node, nodes[run.node])
    return None
