"""The order in which entries of several owners are taken: each has a turn of so many, best first."""

from __future__ import annotations

from typing import Final

from ..model.limits import CLAIM_SLICE
from .codec.rows import Row

LONGEST_TURN: Final = 16
"""So many entries of one owner, and the next owner has its turn."""


def one_of_each_task(rows: list[Row]) -> list[Row]:
    if len({row[0] for row in rows}) == len(rows):
        return rows
    first_of_task: dict[int, Row] = {}
    for row in rows:
        first_of_task.setdefault(row[0], row)
    return list(first_of_task.values())


def by_priority(row: Row) -> tuple[int, int, int, str]:
    return -row[6], row[3], row[0], row[1]


def taking_turns(queues: list[list[Row]], turn: int) -> list[Row]:
    taken: list[Row] = []
    start = 0
    while len(taken) < CLAIM_SLICE and any(len(queue) > start for queue in queues):
        for queue in queues:
            taken += queue[start : start + turn]
        start += turn
    return taken[:CLAIM_SLICE]
