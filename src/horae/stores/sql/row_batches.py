"""Rows on their way to the server: gathered one by one, written in a few large statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...errors import HoraeError, StoreError
from ...model.change import Change
from ...model.record import Writing
from ...model.refusals import refuse
from ...model.run import LIVE, Run
from ...model.task import FRESH
from ..codec.rows import Row, entry_values, event_values, run_values, standing_values, task_values
from ..counter_deltas import Counting
from .connection import Link

TASK_COLUMNS: Final = 14
STANDING_COLUMNS: Final = 14
ENTRY_COLUMNS: Final = 20
RUN_COLUMNS: Final = 27
STARTED_COLUMNS: Final = 12
ENDED_COLUMNS: Final = 8
_FRESH_VALUES: Final = standing_values(0, 1, FRESH)[2:-1]


class Sheets(Counting):
    """Values of whole rows, one after the other, as the large statements take them."""

    def __init__(self) -> None:
        super().__init__()
        self.new_tasks: list[Any] = []
        self.edited: list[Row] = []
        self.new_standings: list[Any] = []
        self.standings: dict[int, Row] = {}
        """By task: where one was changed more than once, the last one counts."""
        self.started: list[Any] = []
        """Runs that begin as nearly all of them do."""
        self.ended: list[Any] = []
        """Runs that end as nearly all of them do."""
        self.born: dict[str, Row] = {}
        """Runs that begin in any other way."""
        self.going: dict[str, Row] = {}
        """Runs that went on before, as they are now."""
        self.gone: dict[str, None] = {}
        """Runs that go on no more."""
        self.over: dict[str, Row] = {}
        """Runs for the ledger: what has ended stays so."""
        self.taken: list[Any] = []
        self.left: list[Any] = []
        self.events: list[Row] = []
        self.entries: dict[tuple[int, str], Row | None] = {}
        """By task and slot; None: it leaves the agenda."""
        self.emptied: dict[int, None] = {}
        """Tasks of which nothing is on the agenda any more, but for what is put there later."""
        self.deleted: list[int] = []
        self.beside: list[Writing] = []
        """Written last of all, when nothing else is left to be waited for."""

    def add(self, number: int, change: Change) -> None:
        """A new task, with its entries and events."""
        task = change.task
        if task is None:
            raise StoreError("Only a change that defines a task can make one; nothing was written.")
        self.new_tasks += (number, *task_values(task))
        if change.standing is FRESH and not change.born:
            self.new_standings += (number, 1, *_FRESH_VALUES)
            self.count_new(task.owner)
        else:
            standing = change.standing or FRESH
            self.new_standings += standing_values(number, 1, standing)[:-1]
            self.count(task.owner, None, change._replace(standing=standing))
        for entry in change.put:
            self.entries[number, entry.slot] = entry_values(number, entry)
        self.events += map(event_values, change.events)
        self.beside += change.beside

    def bear(self, number: int, run: Run) -> None:
        if run.state in LIVE:
            self.born[run.id] = run_values(number, run)
            for lane in run.lanes:
                self.taken += (lane, run.id)
        else:
            self.over[run.id] = run_values(number, run)

    def move(self, number: int, before: Run, run: Run) -> None:
        if run.state in LIVE:
            (self.born if run.id in self.born else self.going)[run.id] = run_values(number, run)
        else:
            self.going.pop(run.id, None)
            if self.born.pop(run.id, None) is None:
                self.gone[run.id] = None
            self.over[run.id] = run_values(number, run)
        now_in = run.lanes if run.state in LIVE else ()
        if before.lanes != now_in:
            for lane in before.lanes:
                self.left += (lane, run.id)
            for lane in now_in:
                self.taken += (lane, run.id)

    async def write(self, link: Link) -> None:
        """Events last: on some servers their numbers are given out one transaction at a time."""
        await self._write_tasks(link)
        await self._write_entries(link)
        await self._write_runs(link)
        await self._write_seats(link)
        for number in self.deleted:
            await link.query("delete_task", number)
        await self._write_counts(link)
        if self.events:
            await link.write_events(self.events)

    async def _write_tasks(self, link: Link) -> None:
        if self.new_tasks or self.edited:
            await self._refuse_clashes(link)
        if self.new_tasks:
            await link.write_rows("insert_tasks", TASK_COLUMNS, self.new_tasks)
            await link.write_rows("insert_standings", STANDING_COLUMNS, self.new_standings)
        for row in self.edited:
            await link.query("update_task", *row)
        if self.standings:
            standings = [value for row in self.standings.values() for value in row]
            await link.write_rows("put_standings", STANDING_COLUMNS, standings)

    async def _refuse_clashes(self, link: Link) -> None:
        """Names that are another task's, or were given twice. Two who write one name at the same moment meet later, at
        the index, and the one who waited there tries again."""
        values = self.new_tasks
        wanted = list(zip(*(values[place::TASK_COLUMNS] for place in (0, 1, 2, 10)), strict=True))
        wanted += [(row[13], row[0], row[1], row[9]) for row in self.edited]
        keyed = [(owner, key) for _, _, owner, key in wanted if key is not None]
        ids: dict[str, int] = dict(await link.query("numbers_by_id", [row[1] for row in wanted]))
        keys: dict[tuple[str, str], int] = {}
        if keyed:
            owners, names = map(list, zip(*keyed, strict=True))
            keys = {(owner, key): number for owner, key, number in await link.query("numbers_by_key", owners, names)}
        for number, task_id, owner, key in wanted:
            if ids.setdefault(task_id, number) != number:
                raise StoreError("A task with this id is there already; nothing was written.")
            if key is not None and keys.setdefault((owner, key), number) != number:
                raise _taken(key)

    async def _write_entries(self, link: Link) -> None:
        if self.emptied:
            await link.query("empty_agendas", list(self.emptied))
        dropped = [key for key, row in self.entries.items() if row is None]
        put = [value for row in self.entries.values() if row is not None for value in row]
        if dropped:
            await link.query("drop_entries", [task for task, _ in dropped], [slot for _, slot in dropped])
        if put:
            await link.write_rows("put_entries", ENTRY_COLUMNS, put)

    async def _write_runs(self, link: Link) -> None:
        if self.started:
            await link.write_rows("start_runs", STARTED_COLUMNS, self.started)
        if self.born:
            await link.write_rows("bear_runs", RUN_COLUMNS - 1, _flat(self.born.values()))
        if self.going:
            await link.write_rows("put_going", RUN_COLUMNS - 1, _flat(self.going.values()))
        if self.ended:
            await link.write_rows("end_runs", ENDED_COLUMNS, self.ended)
        if self.gone:
            await link.query("drop_going", list(self.gone))
        if self.over:
            await link.write_rows("insert_runs", RUN_COLUMNS, _flat(self.over.values(), stray=True))

    async def _write_seats(self, link: Link) -> None:
        if self.left:
            await link.query("leave_seats", self.left[0::2], self.left[1::2])
        if self.taken:
            await link.write_rows("take_seats", 2, self.taken)

    async def _write_counts(self, link: Link) -> None:
        rows = self.count_rows()
        if rows:
            await link.write_rows("count", 4, [value for row in rows for value in row])


def _taken(key: str) -> HoraeError:
    return refuse("key_taken", key=key)


def _flat(rows: Sequence[Row] | Any, *, stray: bool = False) -> list[Any]:
    """`run_values` end in whether the name of the run is a stray one: only the ledger asks for that."""
    return [value for row in rows for value in (row if stray else row[:-1])]
