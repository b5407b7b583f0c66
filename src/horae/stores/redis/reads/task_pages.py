"""Pages of tasks by the index that reads the fewest documents; every index is in the order in which tasks were added."""

from __future__ import annotations

from typing import Final

from ....model.accounts.system_owner import is_scope
from ....model.task import TaskState
from ....ports.store import TaskFilter
from ...filters import task_matches
from ..layout.documents import TaskDocument
from ..transactions.runner import RedisTransactions
from .index_reads import fetch_tasks, read_at_once

_CHUNK: Final = 200
_LARGEST_CHUNK: Final = 1_000


async def find_tasks(
    database: RedisTransactions, task_filter: TaskFilter, after: int, limit: int
) -> list[TaskDocument]:
    """Return up to `limit` matching tasks after a number, in their order."""
    if task_filter.failing and task_filter.pause_cause is not None:
        # A failing task is active.
        return []
    found: list[TaskDocument] = []
    for index in await _choose_indexes(database, task_filter):
        found += await _scan(database, index, task_filter, after, limit)
    return sorted(found, key=lambda document: document.number)[:limit]


async def count_tasks(database: RedisTransactions, task_filter: TaskFilter, limit: int) -> int:
    if task_filter == TaskFilter(task_filter.owner) and (task_filter.owner is None or not is_scope(task_filter.owner)):
        keys, owner = database.keys, task_filter.owner
        index = keys.task_numbers if owner is None else keys.owner_tasks(owner)
        return min(int(await database.client.call("ZCARD", index)), limit)
    return len(await find_tasks(database, task_filter, 0, limit))


async def _choose_indexes(database: RedisTransactions, task_filter: TaskFilter) -> list[str]:
    """Return the indexes to be read: one, or one for each state."""
    keys, owner = database.keys, task_filter.owner
    is_wide = is_scope(owner)
    choices = [[keys.task_numbers if is_wide else keys.owner_tasks(owner or "")]]
    if task_filter.failing:
        choices.append([keys.failing])
    if task_filter.pause_cause is not None:
        choices.append([keys.state_tasks(TaskState.PAUSED)])
    if task_filter.states is not None and TaskState.ACTIVE not in task_filter.states:
        choices.append([keys.state_tasks(state) for state in sorted(task_filter.states)])
    for name, value in task_filter.labels:
        choices.append([keys.labelled("" if is_wide else owner or "", name, value)])
    if len(choices) == 1:
        return choices[0]
    sizes = iter(await read_at_once(database, [("ZCARD", index) for choice in choices for index in choice]))
    counted = [(sum(int(next(sizes)) for _ in choice), choice) for choice in choices]
    _, best = min(counted)
    return best


async def _scan(
    database: RedisTransactions, index: str, task_filter: TaskFilter, after: int, limit: int
) -> list[TaskDocument]:
    found: list[TaskDocument] = []
    size, last = min(limit, _CHUNK), after
    while len(found) < limit:
        words = ("ZRANGEBYSCORE", index, f"({last}", "+inf", "LIMIT", 0, size)
        documents = await fetch_tasks(database, words)
        found += [document for document in documents if task_matches(document.facts, task_filter)]
        if len(documents) < size:
            break
        last, size = documents[-1].number, min(2 * size, _LARGEST_CHUNK)
    return found[:limit]
