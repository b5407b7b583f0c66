"""Pagination of tasks by the index that reads the fewest rows; every index yields tasks in creation order."""

from __future__ import annotations

from typing import Any, Final

from ....model.accounts.system_owner import EVERY_SYSTEM_OWNER, is_scope
from ....model.counts import STATE_PREFIX
from ....model.page import MAX_PAGE_SIZE
from ....model.task import TaskState
from ....ports.store import TaskFilter
from ...codec.json_codecs import encode
from ...codec.rows import Row
from ..connection import Statements

_STATEMENT_OF_STATE: Final = {
    TaskState.PAUSED: "tasks_page_paused_or_failed",
    TaskState.FAILED: "tasks_page_paused_or_failed",
    TaskState.COMPLETED: "tasks_page_completed_or_cancelled",
    TaskState.CANCELLED: "tasks_page_completed_or_cancelled",
}
"""States with an index: all but `active`."""
_NAMES_PER_TASK: Final = 8
"""Cost of reading one task, in names of the index."""
_COUNT_LIMIT: Final = MAX_PAGE_SIZE
"""Upper limit when the tasks of a label are counted: a label with this many tasks fills a page quickly anyway."""


async def read_task_rows(connection: Statements, task_filter: TaskFilter, after: int, limit: int) -> list[Row]:
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
    if task_filter.failing and task_filter.pause_cause is not None:
        # A failing task is active.
        return []
    if task_filter.failing:
        few = await _has_few_tasks(connection, task_filter)
        return await connection.query("tasks_page_failing_of_owner" if few else "tasks_page_failing", *values)
    if task_filter.pause_cause is not None:
        few = await _has_few_tasks(connection, task_filter)
        statement = "tasks_page_of_cause_and_owner" if few else "tasks_page_of_cause"
        return await connection.query(statement, *values, str(task_filter.pause_cause))
    if task_filter.prefix is not None:
        return await connection.query("tasks_page_of_prefix", *values)
    if task_filter.name is not None:
        return await connection.query("tasks_page_of_name", *values)
    by_state = await _should_read_by_state(connection, task_filter)
    if task_filter.labels:
        label, count = await _find_rarest_label(connection, task_filter, must_count=by_state)
        if not by_state or count < _COUNT_LIMIT:
            statement = "tasks_page_of_label" if is_scope(task_filter.owner) else "tasks_page_of_label_and_owner"
            return await connection.query(statement, *values, label)
    if by_state:
        return await _read_by_state(connection, task_filter, values, limit)
    if task_filter.lane is not None:
        return await _read_by_lane(connection, values, limit)
    return await connection.query(await _choose_statement(connection, task_filter), *values)


async def _has_few_tasks(connection: Statements, task_filter: TaskFilter) -> bool:
    """Return whether the filter has an owner whose tasks are few enough to read all of them."""
    if is_scope(task_filter.owner):
        return False
    ((owner_tasks, _),) = await connection.query("tasks_of_owner_and_all", task_filter.owner)
    return bool(owner_tasks <= MAX_PAGE_SIZE)


async def _choose_statement(connection: Statements, task_filter: TaskFilter) -> str:
    """Return the statement for a filter without states, labels, lane, name and prefix that have an index of their own."""
    owner, kind = task_filter.owner, task_filter.kind
    if task_filter.text is not None and await _is_index_of_names_shorter(connection, owner):
        return "tasks_page_of_text"
    if kind is not None and (is_scope(owner) or await _is_rare_kind(connection, kind)):
        return "tasks_page_of_kind"
    if owner == EVERY_SYSTEM_OWNER:
        return "tasks_page_of_system"
    return "tasks_page" if is_scope(owner) else "tasks_page_of_owner"


async def _is_rare_kind(connection: Statements, kind: str) -> bool:
    ((number,),) = await connection.query("tasks_of_kind", kind, _COUNT_LIMIT)
    return bool(number < _COUNT_LIMIT)


async def _is_index_of_names_shorter(connection: Statements, owner: str | None) -> bool:
    """Return whether all names are read sooner than the tasks of an owner, each of which costs as much as several names."""
    if is_scope(owner):
        return True
    ((owner_tasks, all_tasks),) = await connection.query("tasks_of_owner_and_all", owner)
    return bool(owner_tasks * _NAMES_PER_TASK > all_tasks)


async def _find_rarest_label(connection: Statements, task_filter: TaskFilter, *, must_count: bool) -> tuple[str, int]:
    """Return the label with the fewest tasks and its count; a single label is counted only if `must_count`."""
    labels = [encode(label) for label in task_filter.labels]
    if len(labels) == 1 and not must_count:
        return labels[0], 0
    statement = "tasks_with_label" if is_scope(task_filter.owner) else "tasks_with_label_and_owner"
    counts = [
        (count, label)
        for label in labels
        for (count,) in await connection.query(statement, label, task_filter.owner, _COUNT_LIMIT)
    ]
    count, label = min(counts)
    return label, count


async def _should_read_by_state(connection: Statements, task_filter: TaskFilter) -> bool:
    """Whether to read by state: all wanted states have an index, and fewer tasks are in them than the owner has."""
    if task_filter.states is None or not task_filter.states <= _STATEMENT_OF_STATE.keys():
        return False
    if is_scope(task_filter.owner):
        return True
    names = [STATE_PREFIX + state for state in sorted(task_filter.states)]
    rows = await connection.query("tasks_of_owner_and_in_states", task_filter.owner, names)
    ((owner_tasks, state_tasks),) = rows
    return bool(owner_tasks > state_tasks)


async def _read_by_state(
    connection: Statements, task_filter: TaskFilter, values: tuple[Any, ...], limit: int
) -> list[Row]:
    """Read each state by its index, in task order, and merge: any state may have many tasks."""
    rows: list[Row] = []
    for state in task_filter.states or ():
        rows += [tuple(row) for row in await connection.query(_STATEMENT_OF_STATE[state], *values, str(state))]
    return sorted(rows)[:limit]


async def _read_by_lane(connection: Statements, values: tuple[Any, ...], limit: int) -> list[Row]:
    """Read the tasks whose first lane it is, and those that name it as a further one; a task may do both."""
    rows = {tuple(row) for row in await connection.query("tasks_page_of_lane", *values)}
    rows.update(tuple(row) for row in await connection.query("tasks_page_of_further_lane", *values))
    return sorted(rows)[:limit]
