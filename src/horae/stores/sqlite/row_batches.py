"""Rows on their way into the file: gathered one by one, written in a few large statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import apsw

from ...clock import SystemClock
from ...errors import HoraeError, StoreError
from ...model.change import Change
from ...model.counts import EVERYBODY, KEPT_HOURS, hour_of
from ...model.record import Writing
from ...model.refusals import refuse
from ...model.task import FRESH
from ..codec.rows import entry_values, event_values, standing_values, task_values
from ..counter_deltas import Counting
from .attached_records import write_beside
from .connection import Link, Row
from .load_facts import one_by_id, one_by_key, these
from .statements import Bulk, sql

_INSERT_TASKS: Final = Bulk("insert_tasks", 14)
_PUT_STANDINGS: Final = Bulk("put_standings", 15)
_PUT_ENTRIES: Final = Bulk("put_entries", 20)
_DROP_ENTRIES: Final = Bulk("drop_entries", 2)
_INSERT_RUNS: Final = Bulk("insert_runs", 29)
_INSERT_STARTED_RUNS: Final = Bulk("insert_started_runs", 13)
_END_RUNS: Final = Bulk("end_runs", 8)
_TAKE_SEATS: Final = Bulk("take_seats", 2)
_INSERT_EVENTS: Final = Bulk("insert_events", 6)
_PUT_TALLIES: Final = Bulk("put_tallies", 4)
_DROP_TALLIES: Final = sql("drop_tallies")
_UPDATE_TASK: Final = sql("update_task")
_EMPTY_AGENDAS: Final = sql("empty_agendas")
_MOVE_RUN: Final = sql("move_run")
_LEAVE_SEAT: Final = sql("leave_seat")
_ASK_TO_END: Final = sql("ask_to_end")
_DELETIONS: Final = tuple(sql(name) for name in ("delete_lines", "delete_runs", "delete_standing", "delete_task"))
_FRESH_VALUES: Final = standing_values(0, 1, FRESH)[2:]


class Sheets(Counting):
    def __init__(self) -> None:
        super().__init__()
        # The values of whole rows, one after the other, as the large statements take them.
        self.new_tasks: list[Any] = []
        self.standings: list[Any] = []
        self.put: list[Any] = []
        """Entries of new tasks."""
        self.started: list[Any] = []
        self.born: list[Any] = []
        self.ended: list[Any] = []
        self.taken: list[Any] = []
        self.events: list[Any] = []
        # Row by row, because there are few of them.
        self.edited: list[Row] = []
        self.moved: list[Row] = []
        self.asked: list[Row] = []
        self.left: list[Row] = []
        self.entries: dict[tuple[int, str], Row | None] = {}
        """By task and slot; None: it leaves the agenda."""
        self.emptied: dict[int, None] = {}
        """Tasks of which nothing is on the agenda any more, but for what is put there later."""
        self.deleted: list[int] = []
        self.beside: list[Writing] = []

    def add(self, number: int, change: Change, live: Sequence[int] = ()) -> None:
        """A new task, with its entries and events; `live` are the numbers of its runs that go on."""
        if change.task is None:
            raise StoreError("Only a change that defines a task can make one; nothing was written.")
        self.new_tasks += (number, *task_values(change.task))
        if change.standing is FRESH and not change.born:
            self.standings += (number, 1, *_FRESH_VALUES)
            self.count_new(change.task.owner)
        else:
            self.standings += standing_values(number, 1, change.standing or FRESH, live)
            self.count(change.task.owner, None, change._replace(standing=change.standing or FRESH))
        for entry in change.put:
            self.put += entry_values(number, entry)
        for event in change.events:
            self.events += event_values(event)
        self.beside += change.beside

    def count_from(self, first: int) -> None:
        """New tasks that were numbered from one on get their real numbers."""
        self.new_tasks[0::14] = range(first, first + len(self.new_tasks) // 14)
        self.standings[0::15] = range(first, first + len(self.standings) // 15)
        self.put[0::20] = [first - 1 + number for number in self.put[0::20]]

    def write(self, link: Link) -> None:
        self._write_tasks(link)
        self._write_entries(link)
        self._write_runs(link)
        link.write_rows(_INSERT_EVENTS, self.events)
        write_counts(link, self.all_counts())
        for number in self.deleted:
            for statement in _DELETIONS:
                link.query(statement, (number,))
        write_beside(link, self.beside)

    def _write_tasks(self, link: Link) -> None:
        try:
            link.write_rows(_INSERT_TASKS, self.new_tasks)
            link.write_each(_UPDATE_TASK, self.edited)
        except apsw.ConstraintError as error:
            raise self._clash(link) from error
        link.write_rows(_PUT_STANDINGS, self.standings)

    def _clash(self, link: Link) -> HoraeError:
        """The first of the names that were to be written, and are another task's or were given twice."""
        values = self.new_tasks
        wanted = list(zip(values[0::14], values[1::14], values[2::14], values[10::14], strict=True))
        wanted += [(row[13], row[0], row[1], row[9]) for row in self.edited]
        ids: set[str] = set()
        keys: set[tuple[str, str]] = set()
        for number, task_id, owner, key in wanted:
            if task_id in ids or _is_anothers(one_by_id(link, task_id), number):
                break
            if key is not None and ((owner, key) in keys or _is_anothers(one_by_key(link, owner, key), number)):
                return refuse("key_taken", key=key)
            ids.add(task_id)
            keys.add((owner, key))
        return StoreError("A task with this id is there already; nothing was written.")

    def _write_entries(self, link: Link) -> None:
        if self.emptied:
            link.query(_EMPTY_AGENDAS, (these(self.emptied),))
        if self.entries:
            dropped = [part for key, row in self.entries.items() if row is None for part in key]
            put = [value for row in self.entries.values() if row is not None for value in row]
            link.write_rows(_DROP_ENTRIES, dropped)
            link.write_rows(_PUT_ENTRIES, put)
        link.write_rows(_PUT_ENTRIES, self.put)

    def _write_runs(self, link: Link) -> None:
        link.write_rows(_INSERT_STARTED_RUNS, self.started)
        link.write_rows(_INSERT_RUNS, self.born)
        link.write_rows(_END_RUNS, self.ended)
        link.write_each(_MOVE_RUN, self.moved)
        link.write_each(_LEAVE_SEAT, self.left)
        link.write_rows(_TAKE_SEATS, self.taken)
        link.write_each(_ASK_TO_END, self.asked)


def write_counts(link: Link, counts: Counter[tuple[str, int, str]]) -> None:
    """Once for each owner, and once for everybody."""
    if not counts:
        return
    everybody: Counter[tuple[str, int, str]] = Counter()
    for (_, hour, name), number in counts.items():
        everybody[EVERYBODY, hour, name] += number
    rows = [value for key, number in (*counts.items(), *everybody.items()) if number for value in (*key, number)]
    link.write_rows(_PUT_TALLIES, rows)
    newest = max(hour for _, hour, _ in counts)
    if newest > link.newest_hour:
        _forget(link, newest)


def _forget(link: Link, newest: int) -> None:
    """One row from beyond the present must not take the present with it: older than two days is as seen from now."""
    hour = min(newest, hour_of(SystemClock().now()))
    if hour > link.newest_hour:
        link.newest_hour = hour
        link.query(_DROP_TALLIES, (hour - KEPT_HOURS,))


def _is_anothers(found: Row | None, number: int) -> bool:
    return found is not None and found[0] != number
