"""Book port of the SQL stores: creates and changes tasks, and answers the queries of the service."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final

from ....clock import Clock
from ....errors import Conflict, StoreError
from ....model.accounts.system_owner import is_readable
from ....model.change import Change, ControlDecision, Facts
from ....model.counts import OUTCOME_RETAINED_HOURS, RETAINED_HOURS, Counts, counters_key, hour_of
from ....model.ids import planned_range_of_prefix
from ....model.lanes.lane import LaneLine, LaneWaiter
from ....model.lanes.rate import RateChange
from ....model.page import Page
from ....model.record import RecordWrite
from ....model.run import Run
from ....ports.store import LinkObserver, RunFilter, TaskFilter
from ....schedule import After
from ...chains import ignore_links
from ...codec.columns import TaskVersion, decode_listed_run
from ...codec.json_codecs import instant_of
from ...task_cache import TaskCache
from ..administration import SQLAdministration
from ..chains import SQLChainQueries
from ..claims.lane_rates import set_rate
from ..connection import Statements, Transactions
from ..load_facts import LaneState, LoadedFacts, find_task_by_id, load_task_facts, lock_task
from ..records import write_attached_records
from ..row_batches import RowBatches
from ..unit_of_work import UnitOfWork
from .ledger import (
    count_tasks,
    read_latest,
    read_outcomes,
    read_queued,
    read_run,
    read_runs,
    read_stranded,
    read_task_with_lanes,
    read_tasks,
    read_upcoming,
)

_SMALL_PAGE: Final = 50
"""Largest page that counts as a few rows."""


class SQLBook(SQLAdministration, SQLChainQueries):
    _clock: Clock
    _database: Transactions
    _on_linked: LinkObserver = staticmethod(ignore_links)
    _read_cache: TaskCache
    """Cache of readers; tasks in it have no live runs."""

    async def add(self, changes: Sequence[Change]) -> None:
        given = tuple(changes)
        if given:
            await self._database.transact(lambda connection: add_tasks(connection, given), urgent=False)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        linked: list[Change] = []

        async def work(connection: Statements) -> Facts | None:
            found = await find_task_by_id(connection, task_id)
            if found is None:
                return None
            number, task_owner = found
            if not is_readable(owner, task_owner):
                return None
            decided = await self._decide(connection, number, decide, linked)
            if decided is None:
                return None
            before, after = decided
            # For a deleted task, return its last facts.
            return after or before

        facts = await self._database.transact(work)
        if linked:
            self._on_linked(linked)
        return facts

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        linked: list[Change] = []

        async def edit_existing(connection: Statements) -> tuple[Facts, Facts | None] | None:
            for _, _, number in await connection.query("numbers_by_key", [owner], [key]):
                return await self._decide(connection, number, decide, linked)
            return None

        async def create_or_edit(connection: Statements) -> Facts | None:
            if (decided := await edit_existing(connection)) is not None:
                _, after = decided
                return after
            try:
                return await _create(connection, key, decide(None))
            except Conflict as conflict:
                # Nothing was written yet: another process may have created the task since the lookup.
                if conflict.code != "key_taken" or (decided := await edit_existing(connection)) is None:
                    raise
                _, after = decided
                return after

        async def work(connection: Statements) -> Facts:
            after = await create_or_edit(connection)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after

        facts = await self._database.transact(work)
        if linked:
            self._on_linked(linked)
        return facts

    async def _decide(
        self, connection: Statements, number: int, decide: Callable[[Facts], Change], linked: list[Change]
    ) -> tuple[Facts, Facts | None] | None:
        """Lock the task, apply the decision, and return the facts before and after it; None if the task was deleted.

        `linked` gets the changes of linked tasks, in place of those of an attempt that was rolled back.
        """
        version = await lock_task(connection, number)
        if version is None:
            return None
        loaded, known, before = await load_task_facts(connection, TaskCache(), number, version)
        unit = UnitOfWork(connection, loaded)
        unit.add_change(known, before.entries, await unit.deduplicate_runs(number, decide(before)))
        await unit.flush()
        linked[:] = unit.linked_changes
        version = await lock_task(connection, number)
        if version is None:
            return before, None
        _, _, after = await load_task_facts(connection, TaskCache(), number, version)
        return before, after

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        return await self._database.read(
            lambda connection: _read_task_facts(connection, self._read_cache, "task_version_by_id", [task_id], owner),
            extent="few",
        )

    async def find(self, owner: str, key: str) -> Facts | None:
        return await self._database.read(
            lambda connection: _read_task_facts(
                connection, self._read_cache, "task_version_by_key", [owner, key], None
            ),
            extent="few",
        )

    async def tasks(self, task_filter: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        # Without further filters, a small page is a few adjacent index rows.
        is_small = limit <= _SMALL_PAGE and task_filter == TaskFilter(task_filter.owner)
        return await self._database.read(
            lambda connection: read_tasks(connection, self._read_cache, task_filter, after, limit),
            extent="few" if is_small else "page",
        )

    async def count_tasks(self, task_filter: TaskFilter, limit: int) -> int:
        return await self._database.read(lambda connection: count_tasks(connection, task_filter, limit))

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        run = await self._database.read(lambda connection: read_run(connection, run_id))
        return run if run is not None and is_readable(owner, run.owner) else None

    async def runs(self, run_filter: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        return await self._database.read(lambda connection: read_runs(connection, run_filter, after, limit))

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        first, last = planned_range_of_prefix(prefix) or (0, -1)
        live = await self._database.query("live_run_ids", prefix, owner, limit)
        ended = await self._database.query("ended_run_ids", prefix, owner, limit, first, last)
        return tuple(sorted({run_id for (run_id,) in (*live, *ended)})[:limit])

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._database.read(lambda connection: read_upcoming(connection, self._read_cache, owner, limit))

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        given = list(task_ids)
        return await self._database.read(lambda connection: read_latest(connection, given)) if given else {}

    async def outcomes(
        self, task_ids: Sequence[str], limit: int, since: datetime | None = None
    ) -> dict[str, tuple[Run, ...]]:
        given = list(task_ids)
        if not given:
            return {}
        return await self._database.read(lambda connection: read_outcomes(connection, given, limit, since))

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        if not hours:
            return {}
        key, this_hour = counters_key(owner), hour_of(self._clock.now())
        values = (list(hours), key, this_hour, RETAINED_HOURS, OUTCOME_RETAINED_HOURS)
        # The counters of one hour are a few adjacent rows.
        read = self._database.lookup if len(hours) == 1 else self._database.query
        rows = await read("counts", *values)
        return {(hour, name): int(number) for hour, name, number in rows}

    async def stranded(self, owner: str | None, now: datetime, limit: int = 20) -> tuple[Facts, ...]:
        return await self._database.read(
            lambda connection: read_stranded(connection, self._read_cache, owner, now, limit)
        )

    async def queued(self, lane: str, limit: int = 20) -> tuple[Facts, ...]:
        return await self._database.read(lambda connection: read_queued(connection, self._read_cache, lane, limit))

    async def lane_line(self, lane: str, limit: int = 10_000) -> LaneLine:
        async def read(connection: Statements) -> LaneLine:
            rows = await connection.query("lane_line", lane, limit + 1)
            last_owners = [owner for (owner,) in await connection.query("lane_turn", lane)]
            waiters = tuple(
                LaneWaiter(task_id, slot, owner, priority, instant_of[due], waited >> 1)
                for task_id, slot, owner, priority, due, waited in rows[:limit]
            )
            return LaneLine(waiters, next(iter(last_owners), ""), len(rows) > limit)

        return await self._database.read(read)

    async def lane_runs(self, lane: str, limit: int = 20) -> tuple[Run, ...]:
        rows = await self._database.query("lane_runs", lane, limit)
        return tuple(map(decode_listed_run, rows))

    async def set_lane(
        self,
        name: str,
        limit: int | None,
        *,
        rate: RateChange = "keep",
        attached_records: Sequence[RecordWrite] = (),
    ) -> None:
        async def work(connection: Statements) -> None:
            await connection.query("set_lane", name, limit)
            if rate != "keep":
                lane_state = LaneState(connection)
                await lane_state.lock_lanes([name])
                await set_rate(connection, name, lane_state.rates.get(name), rate)
            unit = UnitOfWork(connection, LoadedFacts(connection, TaskCache(), {}))
            unit.offer_slots(name)
            unit.batches.attached_records += attached_records
            await unit.flush()

        await self._database.transact(work)


async def add_tasks(connection: Statements, changes: Sequence[Change]) -> None:
    """Add new tasks within the transaction that the connection is in."""
    if any(map(needs_unit_of_work, changes)):
        numbered = list(zip(await connection.new_task_numbers(len(changes)), changes, strict=True))
        linked = [[each] for each in numbered if _is_linked(each[1])]
        # A linked task is written after those that it may run after.
        for batch in ([each for each in numbered if not _is_linked(each[1])], *linked):
            unit = UnitOfWork(connection, LoadedFacts(connection, TaskCache(), {}))
            for number, change in batch:
                await unit.add_task(number, change)
            await unit.flush()
    else:
        await write_new_tasks(connection, prepare_new_tasks(changes), len(changes))


def needs_unit_of_work(change: Change) -> bool:
    """Whether a new task comes with runs, or is linked with others."""
    return bool(change.new_runs) or _is_linked(change)


def _is_linked(change: Change) -> bool:
    return change.task is not None and change.task.schedule.__class__ is After


def prepare_new_tasks(changes: Sequence[Change]) -> RowBatches:
    """Encode new tasks without runs, before there is a transaction."""
    batches = RowBatches()
    for number, change in enumerate(changes, 1):
        batches.add_task(number, change)
    return batches


async def write_new_tasks(connection: Statements, batches: RowBatches, count: int) -> None:
    batches.number_tasks(await connection.new_task_numbers(count))
    await batches.write(connection)
    if batches.attached_records:
        await write_attached_records(connection, batches.attached_records)


async def _create(connection: Statements, key: str, change: Change) -> Facts | None:
    if change.task is None:
        raise StoreError(f"There is no task with the key {key}, and no new one was made.")
    await add_tasks(connection, [change])
    return await _read_task_facts(connection, TaskCache(), "task_version_by_id", [change.task.id], None)


async def _read_task_facts(
    connection: Statements, cache: TaskCache, statement: str, values: list[str], owner: str | None
) -> Facts | None:
    for task in map(TaskVersion._make, await connection.query(statement, *values)):
        if is_readable(owner, task.owner):
            return await read_task_with_lanes(connection, cache, task.number, task.version)
    return None
