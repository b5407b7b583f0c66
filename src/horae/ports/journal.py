"""The journal port: log lines of runs, bounded per run; the oldest lines are kept, and a last line marks the cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

PROGRESS_WINDOW: Final = 100
_PROGRESS: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(.*)", re.DOTALL)


class Line(NamedTuple):
    run_id: str
    at: datetime
    level: str
    """`debug`, `info`, `warning`, `error`, `output`, `progress`; of an agent also `result` and `tool`."""
    text: str


class Progress(NamedTuple):
    """Share of a run that is done, between 0 and 1, and a text of the target."""

    done: float
    text: str


def parse_progress(text: str) -> Progress:
    """Parse a progress line such as `0.6200 batch 62`."""
    match = _PROGRESS.match(text)
    return Progress(float(match[1]), match[2]) if match else Progress(0.0, text)


class NumberedLine(NamedTuple):
    number: int
    line: Line


class Journal(Protocol):
    async def write_lines(self, lines: Sequence[Line]) -> None:
        """Append lines; beyond the bound of a run, one last line says that more were dropped."""

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        """Return the lines of a run with a number above `after`, in the order in which they were written."""

    async def newest_progress(self, run_ids: Sequence[str]) -> dict[str, Line]:
        """Return the newest line of level `progress` among the last `PROGRESS_WINDOW` lines of each run that has one."""

    async def last_line(self, run_id: str) -> int:
        """Return the number of the last line of a run, 0 if it has none. Lines are numbered from 1 without gaps."""
