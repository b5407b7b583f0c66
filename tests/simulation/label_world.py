"""A simulated cluster whose nodes have labels: crashes, partitions and restarts, and the check of every claim against the labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Final

from horae.lifecycle.plan import Draft, plan
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.lanes.node_labels import LabelPairs, has_labels
from horae.model.policy import Missed, Policies, RetryPolicy
from horae.model.task import Target
from horae.ports.full_store import FullStore
from horae.schedule import Every
from tests.simulation.clients import Clients
from tests.simulation.evidence import Evidence
from tests.simulation.faults import FaultRates
from tests.simulation.node import Node
from tests.simulation.target import SharedTargetState
from tests.simulation.target_behaviours import Behaviour
from tests.simulation.world import World

MINUTE: Final = timedelta(minutes=1)
_POLICIES: Final = Policies(
    overlap="queue_all", missed=Missed("all", None, 1_000), retry=RetryPolicy(2, MINUTE), give_up_after=None
)
_GPU: Final = ("gpu", "a100")
_EUROPE: Final = ("zone", "eu")
_TASKS: Final[dict[str, LabelPairs]] = {
    "gpu": (_GPU,),
    "europe": (_EUROPE,),
    "both": (_GPU, _EUROPE),
    "pinned": (("node", "n1"),),
    "anywhere": (),
}
"""Labels that the task of this name requires."""
_NODES: Final[dict[str, LabelPairs]] = {"n1": (_GPU,), "n2": (_GPU, _EUROPE)}
"""Labels of the nodes; further ones have only their name."""


def labels_of(machine: str) -> LabelPairs:
    return (*_NODES.get(machine, ()), ("node", machine))


class LabelClients(Clients):
    """Clients that add the tasks and then leave the cluster alone."""

    async def add_initial_tasks(self, count: int) -> None:  # noqa: ARG002 - the tasks are always the same
        now = self._clock.now()
        for name, where in _TASKS.items():
            for behaviour in (Behaviour.FLAKY, Behaviour.KILLER):
                task_id = make_id("tsk", now, self._dice.randbytes(ENTROPY_BYTES))
                policies = replace(_POLICIES, where=where)
                target, payload = Target("simulated", "{}"), f'"{behaviour.value}"'
                draft = Draft("ada", name, Every(interval=20 * MINUTE), target, payload, policies)
                await self._inner.add([plan(draft, task_id, now)])

    async def run(self) -> None:
        while True:
            await self._clock.pause(3_600)


class LabelWorld(World):
    make_clients = LabelClients

    def _node(self, number: int, store: FullStore, fault_rates: FaultRates, surroundings: SharedTargetState) -> Node:
        node = super()._node(number, store, fault_rates, surroundings)
        node.labels = labels_of(node.name)
        return node


def check_labels(evidence: Evidence) -> list[str]:
    """Return every claim and every call of a task on a node that lacks a label, and every task that hardly ran."""
    problems = [f"the integrity check found: {doubt}" for doubt in evidence.doubts]
    where = {task_id: facts.task.policies.where for task_id, facts in evidence.facts.items()}
    claimed = [("claimed", each.run.task_id, each.life) for each in evidence.history.claims]
    called = [("called", each.task_id, each.life) for each in evidence.history.deeds]
    for what, task_id, life in (*claimed, *called):
        if not has_labels(where[task_id], labels_of(life.partition(".")[0])):
            problems.append(f"{life} {what} a task that requires {where[task_id]}")
    runs = Counter(run.task_id for run in evidence.runs.values() if run.started is not None)
    problems += [
        f"a task that requires {pairs} ran {runs[each]} times" for each, pairs in where.items() if runs[each] < 5
    ]
    return problems
