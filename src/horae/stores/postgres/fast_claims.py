"""Fast path of claiming a few ordinary due tasks in two round trips: a read without locks, and one statement that writes
everything (optimistic locking by version)."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

import asyncpg

from ...model.change import Facts, FireDecision
from ...model.ids import to_microseconds
from ...ports.store import Claim, Claimed
from ..codec.json_codecs import instant_of
from ..codec.rows import ENTRY_WIDTH, TASK_WIDTH, Row, decode_entry, decode_status, decode_task
from ..owner_rotation import priority_key
from ..sql.claim import Claimer, ClaimRequest, build_claim, earliest_head
from ..sql.connection import Connection
from ..sql.folded_decisions import FoldedDecisions
from ..sql.transactions import Session
from ..task_cache import CachedTask, TaskCache
from .fast_statements import encode_few_starts

MAX_FAST_BATCH: Final = 16
"""Most entries of a fast claim: with more, conflicts with other nodes are likely, and locking them first loses none."""
FAST_PATH_BACKOFF: Final = 16
"""Number of calls that use the general path after the fast path has failed."""
_ENTRY: Final = 4
_TASK: Final = _ENTRY + ENTRY_WIDTH
_STANDING: Final = _TASK + TASK_WIDTH
_PAYLOAD: Final = _TASK + 7


class _Decided(NamedTuple):
    """Decisions to be written, and the resulting tasks by number."""

    folded: FoldedDecisions
    after: dict[int, CachedTask]


class FastClaimer(Claimer):
    def __init__(self, session: Session, familiar: TaskCache, most: int) -> None:
        super().__init__(session, familiar, most)
        self._long_way = 0
        """Number of claims that still use the general path."""
        self._crowd = False
        """Whether entries were left over by the last claim; shared by concurrent claims."""

    async def claim(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        if room <= 0 or self._crowd or self._long_way:
            self._long_way = max(0, self._long_way - 1)
            claim = await super().claim(now, node, room, decide)
        else:
            claim = await self._claim_few(ClaimRequest(now, node, room, decide))
        self._crowd = claim.more
        return claim

    async def _claim_few(self, asked: ClaimRequest) -> Claim:
        rows = await self._session.query("read_few_due", asked.node, to_microseconds(asked.now), MAX_FAST_BATCH + 1)
        if not rows:
            return Claim()
        _, timed, ready, alone = rows[0][:_ENTRY]
        if rows[0][_ENTRY] is None and (ready is None or instant_of[ready] > asked.now):
            self._head = earliest_head(timed, ready)
            return Claim((), 0, more=False, next_due=self._head)
        if ready is not None or len(rows) > MAX_FAST_BATCH:
            return await self._claim_slice(asked)
        decided = self._decided(rows, asked) if alone else None
        claim = None if decided is None else await self._written(decided, asked)
        if claim is None:
            self._long_way = FAST_PATH_BACKOFF
            return await self._claim_slice(asked)
        self._head = claim.next_due
        return claim

    def _decided(self, rows: list[Row], asked: ClaimRequest) -> _Decided | None:
        """Decide all rows; return None if one of them is not ordinary."""
        familiar = self._task_cache.get_current({row[_ENTRY]: row[_STANDING] for row in rows})
        decided = _Decided(FoldedDecisions(), {})
        token = rows[0][0]
        for row in sorted(rows, key=_by_priority)[: asked.room]:
            known = familiar.get(row[_ENTRY]) or _known(row)
            if known is None or known.task.lane is not None or row[-1] != 1:
                return None
            entry = decode_entry(row[_ENTRY:_TASK], known.task.id)
            change = asked.decide(Facts(known.task, known.status, (entry,), known.live), entry, token)
            after = decided.folded.add(known, (entry,), change) if change.new_runs else None
            if after is None:
                return None
            decided.after[known.number] = after
        return decided

    async def _written(self, decided: _Decided, asked: ClaimRequest) -> Claim | None:
        values = encode_few_starts(decided.folded)
        if values is None:
            return None
        rows = await self._session.run_statement(lambda link: _write(link, values))
        if not rows:
            return None
        here, new, taken, timed, ready = rows[0]
        if not here:
            return Claim()
        kept = decided.folded.decisions
        if new < len(kept):
            return None
        born = set(map(int, taken.split(","))) if taken else set()
        learnt = {number: known for number, known in decided.after.items() if number in born}
        self._task_cache.update(learnt, born.intersection(decided.folded.emptied_tasks))
        mine = [noted for noted in kept if noted.known.number in born]
        if mine:
            self._claim_order.last_owner = mine[-1].known.task.owner
        heads = [entry.due for noted in mine for entry in noted.change.put]
        heads += [instant_of[due] for due in (timed, ready) if due is not None]
        claimed = [Claimed(noted.known.task, noted.change.new_runs[0]) for noted in mine]
        return build_claim(claimed, len(claimed), asked.now, min(heads, default=None))


async def _write(link: Connection, values: list[object]) -> list[Row]:
    """Write the claim; return no rows if one of the runs is live already."""
    try:
        return await link.query("claim_few", *values)
    except asyncpg.UniqueViolationError:
        return []


def _known(row: Row) -> CachedTask | None:
    """Build the task from the row; None if its live runs or payload would have to be read too."""
    going = row[-2]
    if going or row[_PAYLOAD] is None:
        return None
    task = decode_task(row[_TASK:_STANDING])
    return CachedTask(row[_TASK], row[_STANDING], task, decode_status(row, _STANDING + 1))


def _by_priority(row: Row) -> tuple[int, int, int, str]:
    return priority_key(row[_ENTRY:_TASK])
