"""One connection to PostgreSQL: statements are prepared once, arrays are columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..rows import Row
from ..served.link import AlreadyMadeError
from ..served.sheets import ENDED_COLUMNS, STARTED_COLUMNS, Sheets
from .arrays import array_text, storable

if TYPE_CHECKING:
    import asyncpg

_BIRTHS: Final = frozenset({"start_runs", "bear_runs", "insert_runs"})
"""What the ledger has already is left out of these, and whoever asked sees that by the number of rows."""
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_BEGIN_READING: Final = (
    # A list may be asked for with or without each of its conditions: one plan for all of them would fit none.
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; "
    "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"
)


class PostgresLink:
    def __init__(self, connection: asyncpg.Connection[Any], statements: Mapping[str, str]) -> None:
        self._connection = connection
        self._statements = statements
        self._told = 0
        self._open = True

    async def query(self, name: str, *values: Any) -> list[Row]:
        return await self._connection.fetch(self._statements[name], *map(_given, values))

    async def _run(self, name: str, *values: Any) -> list[Row]:
        return await self._connection.fetch(self._statements[name], *values)

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        rows = await self._run(name, *_strides(values, width))
        if name in _BIRTHS and len(rows) * width < len(values):
            raise AlreadyMadeError

    async def write_events(self, rows: Sequence[Row]) -> None:
        await self._run("insert_events", self._told, *_columns(rows))
        self._told += len(rows)

    async def join(self) -> None:
        """Within a transaction that somebody else has begun, and that may have told of something before."""
        self._told = (await self.query("told_so_far"))[0][0]

    async def write_at_once(self, sheets: Sheets) -> bool:
        standings, events = _columns(sheets.standings.values()), _columns(sheets.events)
        if sheets.started:
            counts = sheets.count_rows()
            if counts or len(sheets.standings) * STARTED_COLUMNS != len(sheets.started):
                return False
            runs = _strides(sheets.started, STARTED_COLUMNS)
            rows = await self._run("write_starts", *standings, *runs, self._told, *events)
            if rows[0][0] < len(sheets.standings):
                raise AlreadyMadeError
        else:
            runs, counts = _strides(sheets.ended, ENDED_COLUMNS), sheets.count_rows()
            if not counts:
                return False
            await self._run("write_ends", *standings, *runs, *_columns(counts), self._told, *events)
        self._told += len(sheets.events)
        return True

    async def begin(self) -> None:
        self._told = 0
        await self._connection.execute(_BEGIN)

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


def _strides(values: list[Any], width: int) -> list[str]:
    return [array_text(values[place::width]) for place in range(width)]


def _columns(rows: Iterable[Row]) -> list[str]:
    return [array_text(column) for column in zip(*rows, strict=True)]
