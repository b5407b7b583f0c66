"""Journal port of the SQL stores: log lines of runs, numbered per run and capped at a maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model.ids import to_microseconds
from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shorten
from ...ports.journal import PROGRESS_WINDOW, Line, NumberedLine
from ..codec.json_codecs import replace_lone_surrogates
from ..codec.transfer_rows import decode_line
from .connection import Statements, Transactions
from .reads.ledger import read_run

_TRUNCATION_NOTICE: Final = f"More was said; only the first {LOG_LINES:,} lines of a run are kept."


class SQLJournal:
    _database: Transactions

    async def write_lines(self, lines: Sequence[Line]) -> None:
        given = tuple(lines)
        if given:
            # Urgent, because the settlement of the run follows.
            await self._database.transact(lambda connection: _write(connection, given))

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        rows = await self._database.query("lines", run_id, after, limit)
        return tuple(map(decode_line, rows))

    async def newest_progress(self, run_ids: Sequence[str]) -> dict[str, Line]:
        if not run_ids:
            return {}
        rows = await self._database.query("newest_progress", sorted(set(run_ids)), PROGRESS_WINDOW)
        return {line.run_id: line for _, line in sorted(map(decode_line, rows))}

    async def last_line(self, run_id: str) -> int:
        rows = await self._database.query("last_line_number", [run_id])
        return max((number or 0 for _, number in rows), default=0)


async def _write(connection: Statements, lines: Sequence[Line]) -> None:
    rows = await connection.query("last_line_number", sorted({line.run_id for line in lines}))
    last_numbers: dict[str, int] = {run_id: number for run_id, number in rows if number is not None}
    values: list[Any] = []
    for run_id, at, level, text in lines:
        if run_id not in last_numbers:
            # Lines of a run that does not exist (any more) are dropped: no reader could reach them.
            last_numbers[run_id] = LOG_LINES + 1 if await read_run(connection, run_id) is None else 0
        number = last_numbers[run_id] = last_numbers[run_id] + 1
        if number <= LOG_LINES:
            values += (
                run_id,
                number,
                to_microseconds(at),
                level,
                replace_lone_surrogates(shorten(text, LOG_LINE_CHARACTERS)),
            )
        elif number == LOG_LINES + 1:
            values += (run_id, number, to_microseconds(at), "warning", _TRUNCATION_NOTICE)
    if values:
        await connection.write_rows("insert_lines", 5, values)
