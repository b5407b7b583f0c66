"""Journal port of the in-memory store: log lines of runs, bounded per run and per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shorten
from ...ports.journal import PROGRESS_WINDOW, Line, NumberedLine
from .data import Data

_TRUNCATION_NOTICE: Final = f"More was said; only the first {LOG_LINES:,} lines of a run are kept."


class MemoryJournal:
    _data: Data

    async def write_lines(self, lines: Sequence[Line]) -> None:
        with self._data.transaction():
            for line in lines:
                if line.run_id in self._data.runs:
                    self._append(line)

    def _append(self, line: Line) -> None:
        run_lines = self._data.lines.get(line.run_id)
        if run_lines is None:
            self._data.lines.write(line.run_id, run_lines := [])
        if len(run_lines) < LOG_LINES:
            run_lines.append(line._replace(text=shorten(line.text, LOG_LINE_CHARACTERS)))
        elif len(run_lines) == LOG_LINES:
            run_lines.append(line._replace(level="warning", text=_TRUNCATION_NOTICE))

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        with self._data.lock:
            run_lines = self._data.lines.get(run_id) or []
            return tuple(
                NumberedLine(number, line) for number, line in enumerate(run_lines[after : after + limit], after + 1)
            )

    async def newest_progress(self, run_ids: Sequence[str]) -> dict[str, Line]:
        with self._data.lock:
            last = [line for run_id in run_ids for line in (self._data.lines.get(run_id) or [])[-PROGRESS_WINDOW:]]
            return {line.run_id: line for line in last if line.level == "progress"}

    async def last_line(self, run_id: str) -> int:
        with self._data.lock:
            return len(self._data.lines.get(run_id) or ())
