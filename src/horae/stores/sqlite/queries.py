"""Book port of the SQLite store: task writes of the service, and paginated queries of tasks, runs, lanes and nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final

from ...errors import StoreError
from ...model.change import Change, ControlDecision, Facts
from ...model.counts import ALL_OWNERS, Counts
from ...model.page import Page
from ...model.record import RecordWrite
from ...model.run import Run
from ...ports.store import RunFilter, TaskFilter
from ..codec.columns import TaskVersion
from ..run_id_prefix import planned_range_of_prefix
from ..sql.administration import SQLAdministration
from ..sql.ledger import read_run
from ..task_cache import TaskCache
from .connection import SqliteConnection, sql
from .ledger import (
    find_run_in_small_indexes,
    read_latest,
    read_outcomes,
    read_queued,
    read_runs,
    read_stranded,
    read_tasks,
    read_upcoming,
)
from .load_facts import bind_numbers, find_task_by_id, find_task_by_key, load_task_facts
from .readers import Readers
from .records import write_attached_records
from .row_batches import RowBatches
from .task_pages import read_task_rows
from .unit_of_work import UnitOfWork
from .write_requests import BatchableWrite
from .writer import Writer

_LAST_TASK: Final = sql("last_task")
_COUNTS: Final = sql("counts")
_RUN_IDS: Final = sql("run_ids")
_SET_LANE: Final = sql("set_lane")
_PREPARE_OFF_THREAD: Final = 64
"""From this number of changes on, rows are encoded on a reader thread instead of the writer's."""
_INLINE_PAGE: Final = 50
"""Largest page that is read on the event loop."""


class SQLiteBook(SQLAdministration):
    _writer: Writer
    _readers: Readers
    _task_cache: TaskCache
    _read_cache: TaskCache
    """Cache of readers; unlike the writer's, it never contains uncommitted tasks."""

    async def add(self, changes: Sequence[Change]) -> None:
        given_changes = tuple(changes)
        if len(given_changes) >= _PREPARE_OFF_THREAD and not any(change.new_runs for change in given_changes):
            # Encoding many schedules would block the writer.
            batches = await self._readers.compute(lambda: _prepare_batches(given_changes))
            await self._writer.submit(lambda connection: _write_new_tasks(connection, batches), urgent=False)
        elif any(change.new_runs for change in given_changes):
            await self._writer.submit(
                lambda connection: add_tasks(connection, self._task_cache, given_changes), urgent=False
            )
        elif given_changes:
            batchable = BatchableWrite(_prepare_write, given_changes)
            await self._writer.submit(batchable.write_alone, urgent=False, batchable=batchable)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        def work(connection: SqliteConnection) -> Facts | None:
            task = find_task_by_id(connection, task_id)
            if task is None or owner not in (None, task.owner):
                return None
            before, after = self._decide(connection, task, decide)
            # For a deleted task, return its last facts.
            return after or before

        return await self._writer.submit(work)

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        def work(connection: SqliteConnection) -> Facts:
            task = find_task_by_key(connection, owner, key)
            if task is None:
                change = decide(None)
                if change.task is None:
                    raise StoreError(f"There is no task with the key {key}, and no new one was made.")
                add_tasks(connection, self._task_cache, [change])
                after = self._find_facts(connection, change.task.id)
            else:
                _, after = self._decide(connection, task, decide)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after

        return await self._writer.submit(work)

    def _decide(
        self, connection: SqliteConnection, task: TaskVersion, decide: Callable[[Facts], Change]
    ) -> tuple[Facts, Facts | None]:
        """Apply a decision and return the facts before and after it."""
        loaded, cached, before = load_task_facts(connection, self._task_cache, task)
        unit_of_work = UnitOfWork(connection, self._task_cache)
        unit_of_work.add_change(
            cached, before.entries, unit_of_work.deduplicate_runs(cached.number, decide(before)), loaded
        )
        unit_of_work.flush()
        return before, self._find_facts(connection, before.task.id)

    def _find_facts(self, connection: SqliteConnection, task_id: str) -> Facts | None:
        task = find_task_by_id(connection, task_id)
        if task is None:
            return None
        _, _, facts = load_task_facts(connection, self._task_cache, task)
        return facts

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        return await self._readers.run_inline(
            lambda connection: _read_facts(connection, self._read_cache, find_task_by_id(connection, task_id), owner)
        )

    async def find(self, owner: str, key: str) -> Facts | None:
        return await self._readers.run_inline(
            lambda connection: _read_facts(connection, self._read_cache, find_task_by_key(connection, owner, key), None)
        )

    async def tasks(self, task_filter: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        # Without further filters, a small page is a few adjacent index rows.
        read = (
            self._readers.run_inline
            if limit <= _INLINE_PAGE and task_filter == TaskFilter(task_filter.owner)
            else self._readers.run
        )
        return await read(lambda connection: read_tasks(connection, self._read_cache, task_filter, after, limit))

    async def count_tasks(self, task_filter: TaskFilter, limit: int) -> int:
        return len(await self._readers.run(lambda connection: read_task_rows(connection, task_filter, 0, limit)))

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        run = await self._readers.run_inline(lambda connection: find_run_in_small_indexes(connection, run_id))
        if run is None:
            # The run may be one of a million of its instant: search on a reader thread.
            run = await self._database.read(lambda statements: read_run(statements, run_id))
        return run if run is not None and owner in (None, run.owner) else None

    async def runs(self, run_filter: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        return await self._readers.run(lambda connection: read_runs(connection, run_filter, after, limit))

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        first, last = planned_range_of_prefix(prefix) or (0, -1)
        rows = await self._readers.query(
            _RUN_IDS, {"prefix": prefix, "owner": owner, "first": first, "last": last, "limit": limit}
        )
        return tuple(sorted(run_id for (run_id,) in rows)[:limit])

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._readers.run(lambda connection: read_upcoming(connection, self._read_cache, owner, limit))

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        ids = tuple(task_ids)
        return await self._readers.run(lambda connection: read_latest(connection, ids))

    async def outcomes(
        self, task_ids: Sequence[str], limit: int, since: datetime | None = None
    ) -> dict[str, tuple[Run, ...]]:
        ids = tuple(task_ids)
        return await self._readers.run(lambda connection: read_outcomes(connection, ids, limit, since))

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        if not hours:
            return {}
        rows = await self._readers.query(_COUNTS, (bind_numbers(hours), ALL_OWNERS if owner is None else owner))
        return {(hour, name): number for hour, name, number in rows}

    async def stranded(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._readers.run(lambda connection: read_stranded(connection, self._read_cache, owner, limit))

    async def queued(self, lane: str, limit: int = 20) -> tuple[Facts, ...]:
        return await self._readers.run(lambda connection: read_queued(connection, self._read_cache, lane, limit))

    async def set_lane(self, name: str, limit: int, *, attached_records: Sequence[RecordWrite] = ()) -> None:
        def work(connection: SqliteConnection) -> None:
            connection.query(_SET_LANE, (name, limit))
            unit_of_work = UnitOfWork(connection, self._task_cache)
            unit_of_work.offer_slots(name)
            unit_of_work.flush()
            write_attached_records(connection, attached_records)

        await self._writer.submit(work)


def add_tasks(connection: SqliteConnection, cache: TaskCache, changes: Sequence[Change]) -> None:
    unit_of_work = UnitOfWork(connection, cache)
    for number, change in enumerate(changes, _next_task_number(connection)):
        unit_of_work.add_task(number, change)
    unit_of_work.flush()


def _prepare_batches(changes: Sequence[Change]) -> RowBatches:
    batches = RowBatches()
    for number, change in enumerate(changes, 1):
        batches.add_task(number, change)
    return batches


def _prepare_write(changes: Sequence[Change]) -> Callable[[SqliteConnection], None]:
    batches = _prepare_batches(changes)
    return lambda connection: _write_new_tasks(connection, batches)


def _write_new_tasks(connection: SqliteConnection, batches: RowBatches) -> None:
    batches.renumber_tasks(_next_task_number(connection))
    batches.write(connection)


def _next_task_number(connection: SqliteConnection) -> int:
    return max((number for (number,) in connection.query(_LAST_TASK)), default=0) + 1


def _read_facts(
    connection: SqliteConnection, cache: TaskCache, task: TaskVersion | None, owner: str | None
) -> Facts | None:
    if task is None or owner not in (None, task.owner):
        return None
    loaded, _, facts = load_task_facts(connection, cache, task)
    loaded.update_cache(cache)
    return facts
