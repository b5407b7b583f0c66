"""How far the janitor has come."""

from __future__ import annotations

from typing import NamedTuple, Self


class Place(NamedTuple):
    """How far the tasks have been counted: all of those that were told of up to the event `told`, and no more than that.

    `task` is a number only during the first time, when every task is counted, whatever was told of it.
    """

    told: int
    task: int | None = None

    @classmethod
    def parsed(cls, text: str) -> Self:
        return cls(*map(int, text.split(".")))

    @property
    def text(self) -> str:
        return ".".join(str(part) for part in self if part is not None)
