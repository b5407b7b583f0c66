"""What the decisions of one request have said: known from here on, and written at the end."""

from __future__ import annotations

from typing import Final

from ...errors import StoreError
from ...model.change import Change
from ...model.entry import CLAIMABLE, Entry
from ...model.ids import microseconds
from ...model.lane import DEFAULT_LIMIT
from ...model.run import LIVE, Run, RunState
from ...model.task import TaskState
from ..codec.json_codecs import numbers, printable
from ..codec.rows import birth, entry_values, moved_values, new, plain_birth, plain_end, standing_values, task_values
from ..run_deduplication import only_new
from ..task_cache import Familiar, Known, after
from .connection import Link
from .load_facts import Gathered
from .row_batches import Sheets
from .statements import sql

_LAST_RUN: Final = sql("last_run")
_MADE: Final = sql("made")
_UNPARK: Final = sql("unpark")


class Pending:
    def __init__(self, link: Link, familiar: Familiar) -> None:
        self._link = link
        self._familiar = familiar
        self._sheets = Sheets()
        self._offered: set[str] = set()
        self._looked_up: set[str] = set()
        """The ids of new runs that the ledger is known not to have."""
        self._last_run = -1

    def offer(self, lane: str) -> None:
        self._offered.add(lane)

    def made(self, number: int, change: Change) -> frozenset[str]:
        """The births of a change that the ledger has already, or will have when this is written."""
        return frozenset(run.id for run in change.born if self._is_made(number, run))

    def only_new(self, number: int, change: Change) -> Change:
        if not change.born:
            return change
        change = only_new(change, lambda run: self._is_made(number, run))
        self._looked_up.update(run.id for run in change.born)
        return change

    def _is_made(self, number: int, run: Run) -> bool:
        if run.id in self._looked_up:
            return True
        return bool(self._link.query(_MADE, (number, microseconds(run.planned), run.attempt, run.origin, run.id)))

    def note_new(self, number: int, change: Change) -> None:
        """A task that was not there before."""
        change = self.only_new(number, change)
        born = [(self._note_born(number, run, None), run) for run in change.born]
        live = [each for each, run in sorted(born, key=_by_id) if run.state in LIVE]
        self._sheets.add(number, change, live)

    def note(self, known: Known, entries: tuple[Entry, ...], change: Change, gathered: Gathered) -> None:
        """What a decision said of a task as it was known; from here on it is known as it will be."""
        ordinary = self._note_start(known, entries, change) if change[2] else self._note_end(known, change, gathered)
        if not ordinary:
            self._note_anything(known, entries, change, gathered)
        if not ordinary:
            self._sheets.count(known.task.owner, known.standing, change)
        if change[9]:
            self._sheets.beside += change[9]
        events = self._sheets.events
        for kind, at, owner, task_id, run_id, detail in change[7]:
            events += (kind, numbers[at], owner, task_id, run_id, None if detail is None else printable(detail))

    def _note_start(self, known: Known, entries: tuple[Entry, ...], change: Change) -> bool:
        """The ordinary case in one breath: the only entry of a quiet task has become a run. False if it is another."""
        task, standing, born, moved, cancelled, put, dropped, _, deleted, _ = change
        number, version, known_task, _, live, _ = known
        if standing is None or live or len(born) != 1 or len(entries) != 1 or len(dropped) != 1:
            return False
        entry = entries[0]
        if moved or cancelled or put or deleted or task is not None or dropped[0] != entry[1] or entry[16] is not None:
            return False
        seq = self._next_run()
        row = plain_birth(seq, number, born[0])
        if row is None:
            self._last_run -= 1
            return False
        sheets = self._sheets
        sheets.started += row
        sheets.standings += standing_values(number, version + 1, standing, (seq,))
        sheets.emptied[number] = None
        self._familiar.keep(new(Known, (number, version + 1, known_task, standing, born, (seq,))))
        return True

    def _note_end(self, known: Known, change: Change, gathered: Gathered) -> bool:
        """The other ordinary case: the only run of a task has ended, and its agenda stays as it is."""
        task, standing, born, moved, cancelled, put, dropped, _, deleted, _ = change
        number, version, known_task, _, live, seqs = known
        if standing is None or len(live) != 1 or len(moved) != 1 or born or put or dropped:
            return False
        before, run = live[0], moved[0]
        if cancelled or deleted or task is not None or before[0] != run[0] or before[21]:
            return False
        row = plain_end(seqs[0], before, run)
        if row is None:
            return False
        sheets = self._sheets
        sheets.ended += row
        state = standing[0]
        went_on = known[3][0] is TaskState.ACTIVE and (state is TaskState.ACTIVE or state is TaskState.COMPLETED)
        if went_on and row[1] is RunState.SUCCEEDED and row[3] is not None:
            sheets.count_success(run[2], row, numbers[run[5]], known[3], standing)
        else:
            sheets.count(run[2], known[3], change)
        sheets.standings += standing_values(number, version + 1, standing)
        gathered.known[number] = ended = new(Known, (number, version + 1, known_task, standing, (), ()))
        self._familiar.keep(ended)
        return True

    def _note_anything(self, known: Known, entries: tuple[Entry, ...], change: Change, gathered: Gathered) -> None:
        number = known.number
        if change.deleted:
            self._note_deleted(known, entries)
            del gathered.known[number]
            return
        if change.put or change.dropped:
            self._note_entries(number, entries, change)
        born = [self._note_born(number, run, gathered) for run in change.born]
        for run in change.moved:
            self._note_moved(known, run, gathered)
        self._sheets.asked += [(reason, run_id) for run_id, reason in change.cancelled]
        if change.standing is not None or change.task is not None or born or change.moved or change.cancelled:
            self._note_known(known, after(known, change, born), gathered)

    def _note_known(self, before: Known, known: Known, gathered: Gathered) -> None:
        number, version, task, standing, _, live = known
        if task is not before.task:
            if task.id != before.task.id:
                raise StoreError(f"The task {before.task.id} cannot become {task.id}; nothing was written.")
            self._sheets.edited.append((*task_values(task), number))
        self._sheets.standings += standing_values(number, version, standing, live)
        gathered.known[number] = known
        self._familiar.keep(known)

    def _next_run(self) -> int:
        if self._last_run < 0:
            self._last_run = self._link.query(_LAST_RUN)[0][0]
        self._last_run += 1
        return self._last_run

    def _note_born(self, number: int, run: Run, gathered: Gathered | None) -> int:
        seq = self._next_run()
        self._sheets.born += birth(seq, number, run)
        if run.lanes and run.state in LIVE:
            for lane in run.lanes:
                self._sheets.taken += (lane, run.id)
            if gathered is not None:
                gathered.surroundings.taken(run.lanes, 1)
        return seq

    def _note_moved(self, known: Known, run: Run, gathered: Gathered) -> None:
        before, seq = known.run(run.id)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        self._sheets.moved.append(moved_values(seq, run))
        now_in = run.lanes if run.state in LIVE else ()
        if before.lanes != now_in:
            self._sheets.left += [(lane, run.id) for lane in before.lanes]
            for lane in now_in:
                self._sheets.taken += (lane, run.id)
            gathered.surroundings.taken(before.lanes, -1)
            gathered.surroundings.taken(now_in, 1)
            if not now_in:
                self._offered.update(before.lanes)

    def _note_entries(self, number: int, entries: tuple[Entry, ...], change: Change) -> None:
        touched = {*change.dropped, *(entry.slot for entry in change.put)}
        # It may have been called to a free seat. If it does not take it, the next in line must hear of it.
        self._offered.update(
            e.lane for e in entries if e.lane is not None and e.stand in CLAIMABLE and e.slot in touched
        )
        pending = self._sheets.entries
        for slot in change.dropped:
            pending[number, slot] = None
        for entry in change.put:
            pending[number, entry.slot] = entry_values(number, entry)

    def _note_deleted(self, known: Known, entries: tuple[Entry, ...]) -> None:
        sheets = self._sheets
        sheets.deleted.append(known.number)
        sheets.emptied[known.number] = None
        for entry in entries:
            # What another decision of this request has put there must not come after its end.
            sheets.entries.pop((known.number, entry.slot), None)
        for run in known.live:
            sheets.left += [(lane, run.id) for lane in run.lanes]
            self._offered.update(run.lanes)
        self._offered.update(e.lane for e in entries if e.lane is not None and e.stand in CLAIMABLE)
        self._familiar.drop(known.number)

    def finish(self) -> None:
        """Write it, and offer the seats that became free to whoever waits for one."""
        self._sheets.write(self._link)
        for lane in sorted(self._offered):
            self._link.query(_UNPARK, {"lane": lane, "unset": DEFAULT_LIMIT})


def _by_id(numbered: tuple[int, Run]) -> str:
    return numbered[1].id
