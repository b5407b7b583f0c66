"""The journal in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shortened
from ...ports.journal import Line, NumberedLine
from .data import Data

_CUT: Final = f"More was said; only the first {LOG_LINES:,} lines of a run are kept."


class MemoryJournal:
    _data: Data

    async def write_lines(self, lines: Sequence[Line]) -> None:
        with self._data.writing():
            for line in lines:
                if line.run_id in self._data.runs:
                    self._write(line)

    def _write(self, line: Line) -> None:
        said = self._data.lines.get(line.run_id)
        if said is None:
            self._data.lines.write(line.run_id, said := [])
        if len(said) < LOG_LINES:
            said.append(line._replace(text=shortened(line.text, LOG_LINE_CHARACTERS)))
        elif len(said) == LOG_LINES:
            said.append(line._replace(level="warning", text=_CUT))

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        with self._data.lock:
            said = self._data.lines.get(run_id) or []
            return tuple(
                NumberedLine(number, line) for number, line in enumerate(said[after : after + limit], after + 1)
            )
