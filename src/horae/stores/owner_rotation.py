"""Round-robin between owners: a claim takes a bounded number of entries of each owner, highest priority first."""

from __future__ import annotations

from typing import Final

from ..model.limits import CLAIM_SLICE
from .codec.columns import entry_order, entry_task
from .codec.rows import Row

MAX_ENTRIES_PER_OWNER: Final = 16
"""Largest number of entries of one owner before the next owner is served."""


def first_entry_per_task(rows: list[Row]) -> list[Row]:
    """Keep the first entry of each task, in order."""
    if len(set(map(entry_task, rows))) == len(rows):
        return rows
    first_of_task: dict[int, Row] = {}
    for row in rows:
        first_of_task.setdefault(entry_task(row), row)
    return list(first_of_task.values())


def priority_key(row: Row) -> tuple[int, int, int, str]:
    """Sort key of an entry row: highest priority, then due instant, task number, slot."""
    priority, due, task, slot = entry_order(row)
    return -priority, due, task, slot


def interleave_owners(queues: list[list[Row]], turn: int) -> list[Row]:
    """Take `turn` rows of each owner's queue in rotation, up to `CLAIM_SLICE` rows."""
    taken: list[Row] = []
    start = 0
    while len(taken) < CLAIM_SLICE and any(len(queue) > start for queue in queues):
        for queue in queues:
            taken += queue[start : start + turn]
        start += turn
    return taken[:CLAIM_SLICE]
