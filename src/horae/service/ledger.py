"""The ledger read: runs, what they said, and why something did or did not happen."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..clock import Clock
from ..lifecycle.explain import Explanation, explain
from ..model.page import Page
from ..model.principal import Principal
from ..model.refusals import refuse
from ..model.run import Run
from ..ports.journal import Journal, NumberedLine
from ..ports.store import Book, RunFilter

_ROWS: Final = 200


class Ledger:
    def __init__(self, book: Book, journal: Journal, clock: Clock) -> None:
        self._book = book
        self._journal = journal
        self._clock = clock

    async def why(self, who: Principal, task_id: str, at: datetime) -> Explanation:
        """What became of the occurrence at that instant, in one sentence, with the rows that it rests on."""
        facts = await self._book.facts(task_id, who.scope)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        rows = await self._book.runs(RunFilter(who.scope, task_id, since=at, until=at), limit=_ROWS)
        return explain(facts, rows.items, at, self._clock.now())

    async def runs(self, who: Principal, task_id: str, after: str | None = None, limit: int = 100) -> Page[Run]:
        return await self._book.runs(RunFilter(who.scope, task_id), after, limit)

    async def run(self, who: Principal, run_id: str) -> Run:
        found = await self._book.run(run_id, who.scope)
        if found is None:
            raise refuse("no_such_run", id=run_id)
        return found

    async def lines(self, who: Principal, run_id: str, after: int = 0) -> tuple[NumberedLine, ...]:
        """What a run said; only to those who may see the run."""
        await self.run(who, run_id)
        return await self._journal.lines(run_id, after)
