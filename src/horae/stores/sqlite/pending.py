"""Changes on their way into the file: gathered row by row, written in a few large statements."""

from __future__ import annotations

from typing import Final, NamedTuple

import apsw

from ...errors import StoreError
from ...model.change import Change, Facts
from ...model.entry import CLAIMABLE
from ...model.lane import DEFAULT_LIMIT
from ...model.refusals import refuse
from ...model.run import LIVE, Run
from ...model.task import FRESH
from .gather import Gathered, one_by_key
from .link import Link, Row
from .rows import born_values, entry_values, event_values, moved_values, standing_values, task_values
from .statements import Bulk, sql

_INSERT_TASKS: Final = Bulk("insert_tasks", 14)
_PUT_STANDINGS: Final = Bulk("put_standings", 14)
_PUT_ENTRIES: Final = Bulk("put_entries", 20)
_DROP_ENTRIES: Final = Bulk("drop_entries", 2, end=sql("drop_entries_end"))
_INSERT_RUNS: Final = Bulk("insert_runs", 28)
_TAKE_SEATS: Final = Bulk("take_seats", 2)
_INSERT_EVENTS: Final = Bulk("insert_events", 6)
_UPDATE_TASK: Final = sql("update_task")
_MOVE_RUN: Final = sql("move_run")
_LEAVE_SEAT: Final = sql("leave_seat")
_ASK_TO_END: Final = sql("ask_to_end")
_UNPARK: Final = sql("unpark")
_DELETIONS: Final = tuple(
    sql(name) for name in ("delete_lines", "delete_runs", "delete_entries", "delete_standing", "delete_task")
)


class Known(NamedTuple):
    """A task as a decision saw it: its number, the edition of its definition, and the facts."""

    number: int
    edition: int
    facts: Facts


class Pending:
    """Between two `write`s, each task may be changed once: what a change says is not seen by the facts of another one."""

    def __init__(self) -> None:
        self._offered: set[str] = set()
        self._empty()

    def _empty(self) -> None:
        self._new_tasks: list[Row] = []
        self._edited: list[Row] = []
        self._standings: list[Row] = []
        self._born: list[Row] = []
        self._moved: list[Row] = []
        self._asked: list[Row] = []
        self._put: list[Row] = []
        self._dropped: list[Row] = []
        self._taken: list[Row] = []
        self._left: list[Row] = []
        self._events: list[Row] = []
        self._deleted: list[int] = []

    def offer(self, lane: str) -> None:
        self._offered.add(lane)

    def note_new(self, number: int, change: Change) -> None:
        """A task that was not there before."""
        if change.task is None:
            raise StoreError("Only a change that defines a task can make one; nothing was written.")
        self._new_tasks.append((number, *task_values(change.task)))
        self._standings.append(standing_values(number, 1, change.standing or FRESH))
        for run in change.born:
            self._note_born(number, run, None)
        self._put.extend(entry_values(number, entry) for entry in change.put)
        self._events.extend(map(event_values, change.events))

    def note(self, known: Known, change: Change, gathered: Gathered) -> None:
        number, edition, facts = known
        if change.deleted:
            self._note_deleted(number, facts)
        else:
            if change.task is not None:
                if change.task.id != facts.task.id:
                    raise StoreError(f"The task {facts.task.id} cannot become {change.task.id}; nothing was written.")
                edition += 1
                self._edited.append((*task_values(change.task), number))
                self._standings.append(standing_values(number, edition, change.standing or facts.standing))
            elif change.standing is not None:
                self._standings.append(standing_values(number, edition, change.standing))
            for run in change.born:
                self._note_born(number, run, gathered)
            for run in change.moved:
                self._note_moved(run, facts, gathered)
            for run_id, reason in change.cancelled:
                self._asked.append((reason, run_id))
            self._note_entries(number, change, facts)
        self._events.extend(map(event_values, change.events))

    def _note_born(self, number: int, run: Run, gathered: Gathered | None) -> None:
        self._born.append(born_values(number, run))
        if run.lanes and run.state in LIVE:
            self._taken.extend((lane, run.id) for lane in run.lanes)
            if gathered is not None:
                gathered.surroundings.taken(run.lanes, 1)

    def _note_moved(self, run: Run, facts: Facts, gathered: Gathered) -> None:
        before = next((each for each in facts.live if each.id == run.id), None)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        self._moved.append(moved_values(gathered.run_numbers[run.id], run))
        now_in = run.lanes if run.state in LIVE else ()
        if before.lanes != now_in:
            self._left.extend((lane, run.id) for lane in before.lanes)
            self._taken.extend((lane, run.id) for lane in now_in)
            gathered.surroundings.taken(before.lanes, -1)
            gathered.surroundings.taken(now_in, 1)
            if not now_in:
                self._offered.update(before.lanes)

    def _note_entries(self, number: int, change: Change, facts: Facts) -> None:
        for entry in facts.entries:
            # It may have been called to a free seat. If it does not take it, the next in line must hear of it.
            if entry.lane is not None and entry.stand in CLAIMABLE and _touches(change, entry.slot):
                self._offered.add(entry.lane)
        for slot in change.dropped:
            self._dropped.append((number, slot))
        for entry in change.put:
            self._put.append(entry_values(number, entry))

    def _note_deleted(self, number: int, facts: Facts) -> None:
        self._deleted.append(number)
        for run in facts.live:
            self._left.extend((lane, run.id) for lane in run.lanes)
            self._offered.update(run.lanes)
        self._offered.update(e.lane for e in facts.entries if e.lane is not None and e.stand in CLAIMABLE)

    def write(self, link: Link) -> None:
        self._define(link)
        link.write_rows(_PUT_STANDINGS, self._standings)
        link.write_rows(_INSERT_RUNS, self._born)
        link.write_rows(_DROP_ENTRIES, self._dropped)
        link.write_rows(_PUT_ENTRIES, self._put)
        if self._moved:
            link.write_each(_MOVE_RUN, self._moved)
        if self._left:
            link.write_each(_LEAVE_SEAT, self._left)
        link.write_rows(_TAKE_SEATS, self._taken)
        if self._asked:
            link.write_each(_ASK_TO_END, self._asked)
        link.write_rows(_INSERT_EVENTS, self._events)
        for number in self._deleted:
            for statement in _DELETIONS:
                link.query(statement, (number,))
        self._empty()

    def _define(self, link: Link) -> None:
        try:
            link.write_rows(_INSERT_TASKS, self._new_tasks)
            if self._edited:
                link.write_each(_UPDATE_TASK, self._edited)
        except apsw.ConstraintError as error:
            if "tasks.key" not in str(error):
                raise StoreError("A task with this id is there already; nothing was written.") from error
            raise refuse("key_taken", key=self._clashing_key(link)) from error

    def _clashing_key(self, link: Link) -> str | None:
        """The first of the keys that were to be written, and are somebody else's or were given twice."""
        seen: set[tuple[str, str]] = set()
        named = [(row[0], row[2], row[10]) for row in self._new_tasks] + [
            (row[13], row[1], row[9]) for row in self._edited
        ]
        for number, owner, key in named:
            holder = None if key is None else one_by_key(link, owner, key)
            if (owner, key) in seen or (holder is not None and holder[0] != number):
                return str(key)
            if key is not None:
                seen.add((owner, key))
        return None

    def finish(self, link: Link) -> None:
        """Write what is left, and offer the seats that became free to whoever waits for one."""
        self.write(link)
        for lane in sorted(self._offered):
            link.query(_UNPARK, {"lane": lane, "unset": DEFAULT_LIMIT})
        self._offered.clear()


def _touches(change: Change, slot: str) -> bool:
    return slot in change.dropped or any(entry.slot == slot for entry in change.put)
