"""Pagination of tasks: chooses the index (state, label or task order) that reads the fewest rows; all keep task order."""

from __future__ import annotations

from typing import Any, Final

from ...model.counts import STATE_PREFIX
from ...model.page import MAX_PAGE_SIZE
from ...model.task import TaskState
from ...ports.store import TaskFilter
from ..codec.json_codecs import encode
from ..codec.rows import Row
from .connection import Connection

_NAMES_PER_TASK: Final = 8
"""Cost of reading one task, in names of the index."""
_COUNT_LIMIT: Final = MAX_PAGE_SIZE
"""Upper limit when the tasks of a label are counted: a label with this many tasks fills a page quickly anyway."""


async def read_task_rows(connection: Connection, task_filter: TaskFilter, after: int, limit: int) -> list[Row]:
    """Return number and version of the next `limit` tasks after the task number `after`."""
    values = (
        after,
        limit,
        None if task_filter.states is None else sorted(str(state) for state in task_filter.states),
        task_filter.owner,
        task_filter.name,
        task_filter.lane,
        task_filter.kind,
        task_filter.text,
        task_filter.prefix,
        encode(task_filter.labels),
    )
    if task_filter.name is not None or task_filter.prefix is not None:
        return await connection.query("tasks_page", *values)
    by_state = await _should_read_by_state(connection, task_filter)
    if task_filter.labels:
        label, count = await _find_rarest_label(connection, task_filter, compared=by_state)
        if not by_state or count < _COUNT_LIMIT:
            return await connection.query("tasks_page_of_label", *values, label)
    if by_state:
        return await _read_by_state(connection, task_filter, values, limit)
    if task_filter.text is not None and await _is_index_of_names_shorter(connection, task_filter.owner):
        return await connection.query("tasks_page_of_text", *values)
    return await connection.query("tasks_page", *values)


async def _is_index_of_names_shorter(connection: Connection, owner: str | None) -> bool:
    """Whether all names are read sooner than the tasks of an owner, each of which costs as much as several names."""
    if owner is None:
        return True
    ((owner_tasks, all_tasks),) = await connection.query("tasks_of_owner_and_all", owner)
    return bool(owner_tasks * _NAMES_PER_TASK > all_tasks)


async def _find_rarest_label(connection: Connection, task_filter: TaskFilter, *, compared: bool) -> tuple[str, int]:
    """Return the label with the fewest tasks, and that count. A single label is not counted unless `compared`."""
    labels = [encode(label) for label in task_filter.labels]
    if len(labels) == 1 and not compared:
        return labels[0], 0
    counted = [
        (count, each)
        for each in labels
        for (count,) in await connection.query("tasks_with_label", each, task_filter.owner, _COUNT_LIMIT)
    ]
    count, label = min(counted)
    return label, count


async def _should_read_by_state(connection: Connection, task_filter: TaskFilter) -> bool:
    """Whether to read by state: all wanted states have an index, and fewer tasks are in them than the owner has."""
    if task_filter.states is None or TaskState.ACTIVE in task_filter.states:
        return False
    if task_filter.owner is None:
        return True
    names = [STATE_PREFIX + state for state in sorted(task_filter.states)]
    rows = await connection.query("tasks_of_owner_and_in_states", task_filter.owner, names)
    ((owner_tasks, state_tasks),) = rows
    return bool(owner_tasks > state_tasks)


async def _read_by_state(
    connection: Connection, task_filter: TaskFilter, values: tuple[Any, ...], limit: int
) -> list[Row]:
    """Read each state by its index, in task order, and merge: any state may have many tasks."""
    rows: list[Row] = []
    for state in task_filter.states or ():
        rows += [tuple(row) for row in await connection.query("tasks_page_in_state", *values, str(state))]
    return sorted(rows)[:limit]
