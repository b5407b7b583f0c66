"""Log lines of a run for a page: filter by level and text, pages by line number, and the text of one line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

from ..model.accounts.principal import Principal
from ..model.page import MAX_PAGE_SIZE
from ..model.text.plain_text import plain_line
from ..ports.journal import Line, NumberedLine
from ..service.runs.runs import Runs
from .viewer import Viewer

LEVELS: Final = ("all", "info", "warning", "error")
"""Choices of the level filter: each shows this level and those above it."""
MAX_FOUND: Final = 100_000
MAX_PAGE_CHARACTERS: Final = 200_000
"""Characters of the lines of one page without scripts."""
_RANKS: Final = {"debug": 0, "progress": 0, "info": 1, "output": 1, "result": 1, "tool": 1, "warning": 2, "error": 3}
_MIN_RANKS: Final = {"all": 0, "info": 1, "warning": 2, "error": 3}

Condition: TypeAlias = Callable[[Line], bool]


class LogFilter(NamedTuple):
    level: str = "all"
    text: str = ""

    @property
    def is_set(self) -> bool:
        return self.level != "all" or bool(self.text)

    def matches(self, line: Line) -> bool:
        if _RANKS.get(line.level, 1) < _MIN_RANKS[self.level]:
            return False
        return not self.text or self.text.casefold() in plain_line(line.text).casefold()


class LinePage(NamedTuple):
    """`after` is the number to continue after; None at the end."""

    lines: tuple[NumberedLine, ...]
    after: int | None = None


class RunLog:
    """Reads the lines of one run, with the rights of the principal."""

    def __init__(self, runs: Runs, principal: Principal, run_id: str) -> None:
        self._runs = runs
        self._principal = principal
        self._run_id = run_id

    async def total(self) -> int:
        return await self._runs.last_line(self._principal, self._run_id)

    async def page(
        self, after: int, limit: int, log_filter: LogFilter, max_characters: int = MAX_PAGE_CHARACTERS
    ) -> LinePage:
        """Return up to `limit` lines that match; fewer where they are very long."""
        found: list[NumberedLine] = []
        size = 0
        async for numbered in self.read(after, MAX_PAGE_SIZE if log_filter.is_set else min(limit + 1, MAX_PAGE_SIZE)):
            if not log_filter.matches(numbered.line):
                continue
            size += len(numbered.line.text)
            if len(found) == limit or (found and size > max_characters):
                return LinePage(tuple(found), found[-1].number)
            found.append(numbered)
        return LinePage(tuple(found))

    async def numbers(self, log_filter: LogFilter) -> tuple[int, ...]:
        """Return the numbers of all lines that match, at most `MAX_FOUND`."""
        numbers: list[int] = []
        async for numbered in self.read(0):
            if log_filter.matches(numbered.line):
                numbers.append(numbered.number)
                if len(numbers) == MAX_FOUND:
                    break
        return tuple(numbers)

    async def read(self, after: int, size: int = MAX_PAGE_SIZE) -> AsyncIterator[NumberedLine]:
        """Yield the lines after a number, read page by page."""
        while True:
            page = await self._runs.lines(self._principal, self._run_id, after, size)
            for numbered in page:
                yield numbered
            if len(page) < size:
                return
            after = page[-1].number


def clock_of(at: datetime, viewer: Viewer) -> str:
    """Return the time of day of a line with milliseconds, in the zone of the viewer."""
    return f"{at.astimezone(viewer.tz):%H:%M:%S.%f}"[:-3]


def line_view(numbered: NumberedLine, viewer: Viewer) -> dict[str, Any]:
    """Return a line for the template and for the script, as plain text."""
    number, line = numbered
    return {"number": number, "clock": clock_of(line.at, viewer), "level": line.level, "text": plain_line(line.text)}


def file_line(numbered: NumberedLine) -> str:
    """Return a line of the downloaded file. It begins with an instant, so that no spreadsheet takes it for a formula."""
    line = numbered.line
    stamp = f"{line.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
    return f"{stamp} {line.level.upper():8} {plain_line(line.text)}\n"
