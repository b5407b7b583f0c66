"""The journal: what runs say while they go. Bounded per run; the oldest lines stay, the cut is shown."""

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
        """Append; beyond the bound of a run, one last line says that more was said."""

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        """In the order they were written."""
