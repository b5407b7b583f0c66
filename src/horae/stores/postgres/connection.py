"""One connection to PostgreSQL: statements are prepared once, arrays are columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import asyncpg

from ...clock import SystemClock
from ...errors import StoreError
from ...model.record import Writing
from ..codec.rows import Row
from ..sql.connection import AlreadyMadeError
from ..sql.folded_decisions import Folded
from .arrays import array_text, columns, storable, strides
from .fast_statements import births_at_once, successes_at_once
from .record_batches import layers, record_row

_BIRTHS: Final = frozenset({"start_runs", "bear_runs", "insert_runs"})
"""What the ledger has already is left out of these, and whoever asked sees that by the number of rows."""
_ALONE: Final = frozenset({"few_due", "few_carried", "settle_few"})
"""What a node says that never begins a transaction: its plans are made anew as well."""
_PLANS_HOLD_SECONDS: Final = (0.5, 60.0)
"""How long plans are used before they are made anew, of a new connection and of an old one."""
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_BEGIN_READING: Final = (
    # A list may be asked for with or without each of its conditions: one plan for all of them would fit none.
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; "
    "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"
)


class PostgresLink:
    """`settings` are those that hold for a transaction only, where the next one may meet another connection."""

    def __init__(
        self,
        connection: asyncpg.Connection[Any],
        statements: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._begin = "; ".join(
            [_BEGIN, *(f"SET LOCAL {name} = '{value}'" for name, value in (settings or {}).items())]
        )
        self._told = 0
        self._open = True
        self._clock = SystemClock()
        self._planned, self._plans_hold = self._clock.steady(), _PLANS_HOLD_SECONDS[0]

    async def query(self, name: str, *values: Any) -> list[Row]:
        if name in _ALONE and not self._are_plans_fresh():
            await self._connection.execute("DISCARD PLANS")
        return await self._connection.fetch(self._statements[name], *map(_given, values))

    async def _run(self, name: str, *values: Any) -> list[Row]:
        return await self._connection.fetch(self._statements[name], *values)

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        rows = await self._run(name, *strides(values, width))
        if name in _BIRTHS and len(rows) * width < len(values):
            raise AlreadyMadeError

    async def write_events(self, rows: Sequence[Row]) -> None:
        await self._run("insert_events", self._told, *columns(rows))
        self._told += len(rows)

    async def write_records(self, writings: Sequence[Writing]) -> Writing | None:
        for layer in layers(writings):
            written = {(row[0], row[1]) for row in await self._run("write_records", *columns(map(record_row, layer)))}
            for late in layer:
                if (storable(late.record.kind), storable(late.record.key)) not in written:
                    return late
        return None

    async def join(self) -> None:
        """Within a transaction that somebody else has begun, and that may have told of something before."""
        self._told = (await self.query("told_so_far"))[0][0]

    async def write_at_once(self, folded: Folded) -> bool:
        values = births_at_once(folded, self._told) if folded.births else successes_at_once(folded, self._told)
        if values is None:
            return False
        if folded.births:
            await self._write_starts(values, len(folded.kept))
        else:
            await self._write_ends(values, len(folded.kept))
        self._told += sum([len(noted[2][7]) for noted in folded.kept])
        return True

    async def _write_starts(self, values: list[Any], expected: int) -> None:
        """What the ledger has is left out, and what goes on already is refused by the server."""
        try:
            (row,) = await self._run("write_starts", *values)
        except asyncpg.UniqueViolationError as error:
            raise AlreadyMadeError from error
        if row[0] < expected:
            raise AlreadyMadeError

    async def _write_ends(self, values: list[Any], expected: int) -> None:
        (row,) = await self._run("write_ends", *values)
        if row[0] < expected:
            raise StoreError("A run that was to end does not go on; nothing was written.")

    async def begin(self) -> None:
        self._told = 0
        await self._connection.execute(self._begin if self._are_plans_fresh() else f"DISCARD PLANS; {self._begin}")

    def _are_plans_fresh(self) -> bool:
        """A plan that was made while a table was empty may be the worst there is for the same table a second later."""
        steady = self._clock.steady()
        if steady - self._planned < self._plans_hold:
            return True
        self._planned, self._plans_hold = steady, min(2 * self._plans_hold, _PLANS_HOLD_SECONDS[1])
        return False

    async def begin_reading(self) -> None:
        await self._connection.execute(_BEGIN_READING)

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
    def usable(self) -> bool:
        return self._open and not self._connection.is_closed() and not self._connection.is_in_transaction()


def _given(value: Any) -> Any:
    if value.__class__ is list:
        return array_text(value)
    return storable(value) if value.__class__ is str else value
