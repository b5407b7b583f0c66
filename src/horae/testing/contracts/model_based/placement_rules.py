"""Rules of the store machine for placement: nodes with labels, and the queues of tasks that require them."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from ....lifecycle.fire import fire
from ....lifecycle.start import ClaimContext
from ....model.change import Change, Facts
from ....model.entry import Entry
from ....model.lanes.node_labels import LabelPairs, has_labels
from ....model.lanes.route import ServedQueues
from ....ports.store import DEFAULT_TERMS, RouteQueue
from ...factories import a_node
from .paired_stores import Side
from .run_rules import RunRules
from .strategies import GPU, NODES, ROUTE
from .task_rules import TaskRules

_LABELS: Final[dict[str, LabelPairs]] = {NODES[0]: GPU, NODES[1]: (("disk", "ssd"), *GPU)}
"""Labels of the nodes; further ones have none."""
_GATE_ROUTE: Final = "function:check"
ROUTES: Final = st.sampled_from((None, None, frozenset({ROUTE, _GATE_ROUTE}), frozenset({ROUTE}), frozenset[str]()))


class PlacementRules(TaskRules, RunRules):
    @rule(node=st.sampled_from(NODES))
    def join_with_labels(self, node: str) -> None:
        row = a_node(node, joined=self._now, renewed=self._now, labels=_LABELS.get(node, ()))
        self._call_both(lambda side: side.store.join(row))

    @rule(node=st.sampled_from(NODES), room=st.sampled_from((1_000, 1_000, 1, 0)), routes=ROUTES)
    def claim_queues(self, node: str, room: int, routes: frozenset[str] | None) -> None:
        self._claim_queues(node, room, routes)

    @rule(node=st.sampled_from(NODES[:2]))
    def run_next_of_queues(self, node: str) -> None:
        """Advance to the next due instant of the queues, and claim there: otherwise few entries of queues would run."""
        self._now = max([self._now, *(each.due for each in self._queues()[:1])])
        self.join_with_labels(node)
        self._claim_queues(node, 1_000, None)

    @rule(node=st.sampled_from(NODES))
    def claim_with_labels(self, node: str) -> None:
        """Claim from the agenda of all nodes: an entry that came there, and requires labels, is left to its queue."""
        self._advance_to_next_due()
        self._claim(node, 1_000, labels=_labels_of(node))

    def _queues(self) -> list[RouteQueue]:
        """Return the queues by the due instant of their first entry."""
        admission = self._call_both(lambda side: side.store.admit(()))
        return sorted((RouteQueue(*each) for each in admission[1]), key=lambda queue: queue.due)

    def _claim_queues(self, node: str, room: int, routes: frozenset[str] | None) -> None:
        served = ServedQueues(routes, _labels_of(node))
        queues = [each.name for each in self._queues() if served.serves(each.name)]
        self._claims += 1
        number, claimant = (
            self._claims,
            ClaimContext(node, self._now, DEFAULT_TERMS.poll_ceiling, routes, _labels_of(node)),
        )

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            assert entry.due <= claimant.now, "an entry was claimed early"
            change = fire(facts, entry, token, claimant)
            is_placed = has_labels(facts.task.policies.where, _labels_of(node))
            assert is_placed or not any(run.live for run in change.new_runs), (
                "a run started on a node without its labels"
            )
            return change

        def call(side: Side) -> Coroutine[Any, Any, Any]:
            return side.claim(claimant, room, decide, number=number, queues=queues)

        answer = self._call_both(call)
        if answer and isinstance(answer[0], tuple):
            self._note_claimed([run for _, run in answer[0]])


def _labels_of(node: str) -> frozenset[tuple[str, str]]:
    return frozenset(_LABELS.get(node, ()))
