"""Integrity check of the file: SQLite's own check, then contradictions between Horae's tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import apsw

from .connection import SqliteConnection
from .statements import sql

_INTEGRITY: Final = sql("integrity")
_ORPHAN_ENTRIES: Final = sql("orphan_entries")
_ORPHAN_RUNS: Final = sql("orphan_runs")
_TASKS_WITHOUT_STATUS: Final = sql("tasks_without_status")
_MISLABELLED: Final = sql("mislabelled_tasks")
_WRONG_LANE_SLOTS: Final = sql("wrong_lane_slots")
_TASKS_WITHOUT_WORK: Final = sql("tasks_without_work")
_WRONG_STATE_COUNTERS: Final = sql("wrong_state_counters")
_WRONG_LIVE_RUNS: Final = sql("wrong_live_runs")


def find_problems(connection: SqliteConnection) -> Iterator[str]:
    """Yield one sentence for each problem found."""
    try:
        yield from (f"The file is damaged: {problem}" for (problem,) in connection.query(_INTEGRITY) if problem != "ok")
        yield from _find_contradictions(connection)
    except apsw.CorruptError as error:
        yield f"The file is damaged: {error}"


def _find_contradictions(connection: SqliteConnection) -> Iterator[str]:
    for slot, task in connection.query(_ORPHAN_ENTRIES):
        yield f"The agenda entry {slot} belongs to task number {task}, which is not there."
    for run_id, task in connection.query(_ORPHAN_RUNS):
        yield f"The run {run_id} belongs to task number {task}, which is not there."
    for (task_id,) in connection.query(_TASKS_WITHOUT_STATUS):
        yield f"The task {task_id} has no status."
    for task_id in dict.fromkeys(task_id for (task_id,) in connection.query(_MISLABELLED)):
        yield f"The task {task_id} is not found by the labels that it has."
    for lane, taken, live_runs in connection.query(_WRONG_LANE_SLOTS):
        yield f"The lane {lane} counts {taken} slots taken, but has {live_runs} live runs."
    for (task_id,) in connection.query(_TASKS_WITHOUT_WORK):
        yield f"The task {task_id} is active, but nothing of it is queued or running."
    for owner, name, recorded, actual in connection.query(_WRONG_STATE_COUNTERS):
        yield f"{recorded} tasks of {owner or 'all owners'} are counted as {name}, but there are {actual}."
    for (task_id,) in connection.query(_WRONG_LIVE_RUNS):
        yield f"The task {task_id} has a wrong list of live runs."
