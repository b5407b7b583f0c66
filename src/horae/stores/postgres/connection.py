"""PostgreSQL connection: named prepared statements, bulk writes with one array per column, periodic re-planning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import asyncpg

from ...clock import Clock
from ...errors import StoreError
from ...model.record import RecordWrite
from ..codec.rows import Row, encode_expiry
from ..counter_deltas import Deltas
from ..sql.claims.ordinary_batch import OrdinaryBatch
from ..sql.connection import DuplicateRunError
from ..sql.dialect import Dialect
from .arrays import encode_array, encode_columns, encode_flat_columns, replace_nul
from .fast_path import encode_starts, encode_successes

DIALECT: Final = Dialect(max_claim_slice=480, max_decide_seconds=0.010, has_concurrent_writers=True, stores_nul=False)
"""A claim slice is large enough that the fixed cost of a transaction hardly matters."""
_NEW_RUN_STATEMENTS: Final = frozenset({"insert_started_runs", "insert_laned_runs", "insert_live_runs", "insert_runs"})
"""Statements that skip runs which the ledger has already; a smaller row count shows that."""
_AUTOCOMMIT_STATEMENTS: Final = frozenset({"read_few_due", "read_few_live", "settle_few"})
"""Statements that run outside transactions: a node that uses only these must discard old plans too."""
_FIRST_PLAN_SECONDS: Final = 0.5
_MAX_PLAN_SECONDS: Final = 60.0
"""Age at which plans are discarded: for a new connection, and the maximum, reached by doubling."""
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_BEGIN_READ_ONLY: Final = (
    # Each filter of a list is optional: a generic plan for all combinations would fit none.
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; "
    "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; "
    # A page needs the first rows of an index in its order: a bitmap reads all of them, and sorts.
    "SET LOCAL enable_bitmapscan = off"
)


class PostgresConnection:
    """`settings` are set per transaction, for a pooler that may give each transaction another server connection."""

    dialect = DIALECT
    server = 0
    """Index of the server in the URL."""

    def __init__(
        self,
        connection: asyncpg.Connection[Any],
        statements: Mapping[str, str],
        clock: Clock,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._begin = "; ".join(
            [_BEGIN, *(f"SET LOCAL {name} = '{value}'" for name, value in (settings or {}).items())]
        )
        self._event_count = 0
        self._open = True
        self._clock = clock
        self._plans_made_at, self._plan_seconds = self._clock.steady(), _FIRST_PLAN_SECONDS

    async def query(self, name: str, *values: Any) -> list[Row]:
        if name in _AUTOCOMMIT_STATEMENTS and not self._are_plans_fresh():
            await self._connection.execute("DISCARD PLANS")
        return await self._connection.fetch(self._statements[name], *map(_encode_value, values))

    async def _run(self, name: str, *values: Any) -> list[Row]:
        return await self._connection.fetch(self._statements[name], *values)

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        rows = await self._run(name, *encode_flat_columns(values, width))
        if name in _NEW_RUN_STATEMENTS and len(rows) * width < len(values):
            raise DuplicateRunError

    async def new_task_numbers(self, count: int) -> list[int]:
        return [number for (number,) in await self.query("task_numbers", count)]

    async def write_events(self, rows: Sequence[Row]) -> None:
        await self._run("insert_events", self._event_count, *encode_columns(rows))
        self._event_count += len(rows)

    async def write_counts(self, deltas: Deltas) -> None:
        values = [value for key, number in deltas.items() if number for value in (*key, number)]
        if values:
            await self.write_rows("insert_counter_deltas", 4, values)

    async def write_records(self, writings: Sequence[RecordWrite]) -> RecordWrite | None:
        for batch in split_batches(writings):
            rows = await self._run("write_records", *encode_columns(map(encode_record_write, batch)))
            written = {(kind, key) for kind, key in rows}
            for writing in batch:
                if (replace_nul(writing.record.kind), replace_nul(writing.record.key)) not in written:
                    return writing
        return None

    async def join_transaction(self) -> None:
        """Join a transaction that the caller has begun and that may have written events before."""
        ((self._event_count,),) = await self.query("count_own_events")

    async def write_ordinary(self, batch: OrdinaryBatch) -> bool:
        encode = encode_starts if batch.are_starts else encode_successes
        values = encode(batch, self._event_count)
        if values is None:
            return False
        write = self._write_starts if batch.are_starts else self._write_ends
        await write(values, len(batch))
        self._event_count += batch.event_count
        return True

    async def _write_starts(self, values: list[Any], expected: int) -> None:
        """Write the starts. The statement skips runs that the ledger has; a run that is live violates the unique index."""
        try:
            ((written,),) = await self._run("write_starts", *values)
        except asyncpg.UniqueViolationError as error:
            raise DuplicateRunError from error
        if written < expected:
            raise DuplicateRunError

    async def _write_ends(self, values: list[Any], expected: int) -> None:
        ((written,),) = await self._run("write_ends", *values)
        if written < expected:
            raise StoreError("A run that was to end is not live; nothing was written.")

    async def begin(self) -> None:
        self._event_count = 0
        await self._connection.execute(self._begin if self._are_plans_fresh() else f"DISCARD PLANS; {self._begin}")

    def _are_plans_fresh(self) -> bool:
        """Whether the plans may still be used. A plan from when a table was empty is bad for the full table later."""
        steady = self._clock.steady()
        if steady - self._plans_made_at < self._plan_seconds:
            return True
        self._plans_made_at, self._plan_seconds = steady, min(2 * self._plan_seconds, _MAX_PLAN_SECONDS)
        return False

    async def begin_read_only(self) -> None:
        await self._connection.execute(_BEGIN_READ_ONLY)

    async def commit(self) -> None:
        await self._connection.execute("COMMIT")

    async def rollback(self) -> None:
        await self._connection.execute("ROLLBACK")

    async def close(self) -> None:
        self._open = False
        await self._connection.close(timeout=2)

    def abandon(self) -> None:
        self._open = False
        if not self._connection.is_closed():
            self._connection.terminate()

    @property
    def is_usable(self) -> bool:
        return self._open and not self._connection.is_closed() and not self._connection.is_in_transaction()


def _encode_value(value: Any) -> Any:
    if value.__class__ is list:
        return encode_array(value)
    return replace_nul(value) if value.__class__ is str else value


def split_batches(writings: Iterable[RecordWrite]) -> list[list[RecordWrite]]:
    """Split into batches: the first write of each record, then the second, and so on. Nearly always there is one batch."""
    batches: list[list[RecordWrite]] = []
    write_counts: Counter[tuple[str, str]] = Counter()
    for writing in writings:
        key = (writing.record.kind, writing.record.key)
        if write_counts[key] == len(batches):
            batches.append([])
        batches[write_counts[key]].append(writing)
        write_counts[key] += 1
    return batches


def encode_record_write(writing: RecordWrite) -> Row:
    (kind, key, owner, body, _, expires), replacing, dropped = writing
    return kind, key, owner, body, encode_expiry(expires), replacing, int(dropped)
