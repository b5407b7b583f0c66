"""Retention of the Redis store: finds and deletes expired runs, tasks, events and chain rows in small transactions.

Expired rows are found by their instants. The number of runs of a task can only grow when it emits events, so after a first
scan of all tasks only those with new events are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ...model.change import Change
from ...model.counts import hour_of
from ...model.events.event import REMOVED_EVENTS
from ...model.ids import to_microseconds
from ...model.record import Record
from ...model.run import Run
from ...ports.store import TrimResult
from ..retention_cursor import RetentionCursor
from .layout.counters import newest_hour, old_fields
from .layout.document_cache import DocumentCache
from .layout.documents import decode_chain_document, decode_event_text, decode_task_document
from .layout.indexes import ENDED_STATES, NOTHING, members_of_chain_row, update_indexes
from .layout.keys import RUN_RANK_LENGTH, SEPARATOR, planned_prefix, run_member
from .layout.lane_documents import decode_lane
from .reads.index_reads import fetch_runs, fetch_tasks, fetch_texts, read_at_once
from .transactions.deletion import delete_runs
from .transactions.record_writes import put_record, read_record
from .transactions.runner import RedisTransactions
from .transactions.transaction import Transaction
from .transactions.unit_of_work import UnitOfWork

_CHUNK: Final = 500
_EVENT_BATCH: Final = 1_000
_TASK_WINDOW: Final = 1_000
"""Tasks whose runs are counted at once."""
_SWEPT: Final = "swept"


class Retention:
    """One batch of at most `limit` rows."""

    def __init__(
        self, database: RedisTransactions, cache: DocumentCache, before: datetime, keep_runs: int, limit: int
    ) -> None:
        self._database = database
        self._cache = cache
        self._keys = database.keys
        self._before = before
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def trim(self, after: str | None) -> TrimResult:
        last = int(await self._database.client.call("GET", self._keys.last_event) or 0)
        cursor = RetentionCursor(last, 0) if after is None else RetentionCursor.parse(after)
        await self._drop_chain_rows()
        runs = await self._delete_runs(await self._find_expired_runs())
        tasks = await self._delete_tasks(self._limit - runs) if runs < self._limit else 0
        events = await self._delete_events(self._limit - runs - tasks) if runs + tasks < self._limit else 0
        if runs or tasks or events:
            return TrimResult(runs, tasks, events, more=True, after=cursor.encoded)
        if cursor == RetentionCursor(last):
            return TrimResult(after=cursor.encoded)
        return await self._trim_surplus(cursor, last)

    # --- by age --------------------------------------------------------------------------------------------------------

    async def _find_expired_runs(self) -> list[Run]:
        found: list[Run] = []
        start, end = "-", f"({planned_prefix(to_microseconds(self._before))}"
        while len(found) < self._limit:
            runs = await fetch_runs(self._database, ("ZRANGEBYLEX", self._keys.runs, start, end, "LIMIT", 0, _CHUNK))
            found += [run for run in runs if run.ended is not None and not run.live and run.ended < self._before]
            if len(runs) < _CHUNK:
                break
            last = runs[-1]
            start = f"({run_member(to_microseconds(last.planned), last.attempt, last.id)}"
        return found[: self._limit]

    async def _delete_runs(self, runs: list[Run]) -> int:
        if not runs:
            return 0
        ids = [run.id for run in runs]

        async def work(transaction: Transaction) -> int:
            keys = transaction.keys
            texts = [text for text in await transaction.read(map(keys.run, ids)) if text is not None]
            await delete_runs(transaction, texts)
            for run_id in ids:
                transaction.call("UNLINK", keys.log(run_id))
            transaction.call_with("ZREM", keys.logged_runs, ids)
            return len(texts)

        count, _ = await self._database.transact(work)
        return count

    async def _delete_tasks(self, limit: int) -> int:
        """Delete tasks that ended before the instant and have no run and no entry; a transaction checks them again."""
        until = f"({to_microseconds(self._before)}"
        deleted = start = 0
        while deleted < limit:
            words = ("ZRANGEBYSCORE", self._keys.ended_tasks, "-inf", until, "LIMIT", start, _CHUNK)
            documents = await fetch_tasks(self._database, words)
            ids = [each.task.id for each in documents if not each.entries and not each.live]
            sizes = await read_at_once(self._database, [("ZCARD", self._keys.task_runs(each)) for each in ids])
            idle = [task_id for task_id, size in zip(ids, sizes, strict=True) if not int(size)]
            here = await self._delete_idle_tasks(idle[: limit - deleted])
            deleted += here
            if len(documents) < _CHUNK:
                break
            start += _CHUNK - here
        return deleted

    async def _delete_idle_tasks(self, task_ids: list[str]) -> int:
        if not task_ids:
            return 0

        async def work(transaction: Transaction) -> tuple[int, UnitOfWork]:
            unit = UnitOfWork(transaction)
            await unit.load(task_ids)
            count = 0
            for task_id in task_ids:
                document = unit.tasks[task_id].after
                if document is None or document.entries or document.live:
                    continue
                status = document.status
                if status.state in ENDED_STATES and status.ended is not None and status.ended < self._before:
                    unit.write(task_id, Change(deleted=True))
                    count += 1
            await unit.finish()
            return count, unit

        (count, unit), committed = await self._database.transact(work)
        unit.update_cache(self._cache, committed)
        return count

    async def _delete_events(self, limit: int) -> int:
        oldest = await self._read_expired_events(1)
        if not oldest:
            return 0

        async def work(transaction: Transaction) -> int:
            keys = transaction.keys
            # Of two transactions that delete events at once, one is run again.
            await transaction.read_one(keys.trimmed)
            events = await self._read_expired_events(limit)
            if not events:
                return 0
            last, _ = events[-1]
            for owner, number in Counter(owner for _, owner in events).items():
                await _count_removed(transaction, owner, number)
                transaction.call("ZREMRANGEBYSCORE", keys.owner_events(owner), "-inf", last)
            transaction.call("XTRIM", keys.events, "MINID", f"{last + 1}-0")
            transaction.put(keys.trimmed, str(last))
            return len(events)

        count, _ = await self._database.transact(work)
        return count

    async def _read_expired_events(self, limit: int) -> list[tuple[int, str]]:
        """Return number and owner of the oldest events, up to the first that is not expired."""
        rows = await self._database.client.call("XRANGE", self._keys.events, "-", "+", "COUNT", limit)
        found: list[tuple[int, str]] = []
        for name, fields in rows:
            number, event = decode_event_text(int(name.partition("-")[0]), fields["e"])
            if event.at >= self._before:
                break
            found.append((number, event.owner))
        return found

    async def _drop_chain_rows(self) -> None:
        until = f"({to_microseconds(self._before)}"
        words = ("ZRANGEBYSCORE", self._keys.chains, "-inf", until, "LIMIT", 0, self._limit)
        found = [each.split(SEPARATOR) for each in await self._database.client.call(*words)]
        if not found:
            return

        async def work(transaction: Transaction) -> None:
            keys = transaction.keys
            for text in await transaction.read([keys.chain(task_id, root) for task_id, root in found]):
                row = None if text is None else decode_chain_document(text)
                if row is not None and row.updated < self._before:
                    transaction.put(keys.chain(row.task_id, row.root.key), None)
                    update_indexes(transaction, members_of_chain_row(keys, row), NOTHING)

        await self._database.transact(work)

    # --- by number -----------------------------------------------------------------------------------------------------

    async def _trim_surplus(self, cursor: RetentionCursor, last: int) -> TrimResult:
        """Delete the oldest runs of tasks that have more than `keep_runs`."""
        task_ids, after = await self._tasks_to_count(cursor, last)
        surplus: list[Run] = []
        for task_id in task_ids:
            surplus += await self._find_surplus_runs(task_id, self._limit + 1 - len(surplus))
            if len(surplus) > self._limit:
                count = await self._delete_runs(surplus[: self._limit])
                return TrimResult(count, more=True, after=cursor.encoded)
        count = await self._delete_runs(surplus)
        return TrimResult(count, more=after != RetentionCursor(last), after=after.encoded)

    async def _tasks_to_count(self, cursor: RetentionCursor, last: int) -> tuple[list[str], RetentionCursor]:
        """Return the next tasks that may have too many runs, and the cursor after them."""
        client, keys = self._database.client, self._keys
        if cursor.task is not None:
            words = (
                "ZRANGEBYSCORE",
                keys.task_numbers,
                f"({cursor.task}",
                "+inf",
                "WITHSCORES",
                "LIMIT",
                0,
                _TASK_WINDOW,
            )
            rows = await client.call(*words)
            task = int(rows[-1]) if len(rows) == 2 * _TASK_WINDOW else None
            return await self._over_limit(rows[::2]), RetentionCursor(cursor.event, task)
        rows = await client.call("XRANGE", keys.events, f"({cursor.event}-0", f"{last}-0", "COUNT", _EVENT_BATCH)
        events = [decode_event_text(int(name.partition("-")[0]), fields["e"]) for name, fields in rows]
        until = events[-1].number if len(events) == _EVENT_BATCH else last
        return await self._over_limit({each.event.task_id for each in events}), RetentionCursor(until)

    async def _over_limit(self, task_ids: Iterable[str]) -> list[str]:
        named = sorted(task_ids)
        sizes = await read_at_once(self._database, [("ZCARD", self._keys.task_runs(each)) for each in named])
        return [task_id for task_id, size in zip(named, sizes, strict=True) if int(size) > self._keep_runs]

    async def _find_surplus_runs(self, task_id: str, limit: int) -> list[Run]:
        value, members = await read_at_once(
            self._database,
            [("GET", self._keys.task(task_id)), ("ZRANGE", self._keys.task_runs(task_id), 0, -1)],
        )
        live = {run.id for run in decode_task_document(value[16:]).live} if value else set()
        ended = [member for member in members if member[RUN_RANK_LENGTH:] not in live]
        surplus = ended[: max(0, len(ended) - self._keep_runs)][:limit]
        named = [("ECHO", member) for member in surplus]
        return await fetch_runs(self._database, *named)


async def has_nothing_to_remove(
    database: RedisTransactions, before: datetime, cursor: RetentionCursor, now: datetime
) -> bool:
    """Return whether a round of retention would find nothing: an idle node asks so with one command."""
    keys, until = database.keys, f"({to_microseconds(before)}"
    last, chains, runs, tasks, first_events, lanes, swept = await read_at_once(
        database,
        [
            ("GET", keys.last_event),
            ("ZRANGEBYSCORE", keys.chains, "-inf", until, "LIMIT", 0, 1),
            ("ZRANGEBYLEX", keys.runs, "-", f"({planned_prefix(to_microseconds(before))}", "LIMIT", 0, 1),
            ("ZRANGEBYSCORE", keys.ended_tasks, "-inf", until, "LIMIT", 0, 1),
            ("XRANGE", keys.events, "-", "+", "COUNT", 1),
            ("ZCARD", keys.lanes),
            ("HGET", keys.upkeep, _SWEPT),
        ],
    )
    if chains or runs or tasks or lanes or int(swept or 0) != hour_of(now):
        return False
    if cursor != RetentionCursor(int(last or 0)):
        return False
    # A script gives the fields of an event as a list.
    return all(decode_event_text(1, fields[3]).event.at >= before for _, fields in first_events)


async def _count_removed(transaction: Transaction, owner: str, number: int) -> None:
    """Add to the count of removed events of an owner."""
    before = await read_record(transaction, REMOVED_EVENTS, owner)
    version, count = (0, 0) if before is None else (before.version, int(before.body))
    put_record(transaction, before, Record(REMOVED_EVENTS, owner, owner, str(count + number), version + 1))


async def sweep(database: RedisTransactions, now: datetime) -> None:
    """Remove old counters and documents of unused lanes, once an hour."""
    keys, client = database.keys, database.client
    this_hour = hour_of(now)
    if int(await client.call("HGET", keys.upkeep, _SWEPT) or 0) == this_hour:
        return
    await client.call("HSET", keys.upkeep, _SWEPT, this_hour)
    newest = await newest_hour(database, now)
    for owner in await client.call("ZRANGE", keys.counter_owners, 0, -1):
        fields = old_fields(await client.call("HKEYS", keys.counters(owner)), newest)
        for start in range(0, len(fields), _CHUNK):
            await client.call("HDEL", keys.counters(owner), *fields[start : start + _CHUNK])


async def drop_unused_lanes(database: RedisTransactions) -> None:
    """Delete the documents of lanes that only say which owner had the last slot."""
    keys = database.keys
    rows = await fetch_texts(database, ("ZRANGE", keys.lanes, 0, -1), keys.lane(""))
    unused = [name for name, text in rows if decode_lane(text).is_unused]
    if unused:
        await database.transact(lambda transaction: _drop_lanes(transaction, unused))


async def _drop_lanes(transaction: Transaction, names: list[str]) -> None:
    keys = transaction.keys
    for name, text in zip(names, await transaction.read(map(keys.lane, names)), strict=True):
        if text is not None and decode_lane(text).is_unused:
            transaction.put(keys.lane(name), None)
            transaction.call("ZREM", keys.lanes, name)
