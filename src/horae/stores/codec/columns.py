"""Named columns of rows that a store uses before it decodes them, or without decoding them: due entries, tasks, runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ...model.run import Run
from ...model.task import Task, TaskStatus
from .rows import ENTRY_WIDTH, RUN_WIDTH, TASK_WIDTH, Row, decode_run, decode_status, decode_task

# --- entries -----------------------------------------------------------------------------------------------------
# Getters, because the hot path would notice an object per row.

entry_task: Final[Callable[[Row], int]] = itemgetter(0)
entry_slot: Final[Callable[[Row], str]] = itemgetter(1)
entry_key: Final[Callable[[Row], tuple[int, str]]] = itemgetter(0, 1)
"""Task number and slot."""
entry_owner: Final[Callable[[Row], str]] = itemgetter(5)
entry_priority: Final[Callable[[Row], int]] = itemgetter(6)
entry_order: Final[Callable[[Row], tuple[int, int, int, str]]] = itemgetter(6, 3, 0, 1)
"""Priority, due instant, task number and slot."""
entry_lane: Final[Callable[[Row], str | None]] = itemgetter(18)
entry_instants: Final[Callable[[Row], tuple[int, int]]] = itemgetter(4, 3)
"""Planned and due instant, in microseconds."""
entry_state: Final[Callable[[Row], int]] = itemgetter(7)
"""Place in `rows.ENTRY_STATES`."""
entry_rank: Final[Callable[[Row], tuple[int, int, str, str]]] = itemgetter(6, 3, 5, 1)
"""Priority, due instant, owner and slot."""
entry_shared_columns: Final[Callable[[Row], Row]] = itemgetter(1, 2, *range(5, ENTRY_WIDTH))
"""All columns but the task and the instants: what entries of a class have in common."""
entry_task_version: Final[Callable[[Row], tuple[int, int]]] = itemgetter(0, ENTRY_WIDTH)
"""Number and version of the task; only rows that a claim has read or locked have the version."""


# --- tasks -------------------------------------------------------------------------------------------------------


class TaskVersion(NamedTuple):
    """Row of a task that was looked up by its id or key."""

    number: int
    owner: str
    version: int


class TaskIdentity(NamedTuple):
    """Columns of a task that are unique: the id, and the key within the owner."""

    number: int
    id: str
    owner: str
    key: str | None


def task_page_cursor(rows: Sequence[Row], size: int) -> str | None:
    """Return the number of the last task of a page, as a cursor; `rows` are (number, version), one more if more follow."""
    if len(rows) <= size:
        return None
    number, _ = rows[size - 1]
    return str(number)


def new_task_identities(values: list[Any]) -> list[TaskIdentity]:
    """Return the identities of new tasks; `values` are the values of all rows, concatenated, each row with its number."""
    columns = (values[column::TASK_WIDTH] for column in (0, 1, 2, 10))
    return list(map(TaskIdentity._make, zip(*columns, strict=True)))


def edited_task_identity(row: Row) -> TaskIdentity:
    """Return the identity of an edited task, whose row ends with its number."""
    task_id, owner, *_, key, _, _, _, _, number = row
    return TaskIdentity(number, task_id, owner, key)


def decode_versioned_task(row: Row) -> tuple[int, int, Task, TaskStatus]:
    """Decode number, version, definition and status from a row of the statement `tasks`."""
    return row[0], row[TASK_WIDTH], decode_task(row), decode_status(row, TASK_WIDTH + 1)


def live_and_entry_counts(row: Row) -> tuple[int, int]:
    """Return the numbers of live runs and entries at the end of a row of the statement `tasks`."""
    live_runs, entries = row[-2:]
    return live_runs, entries


# --- runs --------------------------------------------------------------------------------------------------------

run_number: Final[Callable[[Row], int]] = itemgetter(0)
run_task: Final[Callable[[Row], int]] = itemgetter(2)
run_occurrence: Final[Callable[[Row], tuple[int, int, int, str]]] = itemgetter(2, 5, 7, 4)
"""Task number, planned instant, attempt and origin: the primary key of ended runs on a database server."""


def _fields(*names: str) -> Callable[[Run], Row]:
    """Return a function that reads these fields of a run at once: each access by name takes as long as the whole call."""
    return itemgetter(*map(Run._fields.index, names))


run_names: Final[Callable[[Run], tuple[str, str, str]]] = _fields("id", "task_id", "owner")
run_instants: Final[Callable[[Run], tuple[datetime, datetime]]] = _fields("planned", "due")
claim_of_run: Final[Callable[[Run], Row]] = _fields("origin", "attempt", "state", "token", "node", "claimed", "started")
"""What the runs of a claim have in common."""


def decode_listed_run(row: Row) -> Run:
    """Decode a run whose row ends with the id of its task."""
    return decode_run(row, row[RUN_WIDTH])
