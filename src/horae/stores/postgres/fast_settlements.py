"""Fast path of settlement for successful runs: one round trip for cached tasks with an empty agenda, two for a few tasks
with further entries (a read without locks first). The write checks the cached versions (optimistic locking)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from ...model.change import Facts, SettleDecision
from ...model.entry import Entry
from ...model.outcome import Settlement, Succeeded
from ..codec.json_codecs import decode
from ..codec.rows import Row, decode_entry, new_tuple
from ..sql.connection import Connection
from ..sql.folded_decisions import FoldedDecisions
from ..sql.settle import RunUpdater
from ..sql.transactions import Session
from ..task_cache import CachedTask, TaskCache
from .arrays import encode_array
from .fast_claims import FAST_PATH_BACKOFF, MAX_FAST_BATCH
from .fast_statements import encode_successes

_NONE_MADE: Final[frozenset[str]] = frozenset()
_Seen: TypeAlias = dict[int, tuple[CachedTask, tuple[Entry, ...]]]


class FastRunUpdater(RunUpdater):
    def __init__(self, session: Session, familiar: TaskCache) -> None:
        super().__init__(session, familiar)
        self._long_way = 0
        """Number of settlements that still use the general path."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        if self._long_way:
            self._long_way -= 1
        elif await self._settled(batch, decide):
            return frozenset()
        return await super().settle(batch, decide)

    async def _settled(self, batch: Sequence[Settlement], decide: SettleDecision) -> bool:
        """Try the fast path; return False, with nothing written, if a run is not ordinary or a task changed meanwhile."""
        numbers = self._task_cache.task_numbers_of_runs([each.run_id for each in batch])
        alike = all(isinstance(each.outcome, Succeeded) for each in batch)
        if not alike or len(set(numbers.values())) < len(batch):
            return False
        seen = await self._seen(batch, numbers)
        if seen is None:
            return False
        decided = self._decided(batch, numbers, seen, decide)
        values = None if decided is None else encode_successes(decided[0], 0)
        if decided is None or values is None:
            self._long_way = FAST_PATH_BACKOFF
            return False
        folded, after = decided
        versions = encode_array([noted.known.version for noted in folded.decisions])
        if not await self._session.run_statement(lambda link: _write(link, [*values, versions])):
            return False
        self._task_cache.update(after)
        return True

    async def _seen(self, batch: Sequence[Settlement], numbers: dict[str, int]) -> _Seen | None:
        """Return each task and its entries by task number; None if that takes more than one read."""
        bare = self._task_cache.get_with_empty_agenda(numbers.values())
        if len(bare) == len(batch):
            return {number: (known, ()) for number, known in bare.items()}
        if len(batch) > MAX_FAST_BATCH:
            return None
        rows = await self._session.query("read_few_live", sorted(numbers.values()))
        known = self._task_cache.get_current({row[0]: row[1] for row in rows})
        if len(known) < len(batch) or not all(row[2] for row in rows):
            self._long_way = FAST_PATH_BACKOFF
            return None
        return {row[0]: (known[row[0]], _entries(row, known[row[0]].task.id)) for row in rows}

    def _decided(
        self, batch: Sequence[Settlement], numbers: dict[str, int], seen: _Seen, decide: SettleDecision
    ) -> tuple[FoldedDecisions, dict[int, CachedTask]] | None:
        folded, after = FoldedDecisions(), dict[int, CachedTask]()
        for each in batch:
            mine, entries = seen[numbers[each.run_id]]
            run, _ = mine.find_run(each.run_id)
            if run is None or run.token != each.token or mine.task.lane is not None:
                return None
            change = decide(new_tuple(Facts, (mine[2], mine[3], entries, mine[4], (), None, _NONE_MADE)), run, each)
            now_known = None if change.new_runs else folded.add(mine, entries, change)
            if now_known is None:
                return None
            after[mine.number] = now_known
        return folded, after


async def _write(link: Connection, values: list[object]) -> bool:
    """Return False if nothing was written."""
    ((written,),) = await link.query("settle_few", *values)
    return bool(written)


def _entries(row: Row, task_id: str) -> tuple[Entry, ...]:
    return () if row[3] is None else tuple([decode_entry(tuple(each), task_id) for each in decode(row[3])])
