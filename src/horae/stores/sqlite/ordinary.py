"""Ordinary starts and successes of one transaction, written by a few statements that take what differs between the runs alone."""

from __future__ import annotations

from array import array
from typing import Any, Final

import apsw

from ...model.ids import to_microseconds
from ..codec.columns import run_instants, run_names
from ..codec.json_codecs import microseconds_of, replace_lone_surrogates
from ..sql.claims.ordinary_batch import OrdinaryBatch, common_run_values, count_successes, is_completing
from .connection import BulkStatement, SqliteConnection, sql
from .counters import write_counters

_START_STATUSES: Final = sql("start_statuses")
_EMPTY_AGENDAS: Final = sql("delete_entries_of_tasks")
_RESCHEDULE: Final = BulkStatement("reschedule_entries", 3)
_INSERT_RUNS: Final = BulkStatement("insert_ordinary_runs", 5)
_START_EVENTS: Final = BulkStatement("insert_start_events", 3)
_END_STATUSES: Final = BulkStatement("end_statuses", 4)
_END_RUNS: Final = BulkStatement("end_ordinary_runs", 4)
_END_EVENTS: Final = BulkStatement("insert_success_events", 5)


def write_starts(connection: SqliteConnection, batch: OrdinaryBatch) -> bool:
    """Write the starts; return False, with nothing written, if the runs have too little in common."""
    starts = batch.starts
    common = common_run_values([start.run for _, start in starts])
    if common is None:
        return False
    connection.query(_START_STATUSES, (apsw.carray(array("q", [known.number for known, _ in starts])),))
    if emptied := batch.emptied_tasks:
        connection.query(_EMPTY_AGENDAS, (apsw.carray(array("q", emptied)),))
    following: list[Any] = []
    runs: list[Any] = []
    events: list[Any] = []
    for known, (run, _, entry) in starts:
        number = known.number
        if entry is not None:
            following += (number, microseconds_of[entry.due], microseconds_of[entry.planned])
        run_id, task_id, owner = run_names(run)
        planned_at, due_at = run_instants(run)
        planned = microseconds_of[planned_at]
        runs += (run_id, number, owner, planned, planned if due_at is planned_at else microseconds_of[due_at])
        events += (owner, task_id, run_id)
    if following:
        connection.write_rows(_RESCHEDULE, following)
    connection.write_rows(_INSERT_RUNS, runs, common)
    claimed = common[5]
    connection.write_rows(_START_EVENTS, events, (claimed,))
    return True


def write_ends(connection: SqliteConnection, batch: OrdinaryBatch) -> None:
    statuses: list[Any] = []
    runs: list[Any] = []
    events: list[Any] = []
    for known, run, success in batch.ends:
        started, ended_at, result, status = success
        ended, last_result, is_last = to_microseconds(ended_at), None, is_completing(success)
        if result is not None:
            result, last_result = replace_lone_surrogates(result), replace_lone_surrogates(status.last_result)
        run_id, task_id, owner = run_names(run)
        statuses += (known.number, ended, last_result, is_last)
        runs += (run_id, None if started is None else microseconds_of[started], ended, result)
        events += (ended, owner, task_id, run_id, is_last)
    connection.write_rows(_END_STATUSES, statuses)
    connection.write_rows(_END_RUNS, runs)
    write_counters(connection, count_successes(batch).total_deltas())
    connection.write_rows(_END_EVENTS, events)
