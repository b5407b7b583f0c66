"""Rules of the store machine for nodes and limits: join, renew the lease, drain, leave, recover; lanes and blocked owners."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from ....lifecycle.recover import recover
from ....model.lanes.lane import MAX_LANE_LIMIT
from ....model.lanes.rate import Rate
from ....model.reason import Reason
from ...factories import a_node
from .machine_state import MachineState
from .paired_stores import Side
from .strategies import (
    LANES,
    NODES,
    OWNERS,
    backward_steps,
    rates,
)


class NodeRules(MachineState):
    @rule(node=st.sampled_from(NODES))
    def join(self, node: str) -> None:
        row = a_node(node, joined=self._now, renewed=self._now)
        self._call_both(lambda side: side.store.join(row))

    @rule(node=st.sampled_from(NODES), load=st.integers(0, 3), offset=backward_steps)
    def renew_lease(self, node: str, load: int, offset: timedelta) -> None:
        async def call(side: Side) -> Any:
            # A store may or may not have a clock of its own.
            return (await side.store.renew_lease(node, self._now, load, -offset))._replace(now=None)

        self._call_both(call)

    @rule(node=st.sampled_from(NODES), draining=st.booleans())
    def drain(self, node: str, draining: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        self._call_both(lambda side: side.store.drain(node, draining=draining))

    @rule(node=st.sampled_from(NODES))
    def leave(self, node: str) -> None:
        self._call_both(lambda side: side.store.leave(node))

    @rule(node=st.sampled_from(NODES), limit=st.sampled_from((1, 10)), renewals=st.sampled_from((None, None, None, 7)))
    def recover(self, node: str, limit: int, renewals: int | None) -> None:
        seen = renewals if renewals is not None else self._renewals_of(node)
        decide = partial(recover, now=self._now)
        self._call_both(lambda side: side.store.recover(node, seen, side.record_end(decide), limit))

    def _renewals_of(self, node: str) -> int:
        """Renewals of the node as another node sees them."""
        watcher = a_node("watcher", joined=self._now, renewed=self._now)
        self._call_both(lambda side: side.store.join(watcher))
        renewal = self._run(self._stores.reference.store.renew_lease("watcher", self._now))
        self._call_both(lambda side: side.store.leave("watcher"))
        return next((each.renewals for each in renewal.nodes if each.id == node), 0)

    @rule(lane=st.sampled_from(LANES), limit=st.integers(0, 3))
    def set_lane(self, lane: str, limit: int) -> None:
        self._limits[lane] = limit
        self._call_both(lambda side: side.store.set_lane(lane, limit))

    @rule(lane=st.sampled_from(LANES), rate=rates)
    def set_rate(self, lane: str, rate: Rate | None) -> None:
        self._limits.setdefault(lane, MAX_LANE_LIMIT)
        self._call_both(lambda side: side.store.set_lane(lane, None, rate=rate))

    @rule(owner=st.sampled_from(OWNERS), reason=st.sampled_from((None, None, Reason.OWNER_REVOKED, Reason.QUOTA)))
    def block_owner(self, owner: str, reason: Reason | None) -> None:
        self._call_both(lambda side: side.store.block_owner(owner, reason))
