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
_OF_KIND: Final = sql("tasks_page_of_kind")
_OF_LANE: Final = sql("tasks_page_of_lane")
_OF_TEXT: Final = sql("tasks_page_of_text")
_COUNT_OF_KIND: Final = sql("tasks_of_kind")
_COUNT_OF_OWNER_AND_ALL: Final = sql("tasks_of_owner_and_all")
_OF_PREFIX: Final = sql("tasks_page_of_prefix")
_OF_LABEL: Final = sql("tasks_page_of_label")
_OF_LABEL_AND_OWNER: Final = sql("tasks_page_of_label_and_owner")
_COUNT_WITH_LABEL: Final = sql("tasks_with_label")
_COUNT_WITH_LABEL_AND_OWNER: Final = sql("tasks_with_label_and_owner")
_COUNT_OF_OWNER_AND_STATES: Final = sql("tasks_of_owner_and_in_states")
_PAUSED_OR_FAILED: Final = sql("tasks_page_paused_or_failed")
_COMPLETED_OR_CANCELLED: Final = sql("tasks_page_completed_or_cancelled")
_STATEMENT_OF_STATE: Final = {
    TaskState.PAUSED: _PAUSED_OR_FAILED,
    TaskState.FAILED: _PAUSED_OR_FAILED,
    TaskState.COMPLETED: _COMPLETED_OR_CANCELLED,
    TaskState.CANCELLED: _COMPLETED_OR_CANCELLED,
}

_NAMES_PER_TASK: Final = 8
"""Cost of reading one task, in names of the index."""
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
    return connection.query(_choose_statement(connection, task_filter), bindings)


def _choose_statement(connection: SqliteConnection, task_filter: TaskFilter) -> str:
    """Return the statement for a filter without states, labels, name and prefix that have an index of their own."""
    if task_filter.lane is not None:
        return _OF_LANE
    if task_filter.text is not None and _is_index_of_names_shorter(connection, task_filter.owner):
        return _OF_TEXT
    if task_filter.kind is not None and (task_filter.owner is None or _is_rare_kind(connection, task_filter.kind)):
        return _OF_KIND
    return _PAGE if task_filter.owner is None else _OF_OWNER


def _is_rare_kind(connection: SqliteConnection, kind: str) -> bool:
    ((number,),) = connection.query(_COUNT_OF_KIND, {"kind": kind, "most": _COUNT_LIMIT})
    return bool(number < _COUNT_LIMIT)


def _is_index_of_names_shorter(connection: SqliteConnection, owner: str | None) -> bool:
    """Return whether all names are read sooner than the tasks of an owner, each of which costs as much as several names."""
    if owner is None:
        return True
    ((own, total),) = connection.query(_COUNT_OF_OWNER_AND_ALL, {"owner": owner})
    return bool(own * _NAMES_PER_TASK > total)


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
