"""Journal port of the SQLite store: log lines of runs, bounded per run and per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model.ids import to_microseconds
from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shorten
from ...ports.journal import Line, NumberedLine
from ..codec.json_codecs import replace_lone_surrogates
from ..codec.transfer_rows import decode_line
from .connection import BulkStatement, SqliteConnection, sql
from .ledger import read_run
from .readers import Readers
from .writer import Writer

_LAST_LINE_NUMBER: Final = sql("last_line_number")
_INSERT: Final = BulkStatement("insert_lines", 5)
_LINES: Final = sql("lines")
_TRUNCATION_NOTICE: Final = f"More was said; only the first {LOG_LINES:,} lines of a run are kept."


class SQLiteJournal:
    _writer: Writer
    _readers: Readers

    async def write_lines(self, lines: Sequence[Line]) -> None:
        lines_to_write = tuple(lines)
        if lines_to_write:
            # Urgent, because the settlement of the run follows.
            await self._writer.submit(lambda connection: _write_lines(connection, lines_to_write))

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        rows = await self._readers.run(lambda connection: connection.query(_LINES, (run_id, after, limit)))
        return tuple(map(decode_line, rows))


def _write_lines(connection: SqliteConnection, lines: Sequence[Line]) -> None:
    line_counts: dict[str, int] = {}
    values: list[Any] = []
    for run_id, at, level, text in lines:
        if run_id not in line_counts:
            ((last_number,),) = connection.query(_LAST_LINE_NUMBER, (run_id,))
            # Lines of a run that does not exist are dropped.
            line_counts[run_id] = LOG_LINES + 1 if read_run(connection, run_id) is None else last_number
        number = line_counts[run_id] = line_counts[run_id] + 1
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
    connection.write_rows(_INSERT, values)
