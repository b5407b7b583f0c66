"""Fast path of PostgreSQL: ordinary starts and successes (`OrdinaryStart`, `OrdinarySuccess`) are written by one statement.

A few due tasks are claimed in two round trips: a read without locks, and one statement that writes what was decided unless a
task has changed meanwhile (optimistic locking by version). A settlement of cached tasks takes one. All else goes the general way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

import asyncpg

from ...lifecycle.batch import SettlementDecision
from ...model.change import Facts, FireDecision, SettleDecision
from ...model.entry import NEXT_SLOT, Entry
from ...model.ids import to_microseconds
from ...model.outcome import Settlement, Succeeded
from ...ports.store import Claim, Claimed
from ..claim_rules import earliest_due, priority_key
from ..codec.columns import entry_order
from ..codec.due_rows import DueRow, decode_due_row, decode_live_task_row
from ..codec.json_codecs import instant_of, replace_lone_surrogates
from ..codec.rows import Row, is_named_by_instant
from ..sql.claims.claim import Claimer, ClaimRequest, build_claim
from ..sql.claims.ordinary_batch import (
    OrdinaryBatch,
    common_run_values,
    count_successes,
    is_completing,
    success_of,
    task_after_success,
)
from ..sql.connection import Statements
from ..sql.dialect import Dialect
from ..sql.settle import RunUpdater
from ..sql.transactions import Session
from ..task_cache import CachedTask, TaskCache
from .arrays import encode_array, encode_columns

MAX_FAST_BATCH: Final = 16
"""Most entries of a fast claim: with more, conflicts with other nodes are likely. Above it, events are packed in one row."""
FAST_PATH_BACKOFF: Final = 16
"""Number of calls that use the general path after the fast path has failed."""
_LoadedTasks: TypeAlias = dict[int, tuple[CachedTask, tuple[Entry, ...]]]


class _Decided(NamedTuple):
    """Decisions to be written, and the resulting tasks by number."""

    batch: OrdinaryBatch
    after: dict[int, CachedTask]


class FastClaimer(Claimer):
    def __init__(self, session: Session, cache: TaskCache, dialect: Dialect) -> None:
        super().__init__(session, cache, dialect)
        self._backoff = 0
        """Number of claims that still use the general path."""
        self._has_more = False
        """Whether entries were left over by the last claim; shared by concurrent claims."""

    async def claim(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        if room <= 0 or self._has_more or self._backoff:
            self._backoff = max(0, self._backoff - 1)
            claim = await super().claim(now, node, room, decide)
        else:
            claim = await self._claim_few(ClaimRequest(now, node, room, decide))
        self._has_more = claim.more
        return claim

    async def _claim_few(self, request: ClaimRequest) -> Claim:
        found = await self._database.query(
            "read_few_due", request.node, to_microseconds(request.now), MAX_FAST_BATCH + 1
        )
        if not found:
            return Claim()
        rows = list(map(decode_due_row, found))
        first = rows[0]
        if first.next_timed is not None and instant_of[first.next_timed] <= request.now:
            # A lane is to be woken.
            return await self._claim_slice(request)
        if first.number is None and (first.ready is None or instant_of[first.ready] > request.now):
            self._head = earliest_due(first.next_timed, first.ready)
            return Claim((), 0, more=False, next_due=self._head)
        ordinary = [row for row in rows if not row.needs_general_path]
        if first.ready is not None or len(rows) > MAX_FAST_BATCH or not ordinary:
            return await self._claim_slice(request)
        others = [row for row in rows if row.needs_general_path]
        if others and (len(rows) > request.room or max(map(_priority, others)) > min(map(_priority, ordinary))):
            # What is left for the next claim must not be what comes first.
            return await self._claim_slice(request)
        decided = self._decide_all(ordinary, request)
        claim = None if decided is None else await self._write(decided, request)
        if claim is None:
            self._backoff = FAST_PATH_BACKOFF
            return await self._claim_slice(request)
        self._head = claim.next_due
        return claim

    def _decide_all(self, rows: list[DueRow], request: ClaimRequest) -> _Decided | None:
        """Decide the rows that are ordinary; return None if none is. The others stay due, and the next claim takes them by
        the general path, so they do not cost the ordinary ones theirs."""
        cached = self._task_cache.get_current({row.number: row.version for row in rows})
        decided = _Decided(OrdinaryBatch(), {})
        token = rows[0].token
        by_priority = sorted(rows, key=lambda each: priority_key(each.entry))
        for row in by_priority[: request.room]:
            known = cached.get(row.number) or _decode_task(row)
            after = None if known is None else self._decide_ordinary(decided.batch, row, known, token, request)
            if known is not None and after is not None:
                decided.after[known.number] = after
            elif len(by_priority) > request.room or _priority(row) > _priority(by_priority[-1]):
                # What is left for the next claim must not be what comes first.
                return None
        return decided if len(decided.batch) else None

    def _decide_ordinary(
        self, batch: OrdinaryBatch, row: DueRow, known: CachedTask, token: int, request: ClaimRequest
    ) -> CachedTask | None:
        """Add the start of an entry to the batch and return its task after that; return None if it is not ordinary."""
        if known.task.lane is not None or row.entry_count != 1:
            return None
        entry = row.decode_entry(known.task.id)
        change = request.decide(Facts(known.task, known.status, (entry,), known.live), entry, token)
        return batch.add(known, change) if change.new_runs else None

    async def _write(self, decided: _Decided, request: ClaimRequest) -> Claim | None:
        values = encode_few_starts(decided.batch)
        if values is None:
            return None
        rows = await self._database.run_statement(lambda connection: _write_claim(connection, values))
        if not rows:
            return None
        ((is_joined, new, claimed_numbers, timed, ready),) = rows
        if not is_joined:
            return Claim()
        if new < len(decided.batch):
            return None
        numbers = set(map(int, claimed_numbers.split(","))) if claimed_numbers else set()
        after = {number: known for number, known in decided.after.items() if number in numbers}
        self._task_cache.update(after, numbers.intersection(decided.batch.emptied_tasks))
        written = [(known, start) for known, start in decided.batch.starts if known.number in numbers]
        if written:
            last, _ = written[-1]
            self._claim_order.last_owner = last.task.owner
        heads = [start.following.due for _, start in written if start.following is not None]
        heads += [instant_of[due] for due in (timed, ready) if due is not None]
        claimed = [Claimed(known.task, start.run) for known, start in written]
        return build_claim(claimed, len(claimed), request.now, min(heads, default=None))


def _priority(row: DueRow) -> int:
    priority, *_ = entry_order(row.entry)
    return priority


async def _write_claim(connection: Statements, values: list[object]) -> list[Row]:
    """Write the claim; return no rows if one of the runs is live already."""
    try:
        return await connection.query("claim_few", *values)
    except asyncpg.UniqueViolationError:
        return []


def _decode_task(row: DueRow) -> CachedTask | None:
    """Build the task from the row; None if its live runs or payload would have to be read too."""
    if row.has_live_runs or not row.has_payload:
        return None
    return CachedTask(row.number, row.version, row.decode_task(), row.decode_status())


class FastRunUpdater(RunUpdater):
    def __init__(self, session: Session, cache: TaskCache) -> None:
        super().__init__(session, cache)
        self._backoff = 0
        """Number of settlements that still use the general path."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        if self._backoff:
            self._backoff -= 1
            return await super().settle(batch, decide)
        run_ids = [each.run_id for each in batch]
        general = self._task_cache.never_ordinary_runs(run_ids)
        if others_known := [each.run_id for each in batch if each.writes is not None or not _has_succeeded(each)]:
            general = general | set(others_known)
        if not general:
            return await self._settle_others(batch, decide)
        others = [each for each in batch if each.run_id not in general]
        if not others:
            return await super().settle(batch, decide)
        # The never ordinary ones must not keep the others from the fast path.
        stale = await super().settle([each for each in batch if each.run_id in general], decide)
        return stale | await self._settle_others(others, decide)

    async def _settle_others(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return frozenset() if await self._settle_fast(batch, decide) else await super().settle(batch, decide)

    async def _settle_fast(self, batch: Sequence[Settlement], decide: SettleDecision) -> bool:
        """Try the fast path; return False, with nothing written, if a run is not ordinary or a task changed meanwhile."""
        numbers = self._task_cache.task_numbers_of_runs([each.run_id for each in batch])
        if len(set(numbers.values())) < len(batch):
            return False
        loaded = await self._load_tasks(batch, numbers)
        if loaded is None:
            return False
        decided = self._decide_all(batch, numbers, loaded, decide)
        if decided is None:
            self._backoff = FAST_PATH_BACKOFF
            return False
        values = encode_successes(decided.batch, 0)
        versions = encode_array([known.version for known, _, _ in decided.batch.ends])
        if not await self._database.run_statement(lambda connection: _write_ends(connection, [*values, versions])):
            return False
        self._task_cache.update(decided.after)
        return True

    async def _load_tasks(self, batch: Sequence[Settlement], numbers: dict[str, int]) -> _LoadedTasks | None:
        """Return each task and its entries by task number; None if that takes more than one read."""
        without_entries = self._task_cache.get_with_empty_agenda(numbers.values())
        if len(without_entries) == len(batch):
            return {number: (known, ()) for number, known in without_entries.items()}
        if len(batch) > MAX_FAST_BATCH:
            return None
        rows = [
            decode_live_task_row(row) for row in await self._database.query("read_few_live", sorted(numbers.values()))
        ]
        known = self._task_cache.get_current({row.number: row.version for row in rows})
        if len(known) < len(batch):
            self._backoff = FAST_PATH_BACKOFF
            return None
        return {row.number: (known[row.number], row.decode_entries(known[row.number].task.id)) for row in rows}

    def _decide_all(
        self, batch: Sequence[Settlement], numbers: dict[str, int], loaded: _LoadedTasks, decide: SettleDecision
    ) -> _Decided | None:
        decided = _Decided(OrdinaryBatch(), {})
        success = decide.success if isinstance(decide, SettlementDecision) else None
        for report in batch:
            known, entries = loaded[numbers[report.run_id]]
            run = known.find_run(report.run_id)
            if run is None or run.token != report.token or known.task.lane is not None:
                return None
            if success is None:
                change = decide(Facts(known.task, known.status, entries, known.live), run, report)
                ended = None if change.new_runs else success_of(change)
            else:
                ended = success(known.task, known.status, entries, known.live, run, report)
            if ended is None or not is_named_by_instant(run):
                return None
            decided.batch.add_success(known, run, ended)
            decided.after[known.number] = task_after_success(known, ended)
        return decided


def _has_succeeded(report: Settlement) -> bool:
    return isinstance(report.outcome, Succeeded)


async def _write_ends(connection: Statements, values: list[object]) -> bool:
    """Return False if nothing was written."""
    ((written,),) = await connection.query("settle_few", *values)
    return bool(written)


def encode_starts(batch: OrdinaryBatch, event_count: int) -> list[Any] | None:
    """Return the parameters of `write_starts`; None if the starts have too little in common.

    `event_count` is the number of events that the transaction has written already.
    """
    runs = [start.run for _, start in batch.starts]
    common = common_run_values(runs)
    if common is None:
        return None
    owners = [run.owner for run in runs]
    columns: Sequence[Sequence[Any]] = (
        [known.number for known, _ in batch.starts],
        [run.id for run in runs],
        owners,
        _instants([run.planned for run in runs]),
        [run.task_id for run in runs],
    )
    following = [start.following for _, start in batch.starts]
    has_own_due = any(run.due is not run.planned and run.due != run.planned for run in runs)
    return [
        *map(encode_array, columns),
        *common,
        event_count,
        _common_owner(owners),
        encode_array(_instants([run.due for run in runs])) if has_own_due else None,
        _encode_sparse([None if entry is None else to_microseconds(entry.due) for entry in following]),
        _encode_sparse([None if entry is None else to_microseconds(entry.planned) for entry in following]),
        encode_array(batch.emptied_tasks),
    ]


def encode_few_starts(batch: OrdinaryBatch) -> list[Any] | None:
    """Return the parameters of `claim_few`: also the expected versions, and the instants of the next occurrences."""
    runs = [start.run for _, start in batch.starts]
    common, due = common_run_values(runs), _instants([run.due for run in runs])
    if common is None:
        return None
    following = [start.following for _, start in batch.starts]
    return [
        [known.number for known, _ in batch.starts],
        [known.version for known, _ in batch.starts],
        [NEXT_SLOT] * len(runs),
        due,
        [run.id for run in runs],
        [run.owner for run in runs],
        _instants([run.planned for run in runs]),
        [run.task_id for run in runs],
        due,
        *common,
        [None if entry is None else to_microseconds(entry.due) for entry in following],
        [None if entry is None else to_microseconds(entry.planned) for entry in following],
    ]


def encode_successes(batch: OrdinaryBatch, event_count: int) -> list[Any]:
    """Return the parameters of `write_ends` and `settle_few`."""
    runs, ends = [run for _, run, _ in batch.ends], [success for _, _, success in batch.ends]
    started = _instants([success.started or run.planned for run, success in zip(runs, ends, strict=True)])
    ended = _instants([success.ended for success in ends])
    owners = [run.owner for run in runs]
    stays_active = [None if is_completing(success) else 1 for success in ends]
    first_places = accumulate([2 if active is None else 1 for active in stays_active[:-1]], initial=event_count)
    columns: Sequence[Sequence[Any]] = (
        [known.number for known, _, _ in batch.ends],
        [run.id for run in runs],
        [run.task_id for run in runs],
        started,
        ended,
        list(first_places),
    )
    deltas = count_successes(batch).delta_rows()
    return [
        *map(encode_array, columns),
        _encode_sparse([success.result for success in ends]),
        _encode_sparse([success.status.last_result for success in ends]),
        _encode_sparse(stays_active),
        *encode_columns(deltas),
        event_count + batch.event_count,
        event_count,
        *_packed_events(owners, stays_active),
    ]


def _instants(found: Sequence[datetime]) -> list[int]:
    """Convert to microseconds; fast if all instants are equal, as for runs that came due or started together."""
    if found.count(found[0]) == len(found):
        return [to_microseconds(found[0])] * len(found)
    return list(map(to_microseconds, found))


def _common_owner(owners: Sequence[str]) -> str | None:
    """Return the common owner; None if owners differ, or for a few events, which are faster to read as single rows."""
    is_common = len(owners) > MAX_FAST_BATCH and owners.count(owners[0]) == len(owners)
    return owners[0] if is_common else None


def _packed_events(owners: Sequence[str], stays_active: list[int | None]) -> tuple[str | None, str | None]:
    """Return the event kinds of each run and the owner, for one packed row; None if they are not the same for all."""
    owner, completed = _common_owner(owners), stays_active.count(None)
    if owner is None or completed not in (0, len(stays_active)):
        return None, None
    return ("{run.succeeded,task.completed}" if completed else "{run.succeeded}"), owner


def _encode_sparse(values: Sequence[Any]) -> str | None:
    """Return an array literal; None if all values are None."""
    if values.count(None) == len(values):
        return None
    return encode_array([replace_lone_surrogates(value) if isinstance(value, str) else value for value in values])
