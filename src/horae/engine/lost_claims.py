"""After a claim whose answer got lost: finds what this node holds without knowing of it, and hands it back."""

from __future__ import annotations

from ..ports.store import Agenda
from .lease import Lease
from .releaser import Releaser
from .runner import Runner
from .settler import Settler


class Doubts:
    """The lease covers every run of its node: what nobody here carries would never be recovered while the node lives."""

    def __init__(self, store: Agenda, lease: Lease, runner: Runner, settler: Settler, releaser: Releaser) -> None:
        self._store = store
        self._lease = lease
        self._runner = runner
        self._settler = settler
        self._releaser = releaser

    async def step(self) -> int:
        """How many there were. Nothing may be claimed meanwhile; what ends meanwhile has a stale token by then."""
        lost = [claim for claim in await self._store.held(self._lease.node) if not self._known(claim[0])]
        self._releaser.add(lost)
        return len(lost)

    def _known(self, run_id: str) -> bool:
        return self._runner.knows(run_id) or self._settler.holds(run_id)
