"""Repair after a claim whose answer was lost: releases runs that the store assigned to this node without its knowledge."""

from __future__ import annotations

from ..ports.store import Agenda
from .lease import Lease
from .releaser import Releaser
from .runner import Runner
from .settler import Settler


class LostClaims:
    """The lease covers every run of its node, so a run that the node does not know would never be recovered while it lives."""

    def __init__(self, store: Agenda, lease: Lease, runner: Runner, settler: Settler, releaser: Releaser) -> None:
        self._store = store
        self._lease = lease
        self._runner = runner
        self._settler = settler
        self._releaser = releaser

    async def step(self) -> int:
        """Release unknown runs of this node; return their number.

        No claim may be in flight. A run that ends meanwhile has a stale token by then.
        """
        lost = [claim for claim in await self._store.held(self._lease.node) if not self._is_known(claim[0])]
        self._releaser.add(lost)
        return len(lost)

    def _is_known(self, run_id: str) -> bool:
        return self._runner.has_run(run_id) or self._settler.has_settlement(run_id)
