"""Store calls of a node for its lease: join, renew, lose, recover other nodes, stop, crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.simulation.explorer.node_action import NodeAction, View
from tests.simulation.explorer.process import DOWN, Lease
from tests.simulation.explorer.rules import Rules
from tests.simulation.explorer.scope import Fault
from tests.simulation.explorer.store_replay import StoreReplay

_STAYS: Final = 9
"""More names than one place can need at once."""


class LeaseCalls:
    def __init__(self, stage: StoreReplay, rules: Rules) -> None:
        self._stage = stage
        self._rules = rules

    def joins(self, view: View) -> NodeAction:
        """A new node id for each join; forgotten ids are reused."""
        taken = {*self._stage.moments[view.at].nodes, view.process.node}
        node = next(name for number in range(_STAYS) if (name := f"{view.slot}{number + 1}") not in taken)
        joined = view.process._replace(node=node, lease=Lease.HELD)
        return NodeAction(f"{node} joins", self._stage.join(view.at, node), joined)

    def actions(self, view: View, node: str) -> Iterator[NodeAction]:
        if Fault.CRASH in view.kinds:
            yield NodeAction(f"{node} crashes", view.at, DOWN, Fault.CRASH)
        yield from self._stops(view, node)
        if view.process.lease is Lease.LOST:
            yield from self._joins_again(view)
            return
        yield self._renews(view, node)
        yield from self._lapses(view, node)
        yield from self._looks_back(view, node)
        yield from self._recovers(view, node)

    def _joins_again(self, view: View) -> Iterator[NodeAction]:
        joins = self.joins(view)
        yield joins
        if Fault.SILENCE in view.kinds:
            yield NodeAction(f"{joins.told}, and the answer is lost", joins.at, view.process, Fault.SILENCE)

    def _lapses(self, view: View, node: str) -> Iterator[NodeAction]:
        """An expired lease of a node without runs has no visible effect."""
        process = view.process
        if process.lease is Lease.HELD and process.busy and Fault.LAPSE in view.kinds:
            lapsed = process._replace(lease=Lease.LAPSED)
            yield NodeAction(f"{node} goes on while its lease lapses", view.at, lapsed, Fault.LAPSE)
        elif process.lease is Lease.LAPSED and process.can_let_go:
            yield NodeAction(f"{node} lets go of what it carries", view.at, process.letting_go())

    def _renews(self, view: View, node: str) -> NodeAction:
        held, orders = self._stage.renewal(view.at, node)
        process = view.process
        if not held:
            lost = process.letting_go()._replace(lease=Lease.LOST)
            return NodeAction(f"{node} learns that its lease is gone", view.at, lost)
        if process.lease is Lease.LAPSED:
            process = process.letting_go()._replace(lease=Lease.HELD)
        return NodeAction(f"{node} renews its lease", view.at, process.obeying(orders) if orders else process)

    def _looks_back(self, view: View, node: str) -> Iterator[NodeAction]:
        """A run that the store assigns to this node and the node does not know comes from a claim with a lost answer."""
        if not self._rules.looks_back or view.process.stopping:
            return
        mine = (run for run in self._stage.moments[view.at].runs if run.live and run.node == node)
        unknown = [run for run in mine if not view.process.knows(run.id)]
        if unknown:
            found = view.process.handing_back((run.id, run.token) for run in unknown)
            yield NodeAction(
                f"{node} finds {self._stage.named(run.id for run in unknown)} under its name", view.at, found
            )

    def _recovers(self, view: View, node: str) -> Iterator[NodeAction]:
        for other in self._stage.moments[view.at].nodes:
            if other != node and (other != view.peer.node or view.peer.lease is Lease.LAPSED):
                yield NodeAction(
                    f"{node} recovers {other}", self._stage.recover(view.at, view.now, other), view.process
                )

    def _stops(self, view: View, node: str) -> Iterator[NodeAction]:
        process = view.process
        if not process.stopping:
            if Fault.STOP in view.kinds:
                yield NodeAction(f"{node} is asked to stop", view.at, process._replace(stopping=True), Fault.STOP)
            return
        if process.can_let_go:
            yield NodeAction(f"{node} waits no longer for what it carries", view.at, process.letting_go())
        if not process.busy:
            yield NodeAction(f"{node} leaves", self._stage.leave(view.at, node), DOWN)
