"""The journal in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model.ids import microseconds
from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shortened
from ...ports.journal import Line, NumberedLine
from ..codec.json_codecs import instants, printable
from .connection import Link
from .ledger import read_run
from .readers import Readers
from .statements import Bulk, sql
from .writer import Writer

_SAID: Final = sql("said")
_INSERT: Final = Bulk("insert_lines", 5)
_LINES: Final = sql("lines")
_CUT: Final = f"More was said; only the first {LOG_LINES:,} lines of a run are kept."


class SQLiteJournal:
    _writer: Writer
    _readers: Readers

    async def write_lines(self, lines: Sequence[Line]) -> None:
        given = tuple(lines)
        if given:
            # Urgent, because a run that has said something is settled after it.
            await self._writer.do(lambda link: _write(link, given))

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        rows = await self._readers.do(lambda link: link.query(_LINES, (run_id, after, limit)))
        return tuple(
            NumberedLine(number, Line(name, instants[at], level, text)) for number, name, at, level, text in rows
        )


def _write(link: Link, lines: Sequence[Line]) -> None:
    said: dict[str, int] = {}
    values: list[Any] = []
    for run_id, at, level, text in lines:
        if run_id not in said:
            # What was said by a run that is gone, or never was, is nobody's to read.
            said[run_id] = LOG_LINES + 1 if read_run(link, run_id) is None else link.query(_SAID, (run_id,))[0][0]
        number = said[run_id] = said[run_id] + 1
        if number <= LOG_LINES:
            values += (run_id, number, microseconds(at), level, printable(shortened(text, LOG_LINE_CHARACTERS)))
        elif number == LOG_LINES + 1:
            values += (run_id, number, microseconds(at), "warning", _CUT)
    link.write_rows(_INSERT, values)
