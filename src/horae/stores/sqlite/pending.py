"""Changes on their way into the file: gathered row by row, written in a few large statements."""

from __future__ import annotations

from typing import Any, Final

import apsw

from ...errors import StoreError
from ...model.change import Change
from ...model.entry import CLAIMABLE, Entry
from ...model.ids import microseconds
from ...model.lane import DEFAULT_LIMIT
from ...model.refusals import refuse
from ...model.run import LIVE, Run
from ...model.task import FRESH
from ..births import only_new
from .familiar import Familiar, Known, after
from .gather import Gathered, one_by_key, these
from .link import Link, Row
from .rows import (
    birth,
    entry_values,
    event_values,
    moved_values,
    plain_birth,
    plain_end,
    standing_values,
    task_values,
)
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
_UPDATE_TASK: Final = sql("update_task")
_EMPTY_AGENDAS: Final = sql("empty_agendas")
_LAST_RUN: Final = sql("last_run")
_MADE: Final = sql("made")
_MOVE_RUN: Final = sql("move_run")
_LEAVE_SEAT: Final = sql("leave_seat")
_ASK_TO_END: Final = sql("ask_to_end")
_UNPARK: Final = sql("unpark")
_DELETIONS: Final = tuple(sql(name) for name in ("delete_lines", "delete_runs", "delete_standing", "delete_task"))


class Pending:
    """All that one request is going to write; `finish` writes it."""

    def __init__(self, link: Link, familiar: Familiar) -> None:
        self._link = link
        self._familiar = familiar
        # The values of whole rows, one after the other, as the large statements take them.
        self._new_tasks: list[Any] = []
        self._standings: list[Any] = []
        self._started: list[Any] = []
        self._born: list[Any] = []
        self._ended: list[Any] = []
        self._taken: list[Any] = []
        self._events: list[Any] = []
        # Row by row, because there are few of them.
        self._edited: list[Row] = []
        self._moved: list[Row] = []
        self._asked: list[Row] = []
        self._left: list[Row] = []
        self._entries: dict[tuple[int, str], Row | None] = {}
        self._emptied: dict[int, None] = {}
        self._deleted: list[int] = []
        self._offered: set[str] = set()
        self._last_run = -1
        self._looked_up: set[str] = set()
        """The ids of new runs that the ledger is known not to have."""

    def offer(self, lane: str) -> None:
        self._offered.add(lane)

    def only_new(self, number: int, change: Change) -> Change:
        """The change without what the ledger has already, or will have when this is written."""
        if not change.born:
            return change
        change = only_new(change, lambda run: run.id in self._looked_up or self._is_made(number, run))
        self._looked_up.update(run.id for run in change.born)
        return change

    def _is_made(self, number: int, run: Run) -> bool:
        return bool(self._link.query(_MADE, (number, microseconds(run.planned), run.attempt, run.origin, run.id)))

    def note_new(self, number: int, change: Change) -> None:
        """A task that was not there before."""
        task = change.task
        if task is None:
            raise StoreError("Only a change that defines a task can make one; nothing was written.")
        change = self.only_new(number, change)
        self._new_tasks += (number, *task_values(task))
        numbers = [(self._note_born(number, run, None), run) for run in change.born]
        live = [each for each, run in sorted(numbers, key=_by_id) if run.state in LIVE]
        self._standings += standing_values(number, 1, change.standing or FRESH, live)
        for entry in change.put:
            self._entries[number, entry.slot] = entry_values(number, entry)
        for event in change.events:
            self._events += event_values(event)

    def note(self, known: Known, entries: tuple[Entry, ...], change: Change, gathered: Gathered) -> None:
        """What a decision said of a task as it was known; from here on it is known as it will be."""
        task, standing, born, moved, cancelled, put, dropped, events, deleted = change
        number = known[0]
        if deleted:
            self._note_deleted(known, entries)
            gathered.known.pop(number)
        else:
            if put or dropped:
                self._note_entries(number, entries, put, dropped)
            numbers = [self._note_born(number, run, gathered) for run in born] if born else ()
            for run in moved:
                self._note_moved(known, run, gathered)
            if cancelled:
                self._asked += [(reason, run_id) for run_id, reason in cancelled]
            if standing is not None or task is not None or born or moved or cancelled:
                self._note_known(known, after(known, change, numbers), gathered)
        for event in events:
            self._events += event_values(event)

    def _note_known(self, before: Known, known: Known, gathered: Gathered) -> None:
        number, version, task, standing, _, live = known
        if task is not before[2]:
            if task.id != before.task.id:
                raise StoreError(f"The task {before.task.id} cannot become {task.id}; nothing was written.")
            self._edited.append((*task_values(task), number))
        self._standings += standing_values(number, version, standing, live)
        gathered.known[number] = known
        self._familiar.keep(known)

    def _note_born(self, number: int, run: Run, gathered: Gathered | None) -> int:
        if self._last_run < 0:
            self._last_run = self._link.query(_LAST_RUN)[0][0]
        seq = self._last_run = self._last_run + 1
        row = plain_birth(seq, number, run)
        if row is not None:
            self._started += row
            return seq
        self._born += birth(seq, number, run)
        if run.lanes and run.state in LIVE:
            for lane in run.lanes:
                self._taken += (lane, run.id)
            if gathered is not None:
                gathered.surroundings.taken(run.lanes, 1)
        return seq

    def _note_moved(self, known: Known, run: Run, gathered: Gathered) -> None:
        before, seq = known.run(run.id)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        row = plain_end(seq, before, run)
        if row is not None:
            self._ended += row
        else:
            self._moved.append(moved_values(seq, run))
        if before.lanes:
            self._note_seats(before, run, gathered)

    def _note_seats(self, before: Run, run: Run, gathered: Gathered) -> None:
        if run.state in LIVE and run.lanes == before.lanes:
            return
        now_in = run.lanes if run.state in LIVE else ()
        self._left.extend((lane, run.id) for lane in before.lanes)
        for lane in now_in:
            self._taken += (lane, run.id)
        gathered.surroundings.taken(before.lanes, -1)
        gathered.surroundings.taken(now_in, 1)
        if not now_in:
            self._offered.update(before.lanes)

    def _note_entries(
        self, number: int, entries: tuple[Entry, ...], put: tuple[Entry, ...], dropped: tuple[str, ...]
    ) -> None:
        left = len(entries)
        for entry in entries:
            slot, lane = entry[1], entry[16]
            if slot in dropped:
                left -= 1
            elif not any(each.slot == slot for each in put):
                continue
            # It may have been called to a free seat. If it does not take it, the next in line must hear of it.
            if lane is not None and entry.stand in CLAIMABLE:
                self._offered.add(lane)
        if left or put:
            for slot in dropped:
                self._entries[number, slot] = None
            for entry in put:
                self._entries[number, entry.slot] = entry_values(number, entry)
        else:
            self._emptied[number] = None
            for entry in entries:
                self._entries.pop((number, entry[1]), None)

    def _note_deleted(self, known: Known, entries: tuple[Entry, ...]) -> None:
        self._deleted.append(known.number)
        self._emptied[known.number] = None
        for run in known.live:
            self._left.extend((lane, run.id) for lane in run.lanes)
            self._offered.update(run.lanes)
        self._offered.update(e.lane for e in entries if e.lane is not None and e.stand in CLAIMABLE)
        self._familiar.drop(known.number)

    def finish(self) -> None:
        """Write it, and offer the seats that became free to whoever waits for one."""
        self._write_tasks()
        self._write_entries()
        self._write_runs()
        self._link.write_rows(_INSERT_EVENTS, self._events)
        for number in self._deleted:
            for statement in _DELETIONS:
                self._link.query(statement, (number,))
        for lane in sorted(self._offered):
            self._link.query(_UNPARK, {"lane": lane, "unset": DEFAULT_LIMIT})

    def _write_tasks(self) -> None:
        try:
            self._link.write_rows(_INSERT_TASKS, self._new_tasks)
            self._link.write_each(_UPDATE_TASK, self._edited)
        except apsw.ConstraintError as error:
            if "tasks.key" not in str(error):
                raise StoreError("A task with this id is there already; nothing was written.") from error
            raise refuse("key_taken", key=self._clashing_key()) from error
        self._link.write_rows(_PUT_STANDINGS, self._standings)

    def _clashing_key(self) -> str | None:
        """The first of the keys that were to be written, and are somebody else's or were given twice."""
        values = self._new_tasks
        wanted = list(zip(values[0::14], values[2::14], values[10::14], strict=True))
        wanted += [(row[13], row[1], row[9]) for row in self._edited]
        seen: set[tuple[str, str]] = set()
        for number, owner, key in wanted:
            holder = None if key is None else one_by_key(self._link, owner, key)
            if (owner, key) in seen or (holder is not None and holder[0] != number):
                return str(key)
            if key is not None:
                seen.add((owner, key))
        return None

    def _write_entries(self) -> None:
        if self._emptied:
            self._link.query(_EMPTY_AGENDAS, (these(self._emptied),))
        if self._entries:
            self._link.write_rows(
                _DROP_ENTRIES, [part for key, row in self._entries.items() if row is None for part in key]
            )
            self._link.write_rows(
                _PUT_ENTRIES, [value for row in self._entries.values() if row is not None for value in row]
            )

    def _write_runs(self) -> None:
        self._link.write_rows(_INSERT_STARTED_RUNS, self._started)
        self._link.write_rows(_INSERT_RUNS, self._born)
        self._link.write_rows(_END_RUNS, self._ended)
        self._link.write_each(_MOVE_RUN, self._moved)
        self._link.write_each(_LEAVE_SEAT, self._left)
        self._link.write_rows(_TAKE_SEATS, self._taken)
        self._link.write_each(_ASK_TO_END, self._asked)


def _by_id(numbered: tuple[int, Run]) -> str:
    return numbered[1].id
