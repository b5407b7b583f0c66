"""After a claim whose answer got lost: finds what this node holds without knowing of it, and hands it back."""

from __future__ import annotations

from typing import Final

from ..model.run import RunState
from ..ports.store import Book, RunFilter
from .lease import Lease
from .releaser import Releaser
from .runner import Runner
from .settler import Settler

_PAGE: Final = 1_000
_CARRIED: Final = frozenset({RunState.CLAIMED, RunState.RUNNING})


class Doubts:
    """The lease covers every run of its node: what nobody here carries would never be recovered while the node lives."""

    def __init__(self, book: Book, lease: Lease, runner: Runner, settler: Settler, releaser: Releaser) -> None:
        self._book = book
        self._lease = lease
        self._runner = runner
        self._settler = settler
        self._releaser = releaser

    async def step(self) -> int:
        """How many there were. Nothing may be claimed meanwhile; what ends meanwhile has a stale token by then."""
        after: str | None = None
        found = 0
        while True:
            page = await self._book.runs(RunFilter(states=_CARRIED), after, _PAGE)
            lost = [
                (run.id, run.token) for run in page.items if run.node == self._lease.node and not self._known(run.id)
            ]
            self._releaser.add(lost)
            found += len(lost)
            after = page.after
            if after is None:
                return found

    def _known(self, run_id: str) -> bool:
        return self._runner.knows(run_id) or self._settler.holds(run_id)
