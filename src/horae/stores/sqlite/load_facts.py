"""The facts of many tasks at once, in a few statements that do not grow in number with the tasks."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from typing import Final

import apsw

from ...model.change import Change, Facts
from ...model.entry import Entry
from ..codec.rows import TASK_WIDTH, entry_from, new, run_from, standing_from, task_from
from ..task_cache import Familiar, Known
from .connection import Link, Row
from .lane_state import Surroundings
from .statements import sql

_TASKS: Final = sql("tasks")
_ENTRIES: Final = sql("entries")
_LIVE_RUNS: Final = sql("live_runs")
_BY_ID: Final = sql("number_by_id")
_BY_KEY: Final = sql("number_by_key")
_NONE_MADE: Final[frozenset[str]] = frozenset()


def these(numbers: Collection[int]) -> apsw.CArrayBinding:
    return apsw.carray(array("q", numbers))


class Gathered:
    """What belongs to the tasks of one request, kept up to date while it decides on them one after the other."""

    def __init__(self, link: Link, familiar: Familiar, versions: Mapping[int, int]) -> None:
        self._link = link
        self.known = familiar.known(versions)
        self.entries: dict[int, tuple[Entry, ...]] = {}
        self._read_now = [number for number in versions if number not in self.known]
        if self._read_now:
            self._read(self._read_now)
        self.surroundings = Surroundings(link, [known.task for known in self.known.values()])

    def _read(self, numbers: Collection[int]) -> None:
        going: list[int] = []
        for row in self._link.query(_TASKS, (these(numbers),)):
            number = row[0]
            parts = (number, row[TASK_WIDTH], task_from(row), standing_from(row, TASK_WIDTH + 1), (), ())
            self.known[number] = new(Known, parts)
            if row[-1] is not None:
                going += map(int, row[-1].split(","))
        if going:
            for row in self._link.query(_LIVE_RUNS, (these(going),)):
                known = self.known[row[2]]
                live = (*known.live, run_from(row, known.task.id))
                self.known[row[2]] = known._replace(live=live, numbers=(*known.numbers, row[0]))

    def read_entries(self, numbers: Collection[int]) -> None:
        if numbers:
            for row in self._link.query(_ENTRIES, (these(numbers),)):
                number = row[0]
                entry = entry_from(row, self.known[number].task.id)
                self.entries[number] = (*self.entries.get(number, ()), entry)

    def remember(self, familiar: Familiar) -> None:
        """For those who only read. What goes on is not kept: that a run has begun changes no version."""
        fresh = [self.known[number] for number in self._read_now]
        familiar.learn({known.number: known for known in fresh if not known.live})

    def facts(self, known: Known, entries: tuple[Entry, ...]) -> Facts:
        _, _, task, standing, live, _ = known
        around = self.surroundings
        if around.quiet and task[9] is None:
            return new(Facts, (task, standing, entries, live, (), None, _NONE_MADE))
        return Facts(task, standing, entries, live, around.lanes_of(task), around.barred(task))

    def entries_after(self, number: int, change: Change, entries: tuple[Entry, ...]) -> None:
        """What is on the agenda of a task now, for the next decision on it."""
        slots = {entry.slot: entry for entry in entries if entry.slot not in change.dropped}
        slots.update((entry.slot, entry) for entry in change.put)
        self.entries[number] = tuple([slots[slot] for slot in sorted(slots)])


def one_by_id(link: Link, task_id: str) -> Row | None:
    """Number, owner and version."""
    rows = link.query(_BY_ID, (task_id,))
    return rows[0] if rows else None


def one_by_key(link: Link, owner: str, key: str) -> Row | None:
    rows = link.query(_BY_KEY, (owner, key))
    return rows[0] if rows else None


def everything_of(link: Link, familiar: Familiar, row: Row) -> tuple[Gathered, Known, Facts]:
    """All that a decision on one task may see; the row is what `one_by_id` or `one_by_key` found."""
    number, _, version = row
    gathered = Gathered(link, familiar, {number: version})
    gathered.read_entries((number,))
    known = gathered.known[number]
    return gathered, known, gathered.facts(known, gathered.entries.get(number, ()))
