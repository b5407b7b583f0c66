"""Waits until something of a task has ended: woken by the engine of this process, and by looking now and then."""

from __future__ import annotations

import asyncio
from typing import Final

from ..clock import Clock
from ..model.change import Facts
from ..model.entry import EntryKind
from ..model.refusals import refuse
from ..model.run import Run
from ..ports.store import Book, RunFilter

LOOK_SECONDS: Final = 0.2
_ROWS: Final = 50


class Waiting:
    """Another process may do the work, so no wake-up is relied on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bell: asyncio.Future[None] | None = None

    def changed(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)

    async def ended(self, book: Book, task_id: str, owner: str | None) -> Run:
        """The last run of the occurrence that ends next; when nothing is left to come, of the one that ended last."""
        known: frozenset[str] | None = None
        while True:
            bell = self._listen()
            facts = await book.facts(task_id, owner)
            if facts is None:
                raise refuse("no_such_task", id=task_id)
            over = _over(facts, (await book.runs(RunFilter(owner, task_id), limit=_ROWS)).items)
            if known is None:
                known = frozenset(run.id for run in over)
            fresh = over if _nothing_left(facts) else [run for run in over if run.id not in known]
            if fresh:
                return max(fresh, key=lambda run: (run.ended or run.due, run.planned, run.attempt))
            await asyncio.wait((bell,), timeout=LOOK_SECONDS)

    def _listen(self) -> asyncio.Future[None]:
        if self._bell is None or self._bell.done():
            self._bell = asyncio.get_running_loop().create_future()
        return self._bell


def _nothing_left(facts: Facts) -> bool:
    return not facts.live and not facts.entries


def _over(facts: Facts, runs: tuple[Run, ...]) -> list[Run]:
    """Ended runs whose occurrence has ended too: nothing of it goes on, or is tried again."""
    open_ones = {(entry.origin, entry.planned) for entry in facts.entries if entry.kind is EntryKind.RETRY}
    open_ones |= {(run.origin, run.planned) for run in facts.live}
    return [run for run in runs if run.ended is not None and (run.origin, run.planned) not in open_ones]
