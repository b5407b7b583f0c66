"""Counters of a SQLite file: sums at any time, per owner and for all owners together; each new hour deletes old ones."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from ...model.counts import OUTCOME_RETAINED_HOURS, RETAINED_HOURS, SWEPT_HOURS, hour_of, total_owner
from ..counter_deltas import Deltas
from .connection import BulkStatement, SqliteConnection, sql

_ADD_TO_COUNTERS: Final = BulkStatement("add_to_counters", 4)
_DELETE_OLD_COUNTERS: Final = sql("delete_old_counters")
_DROP_UNUSED_LANE_TURNS: Final = sql("drop_unused_lane_turns")
_DELETE_OLD_LATENESS: Final = sql("delete_old_lateness")


def write_counters(connection: SqliteConnection, counts: Deltas) -> None:
    """Add the deltas to the counters of each owner and to the totals of all owners."""
    if not counts:
        return
    totals: defaultdict[tuple[str, int, str], int] = defaultdict(int)
    for (owner, hour, name), number in counts.items():
        totals[total_owner(owner), hour, name] += number
    rows = [value for key, number in (*counts.items(), *totals.items()) if number for value in (*key, number)]
    connection.write_rows(_ADD_TO_COUNTERS, rows)
    newest = max(hour for _, hour, _ in counts)
    if newest > connection.newest_hour:
        _delete_old_hours(connection, newest)


def _delete_old_hours(connection: SqliteConnection, newest: int) -> None:
    """Delete counters beyond their retention, counted from now at the latest: a row in the future must not delete the
    current counters."""
    hour = min(newest, hour_of(connection.clock.now()))
    if hour > connection.newest_hour:
        connection.newest_hour = hour
        connection.query(_DELETE_OLD_COUNTERS, (hour - OUTCOME_RETAINED_HOURS,))
        connection.query(_DROP_UNUSED_LANE_TURNS)
        last = hour - RETAINED_HOURS
        connection.query(_DELETE_OLD_LATENESS, (max(1, last - SWEPT_HOURS), last))
