"""Writes of many tasks of one owner, several at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

_AT_ONCE: Final = 8


async def for_each_task(task_ids: Sequence[str], work: Callable[[str], Awaitable[object]]) -> None:
    """Do the work for each task, a few at the same time; the first error ends it."""
    for first in range(0, len(task_ids), _AT_ONCE):
        await asyncio.gather(*map(work, task_ids[first : first + _AT_ONCE]))
