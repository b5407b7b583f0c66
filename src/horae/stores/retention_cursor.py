"""Cursor of the retention job: the position from which the next trim continues."""

from __future__ import annotations

from typing import NamedTuple, Self


class RetentionCursor(NamedTuple):
    """Runs per task have been counted for all tasks with an event up to number `event`.

    `task` is set only during the first pass, which counts every task, with or without events: the last number counted.
    """

    event: int
    task: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the form that `encoded` returns."""
        return cls(*map(int, text.split(".")))

    @property
    def encoded(self) -> str:
        return ".".join(str(part) for part in self if part is not None)
