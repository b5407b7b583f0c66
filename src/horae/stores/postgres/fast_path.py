"""Fast path of PostgreSQL: ordinary starts and successes (`OrdinaryStart`, `OrdinarySuccess`) are written by one statement.

A few due tasks are claimed in two round trips: a read without locks, and one statement that writes what was decided unless a
task has changed meanwhile (optimistic locking by version). A settlement of cached tasks takes one. All else goes the general way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

import asyncpg

from ...model.change import Facts, FireDecision, SettleDecision
from ...model.counts import bucket_of_microseconds
from ...model.entry import Entry
from ...model.ids import to_microseconds
from ...model.outcome import Settlement, Succeeded
from ...model.run import Run
from ...model.task import NEW_TASK_STATUS, TaskState
from ...ports.store import Claim, Claimed
from ..claim_rules import earliest_due
from ..codec.due_rows import DueRow, decode_due_row, decode_live_task_row
from ..codec.json_codecs import instant_of, microseconds_of, replace_lone_surrogates
from ..codec.rows import Row, names_planned_instant
from ..counter_deltas import HOUR_MICROSECONDS, CounterDeltas
from ..owner_rotation import priority_key
from ..sql.claim import Claimer, ClaimRequest, build_claim
from ..sql.connection import Statements
from ..sql.dialect import Dialect
from ..sql.ordinary_batch import OrdinaryBatch
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
        if first.ready is not None or len(rows) > MAX_FAST_BATCH or any(row.is_chained or row.has_lane for row in rows):
            # A chained entry, and one in a lane, is never ordinary; the claims after this one may be.
            return await self._claim_slice(request)
        decided = self._decide_all(rows, request) if first.is_unrestricted else None
        claim = None if decided is None else await self._write(decided, request)
        if claim is None:
            self._backoff = FAST_PATH_BACKOFF
            return await self._claim_slice(request)
        self._head = claim.next_due
        return claim

    def _decide_all(self, rows: list[DueRow], request: ClaimRequest) -> _Decided | None:
        """Decide all rows; return None if one of them is not ordinary."""
        cached = self._task_cache.get_current({row.number: row.version for row in rows})
        decided = _Decided(OrdinaryBatch(), {})
        token = rows[0].token
        for row in sorted(rows, key=lambda each: priority_key(each.entry))[: request.room]:
            known = cached.get(row.number) or _decode_task(row)
            if known is None or known.task.lane is not None or row.entry_count != 1:
                return None
            entry = row.decode_entry(known.task.id)
            change = request.decide(Facts(known.task, known.status, (entry,), known.live), entry, token)
            after = decided.batch.add(known, (entry,), change) if change.new_runs else None
            if after is None:
                return None
            decided.after[known.number] = after
        return decided

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
        if new < len(decided.batch.decisions):
            return None
        numbers = set(map(int, claimed_numbers.split(","))) if claimed_numbers else set()
        after = {number: known for number, known in decided.after.items() if number in numbers}
        self._task_cache.update(after, numbers.intersection(decided.batch.emptied_tasks))
        written = [each for each in decided.batch.decisions if each.known.number in numbers]
        if written:
            self._claim_order.last_owner = written[-1].known.task.owner
        heads = [entry.due for each in written for entry in each.change.put]
        heads += [instant_of[due] for due in (timed, ready) if due is not None]
        claimed = [Claimed(each.known.task, run) for each in written for run in each.change.new_runs]
        return build_claim(claimed, len(claimed), request.now, min(heads, default=None))


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
        general = self._task_cache.linked_or_laned_runs([each.run_id for each in batch])
        general = general.union([each.run_id for each in batch if each.writes is not None])
        if not general:
            return await self._settle_others(batch, decide)
        # Runs of linked tasks, in lanes, and with writes are never ordinary, and must not keep the others from the fast path.
        stale = await super().settle([each for each in batch if each.run_id in general], decide)
        others = [each for each in batch if each.run_id not in general]
        return stale | await self._settle_others(others, decide) if others else stale

    async def _settle_others(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return frozenset() if await self._settle_fast(batch, decide) else await super().settle(batch, decide)

    async def _settle_fast(self, batch: Sequence[Settlement], decide: SettleDecision) -> bool:
        """Try the fast path; return False, with nothing written, if a run is not ordinary or a task changed meanwhile."""
        numbers = self._task_cache.task_numbers_of_runs([each.run_id for each in batch])
        all_succeeded = all(isinstance(each.outcome, Succeeded) for each in batch)
        if not all_succeeded or len(set(numbers.values())) < len(batch):
            return False
        loaded = await self._load_tasks(batch, numbers)
        if loaded is None:
            return False
        decided = self._decide_all(batch, numbers, loaded, decide)
        values = None if decided is None else encode_successes(decided.batch, 0)
        if decided is None or values is None:
            self._backoff = FAST_PATH_BACKOFF
            return False
        versions = encode_array([each.known.version for each in decided.batch.decisions])
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
        if len(known) < len(batch) or not all(row.is_unrestricted for row in rows):
            self._backoff = FAST_PATH_BACKOFF
            return None
        return {row.number: (known[row.number], row.decode_entries(known[row.number].task.id)) for row in rows}

    def _decide_all(
        self, batch: Sequence[Settlement], numbers: dict[str, int], loaded: _LoadedTasks, decide: SettleDecision
    ) -> _Decided | None:
        decided = _Decided(OrdinaryBatch(), {})
        for report in batch:
            known, entries = loaded[numbers[report.run_id]]
            run = known.find_run(report.run_id)
            if run is None or run.token != report.token or known.task.lane is not None:
                return None
            change = decide(Facts(known.task, known.status, entries, known.live), run, report)
            after = None if change.new_runs else decided.batch.add(known, entries, change)
            if after is None:
                return None
            decided.after[known.number] = after
        return decided


async def _write_ends(connection: Statements, values: list[object]) -> bool:
    """Return False if nothing was written."""
    ((written,),) = await connection.query("settle_few", *values)
    return bool(written)


def encode_starts(batch: OrdinaryBatch, event_count: int) -> list[Any] | None:
    """Return the parameters of `write_starts`; None if the starts have too little in common, or an entry is put again.

    `event_count` is the number of events that the transaction has written already.
    """
    runs = [run for each in batch.decisions for run in each.change.new_runs]
    if any(each.change.put for each in batch.decisions) or any(run.due != run.planned for run in runs):
        return None
    common, planned = _common_values(runs), _instants([run.planned for run in runs])
    if common is None or not _all_named_by_instant(runs, planned):
        return None
    owners = [run.owner for run in runs]
    columns: Sequence[Sequence[Any]] = (
        [each.known.number for each in batch.decisions],
        [run.id for run in runs],
        owners,
        planned,
        [run.task_id for run in runs],
    )
    return [*map(encode_array, columns), *common, event_count, _common_owner(owners)]


def encode_few_starts(batch: OrdinaryBatch) -> list[Any] | None:
    """Return the parameters of `claim_few`: also the expected versions, and the instants of the next occurrences."""
    decisions = batch.decisions
    runs = [run for each in decisions for run in each.change.new_runs]
    common, planned = _common_values(runs), _instants([run.planned for run in runs])
    if common is None or not _all_named_by_instant(runs, planned):
        return None
    entries = [entry for each in decisions for entry in each.entries]
    following = [each.change.put[0] if each.change.put else None for each in decisions]
    return [
        [each.known.number for each in decisions],
        [each.known.version for each in decisions],
        [entry.slot for entry in entries],
        _instants([entry.due for entry in entries]),
        [run.id for run in runs],
        [run.owner for run in runs],
        planned,
        [run.task_id for run in runs],
        _instants([run.due for run in runs]),
        *common,
        [None if entry is None else to_microseconds(entry.due) for entry in following],
        [None if entry is None else to_microseconds(entry.planned) for entry in following],
    ]


def encode_successes(batch: OrdinaryBatch, event_count: int) -> list[Any] | None:
    """Return the parameters of `write_ends` and `settle_few`; None if an id does not encode its planned instant: such a run
    is indexed separately in the ledger."""
    decisions = batch.decisions
    runs = [run for each in decisions for run in each.change.updated_runs]
    if not _all_named_by_instant(runs, _instants([run.planned for run in runs])):
        return None
    started = _instants([run.started or run.planned for run in runs])
    ended = _instants([run.ended or run.planned for run in runs])
    owners = [run.owner for run in runs]
    completed = [each.change.status is None or each.change.status.state is TaskState.COMPLETED for each in decisions]
    stays_active = [None if each else 1 for each in completed]
    first_places = accumulate([len(each.change.events) for each in decisions[:-1]], initial=event_count)
    columns: Sequence[Sequence[Any]] = (
        [each.known.number for each in decisions],
        [run.id for run in runs],
        [run.task_id for run in runs],
        started,
        ended,
        list(first_places),
    )
    deltas = _counter_deltas(owners, _instants([run.due for run in runs]), started, ended, stays_active)
    return [
        *map(encode_array, columns),
        _encode_sparse([run.result_json for run in runs]),
        _encode_sparse([(each.change.status or NEW_TASK_STATUS).last_result for each in decisions]),
        _encode_sparse(stays_active),
        *encode_columns(deltas),
        event_count + batch.event_count,
        event_count,
        *_packed_events(owners, stays_active),
    ]


def _common_values(runs: Sequence[Run]) -> list[Any] | None:
    """Return what the runs of a claim have in common, as the statements take it; None if they differ there."""
    first = runs[0]
    common = (first.origin, first.attempt, first.state, first.token, first.node, first.claimed, first.started)
    for run in runs:
        if (run.origin, run.attempt, run.state, run.token, run.node, run.claimed, run.started) != common:
            return None
    *others, claimed, started = common
    return [*others, *(None if at is None else microseconds_of[at] for at in (claimed, started))]


def _all_named_by_instant(runs: Sequence[Run], planned: list[int]) -> bool:
    return all(map(names_planned_instant, [run.id for run in runs], planned))


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


def _counter_deltas(
    owners: Sequence[str], due: list[int], started: list[int], ended: list[int], stays_active: list[int | None]
) -> list[tuple[Any, ...]]:
    deltas = CounterDeltas()
    hours = [at // HOUR_MICROSECONDS for at in ended]
    for (owner, hour, began, was_due), number in Counter(zip(owners, hours, started, due, strict=True)).items():
        deltas.succeeded[owner, hour, bucket_of_microseconds(began - was_due)] += number
    for owner, active in zip(owners, stays_active, strict=True):
        if active is None:
            deltas.completed[owner] += 1
    return deltas.delta_rows()
