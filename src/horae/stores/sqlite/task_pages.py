"""Pagination of the task list by the index that reads the fewest rows; every index yields tasks in creation order."""

from __future__ import annotations

from typing import Any, Final

from ...model.page import MAX_PAGE_SIZE
from ...model.task import TaskState
from ...ports.store import TaskFilter
from ..codec.json_codecs import encode
from .connection import Row, SqliteConnection, sql

_PAGE: Final = sql("tasks_page")
_OF_OWNER: Final = sql("tasks_page_of_owner")
_OF_NAME: Final = sql("tasks_page_of_name")
_OF_PREFIX: Final = sql("tasks_page_of_prefix")
_OF_LABEL: Final = sql("tasks_page_of_label")
_OF_LABEL_AND_OWNER: Final = sql("tasks_page_of_label_and_owner")
_COUNT_WITH_LABEL: Final = sql("tasks_with_label")
_COUNT_WITH_LABEL_AND_OWNER: Final = sql("tasks_with_label_and_owner")
_COUNT_OF_OWNER_AND_STATES: Final = sql("tasks_of_owner_and_in_states")
_PAUSED_OR_FAILED: Final = sql("tasks_page_paused_or_failed")
_COMPLETED_OR_CANCELLED: Final = sql("tasks_page_completed_or_cancelled")
_FAILING: Final = sql("tasks_page_failing")
_FAILING_OF_OWNER: Final = sql("tasks_page_failing_of_owner")
_STATEMENT_OF_STATE: Final = {
    TaskState.PAUSED: _PAUSED_OR_FAILED,
    TaskState.FAILED: _PAUSED_OR_FAILED,
    TaskState.COMPLETED: _COMPLETED_OR_CANCELLED,
    TaskState.CANCELLED: _COMPLETED_OR_CANCELLED,
}

_COUNT_LIMIT: Final = MAX_PAGE_SIZE
"""Labels are counted up to this limit: a label with more tasks fills a page soon."""


def read_task_rows(connection: SqliteConnection, task_filter: TaskFilter, after: int, limit: int) -> list[Row]:
    """Read the numbers and versions of the next `limit` tasks after the number `after`."""
    bindings: dict[str, Any] = {
        "after": after,
        "states": None if task_filter.states is None else encode(sorted(task_filter.states)),
        "name": task_filter.name,
        "lane": task_filter.lane,
        "labels": encode(task_filter.labels),
        "owner": task_filter.owner,
        "kind": task_filter.kind,
        "text": task_filter.text,
        "prefix": task_filter.prefix,
        "limit": limit,
    }
    if task_filter.failing:
        return connection.query(_FAILING_OF_OWNER if _has_few_tasks(connection, task_filter) else _FAILING, bindings)
    if task_filter.prefix is not None:
        return connection.query(_OF_PREFIX, bindings)
    if task_filter.name is not None:
        return connection.query(_OF_NAME, bindings)
    by_state = _should_read_by_state(connection, task_filter)
    if task_filter.labels:
        label, count = _find_rarest_label(connection, task_filter, must_count=by_state)
        if not by_state or count < _COUNT_LIMIT:
            return connection.query(
                _OF_LABEL if task_filter.owner is None else _OF_LABEL_AND_OWNER, bindings | {"label": label}
            )
    if by_state:
        return _read_by_state(connection, task_filter, bindings)
    return connection.query(_PAGE if task_filter.owner is None else _OF_OWNER, bindings)


def _has_few_tasks(connection: SqliteConnection, task_filter: TaskFilter) -> bool:
    """Return whether the filter has an owner whose tasks are few enough to read all of them."""
    if task_filter.owner is None:
        return False
    ((own, _),) = connection.query(_COUNT_OF_OWNER_AND_STATES, {"owner": task_filter.owner, "states": encode(())})
    return bool(own <= MAX_PAGE_SIZE)


def _find_rarest_label(connection: SqliteConnection, task_filter: TaskFilter, *, must_count: bool) -> tuple[str, int]:
    """Return the label with the fewest tasks and its count; a single label is counted only if `must_count`."""
    labels = [encode(label) for label in task_filter.labels]
    if len(labels) == 1 and not must_count:
        return labels[0], 0
    statement = _COUNT_WITH_LABEL if task_filter.owner is None else _COUNT_WITH_LABEL_AND_OWNER
    bindings = (
        {"most": _COUNT_LIMIT} if task_filter.owner is None else {"most": _COUNT_LIMIT, "owner": task_filter.owner}
    )
    counts = [
        (count, label) for label in labels for (count,) in connection.query(statement, bindings | {"label": label})
    ]
    count, label = min(counts)
    return label, count


def _should_read_by_state(connection: SqliteConnection, task_filter: TaskFilter) -> bool:
    """Return whether all states of the filter have an index, and the owner has more tasks than there are in them."""
    if task_filter.states is None or not task_filter.states <= _STATEMENT_OF_STATE.keys():
        return False
    if task_filter.owner is None:
        return True
    states = encode(sorted(task_filter.states))
    bindings = {"owner": task_filter.owner, "states": states}
    ((own, total),) = connection.query(_COUNT_OF_OWNER_AND_STATES, bindings)
    return bool(own > total)


def _read_by_state(connection: SqliteConnection, task_filter: TaskFilter, bindings: dict[str, Any]) -> list[Row]:
    """Read each state by its index and merge the rows in creation order."""
    states = task_filter.states or ()
    rows = [
        row for state in states for row in connection.query(_STATEMENT_OF_STATE[state], bindings | {"state": state})
    ]
    return sorted(rows)[: bindings["limit"]]
