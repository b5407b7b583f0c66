"""What the decisions of one transaction have said: known from here on, and written at the end."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import StoreError
from ...model.change import Change
from ...model.entry import CLAIMABLE, Entry
from ...model.ids import microseconds
from ...model.route import is_route
from ...model.run import LIVE, Run, RunState
from ...model.task import TaskState
from ..codec.json_codecs import numbers, printable
from ..codec.rows import entry_values, new, plain_birth, plain_end, standing_values, task_values, tells
from ..run_deduplication import only_new
from ..task_cache import Familiar, Known, after
from .attached_records import write_beside
from .connection import Link
from .folded_decisions import Folded
from .load_facts import Gathered
from .row_batches import Sheets


class Draft:
    def __init__(self, gathered: Gathered) -> None:
        self.sheets = Sheets()
        self._gathered = gathered
        self._offered: set[str] = set()
        self._looked_up: set[str] = set()
        """The ids of new runs that the ledger is known not to have."""
        self._learnt: dict[int, Known | None] = {}
        self._folded: Folded | None = Folded()
        """While all that was decided is ordinary; then it is written without being taken apart."""

    def learnt_by(self, familiar: Familiar) -> None:
        """When it is certain that it was written."""
        folded = self._folded
        familiar.learn(self._learnt, () if folded is None else folded.bare)

    def offer(self, lane: str) -> None:
        self._offered.add(lane)

    # --- births ----------------------------------------------------------------------------------------------------

    async def made(self, link: Link, number: int, change: Change) -> frozenset[str]:
        """The births of a change that the ledger has already, or will have when this is written."""
        return frozenset([run.id for run in change.born if await self._is_made(link, number, run)])

    async def only_new(self, link: Link, number: int, change: Change) -> Change:
        if not change.born:
            return change
        made = await self.made(link, number, change)
        change = only_new(change, lambda run: run.id in made)
        self._looked_up.update(run.id for run in change.born)
        return change

    async def _is_made(self, link: Link, number: int, run: Run) -> bool:
        if run.id in self._looked_up:
            return True
        return bool(await link.query("made", number, microseconds(run.planned), run.attempt, run.origin, run.id))

    # --- changes ---------------------------------------------------------------------------------------------------

    async def note_new(self, link: Link, number: int, change: Change) -> None:
        """A task that was not there before."""
        self._unfold()
        change = await self.only_new(link, number, change)
        for run in change.born:
            self.sheets.bear(number, run)
        self.sheets.add(number, change)

    def note(self, known: Known, entries: tuple[Entry, ...], change: Change) -> None:
        """What a decision said of a task as it was known; from here on it is known as it will be."""
        if self._folded is not None:
            now_known = self._folded.take(known, entries, change)
            if now_known is not None:
                self._learn(now_known)
                return
            self._unfold()
        self._note(known, entries, change)

    def _unfold(self) -> None:
        """Something else comes, or the server takes it only piece by piece."""
        folded, self._folded = self._folded, None
        for noted in () if folded is None else folded.kept:
            self._note(*noted)

    def _note(self, known: Known, entries: tuple[Entry, ...], change: Change) -> None:
        ordinary = self._note_start(known, entries, change) if change[2] else self._note_end(known, change)
        if not ordinary:
            self._note_anything(known, entries, change)
            self.sheets.count(known.task.owner, known.standing, change)
        if change[9]:
            self.sheets.beside += change[9]
        events = self.sheets.events
        for kind, at, owner, task_id, run_id, detail in change[7]:
            events.append((kind, numbers[at], owner, task_id, run_id, None if detail is None else printable(detail)))

    def _learn(self, known: Known) -> None:
        self._gathered.known[known[0]] = known
        self._learnt[known[0]] = known

    def _note_start(self, known: Known, entries: tuple[Entry, ...], change: Change) -> bool:
        """The ordinary case in one breath: the only entry of a quiet task has become a run. False if it is another."""
        task, standing, born, moved, cancelled, put, dropped, _, deleted, _ = change
        number, version, known_task, _, live, _ = known
        if standing is None or live or len(born) != 1 or len(entries) != 1 or len(dropped) != 1:
            return False
        entry = entries[0]
        if moved or cancelled or put or deleted or task is not None or dropped[0] != entry[1] or entry[16] is not None:
            return False
        row = plain_birth(0, number, born[0])
        if row is None:
            return False
        sheets = self.sheets
        sheets.started += row[1:]
        sheets.standings[number] = standing_values(number, version + 1, standing)[:-1]
        sheets.emptied[number] = None
        self._learn(new(Known, (number, version + 1, known_task, standing, born, (0,))))
        return True

    def _note_end(self, known: Known, change: Change) -> bool:
        """The other ordinary case: the only run of a task has ended, and its agenda stays as it is."""
        task, standing, born, moved, cancelled, put, dropped, _, deleted, _ = change
        number, version, known_task, before_standing, live, _ = known
        if standing is None or len(live) != 1 or len(moved) != 1 or born or put or dropped:
            return False
        before, run = live[0], moved[0]
        if cancelled or deleted or task is not None or before[0] != run[0] or before[21]:
            return False
        row = plain_end(0, before, run)
        if row is None or not tells(run[0], numbers[run[4]]):
            # The ledger keeps what bears a stray name where it is looked for.
            return False
        sheets = self.sheets
        sheets.ended += (run[0], *row[1:])
        state = standing[0]
        went_on = before_standing[0] is TaskState.ACTIVE and state in (TaskState.ACTIVE, TaskState.COMPLETED)
        if went_on and row[1] is RunState.SUCCEEDED and row[3] is not None:
            sheets.count_success(run[2], row, numbers[run[5]], before_standing, standing)
        else:
            sheets.count(run[2], before_standing, change)
        sheets.standings[number] = standing_values(number, version + 1, standing)[:-1]
        self._learn(new(Known, (number, version + 1, known_task, standing, (), ())))
        return True

    def _note_anything(self, known: Known, entries: tuple[Entry, ...], change: Change) -> None:
        number = known.number
        if change.deleted:
            self._note_deleted(known, entries)
            return
        if change.put or change.dropped:
            self._note_entries(number, entries, change)
        for run in change.born:
            self.sheets.bear(number, run)
            self._gathered.surroundings.taken(run.lanes if run.state in LIVE else (), 1)
        for run in change.moved:
            self._note_moved(known, run)
        if any(change[:7]):
            # Also where only the agenda is new: by its version others see that what they have decided on is as it was.
            self._note_known(known, after(known, change, (0,) * len(change.born)), change)

    def _note_known(self, before: Known, known: Known, change: Change) -> None:
        number, version, task, standing, live, _ = known
        if task is not before.task:
            if task.id != before.task.id:
                raise StoreError(f"The task {before.task.id} cannot become {task.id}; nothing was written.")
            self.sheets.edited.append((*task_values(task), number))
        self.sheets.standings[number] = standing_values(number, version, standing)[:-1]
        asked = {run_id for run_id, _ in change.cancelled}
        for run in live:
            if run.id in asked:
                self.sheets.move(number, run, run)
        self._learn(known)

    def _note_moved(self, known: Known, run: Run) -> None:
        before, _ = known.run(run.id)
        if before is None:
            raise StoreError(f"The run {run.id} is not live, and what has ended stays so; nothing was written.")
        self.sheets.move(known.number, before, run)
        now_in = run.lanes if run.state in LIVE else ()
        if before.lanes != now_in:
            self._gathered.surroundings.taken(before.lanes, -1)
            self._gathered.surroundings.taken(now_in, 1)
            if not now_in:
                self._offered.update(before.lanes)

    def _note_entries(self, number: int, entries: tuple[Entry, ...], change: Change) -> None:
        touched = {*change.dropped, *(entry.slot for entry in change.put)}
        self._offer_what_was_called(e for e in entries if e.slot in touched)
        pending = self.sheets.entries
        for slot in change.dropped:
            pending[number, slot] = None
        for entry in change.put:
            pending[number, entry.slot] = entry_values(number, entry)

    def _offer_what_was_called(self, entries: Iterable[Entry]) -> None:
        """It may have been called to a free seat. If it does not take it, the next in line must hear of it."""
        self._offered.update(
            e.lane for e in entries if e.lane is not None and e.stand in CLAIMABLE and not is_route(e.lane)
        )

    def _note_deleted(self, known: Known, entries: tuple[Entry, ...]) -> None:
        sheets = self.sheets
        sheets.deleted.append(known.number)
        sheets.emptied[known.number] = None
        for entry in entries:
            # What another decision of this transaction has put there must not come after its end.
            sheets.entries.pop((known.number, entry.slot), None)
        for run in known.live:
            sheets.going.pop(run.id, None)
            sheets.born.pop(run.id, None)
            for lane in run.lanes:
                sheets.left += (lane, run.id)
            self._gathered.surroundings.taken(run.lanes, -1)
            self._offered.update(run.lanes)
        self._offer_what_was_called(entries)
        del self._gathered.known[known.number]
        self._learnt[known.number] = None

    async def finish(self, link: Link) -> None:
        """Write it, offer the seats that became free to whoever waits for one, and write the records beside it."""
        folded = self._folded
        if folded is None or not folded.kept or not await link.write_at_once(folded):
            self._unfold()
            await self.sheets.write(link)
        around = self._gathered.surroundings
        if self._offered:
            await around.hold(link, self._offered)
            for lane in sorted(self._offered):
                if around.free_in(lane):
                    await link.query("unpark", lane, around.free_in(lane))
        if self.sheets.beside:
            await write_beside(link, self.sheets.beside)
