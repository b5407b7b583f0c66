"""The journal port: log lines of runs, bounded per run; the oldest lines are kept, and a last line marks the cut."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol


class Line(NamedTuple):
    run_id: str
    at: datetime
    level: str
    """`debug`, `info`, `warning`, `error`, `output`, or `progress`."""
    text: str


class NumberedLine(NamedTuple):
    number: int
    line: Line


class Journal(Protocol):
    async def write_lines(self, lines: Sequence[Line]) -> None:
        """Append lines; beyond the bound of a run, one last line says that more were dropped."""

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        """Return the lines of a run with a number above `after`, in the order in which they were written."""

    async def last_line(self, run_id: str) -> int:
        """Return the number of the last line of a run, 0 if it has none. Lines are numbered from 1 without gaps."""
