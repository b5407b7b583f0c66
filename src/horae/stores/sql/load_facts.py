"""The facts of many tasks at once, in a few statements that do not grow in number with the tasks.

Whoever decides holds the standings of the tasks first and reads all else after that: a statement that had to wait for a
row may otherwise see the rest as it was before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from ...model.change import Change, Facts
from ...model.entry import Entry, Stand
from ...model.route import is_route
from ..codec.rows import TASK_WIDTH, Row, entry_from, new, run_from, standing_from, task_from
from ..task_cache import Familiar, Known
from .connection import Link
from .lane_state import Surroundings

_NONE_MADE: Final[frozenset[str]] = frozenset()


class Gathered:
    """What belongs to the tasks of one transaction, kept up to date while it decides on them one after the other."""

    def __init__(self, familiar: Familiar, versions: Mapping[int, int]) -> None:
        self.versions = versions
        self.known = familiar.known(versions)
        self.entries: dict[int, tuple[Entry, ...]] = {}
        self.queued: dict[int, int] = {}
        """How many agenda entries those tasks have that had to be read."""
        self.surroundings = Surroundings()

    async def read_tasks(self, link: Link) -> None:
        """Those that are not known at the version that they have now."""
        numbers = [number for number in self.versions if number not in self.known]
        if not numbers:
            return
        going: list[int] = []
        for row in await link.query("tasks", numbers):
            number, (going_on, queued) = row[0], row[-2:]
            parts = (number, row[TASK_WIDTH], task_from(row), standing_from(row, TASK_WIDTH + 1), (), ())
            self.known[number] = new(Known, parts)
            self.queued[number] = queued
            if going_on:
                going.append(number)
        if going:
            await self._read_runs(link, going)

    async def _read_runs(self, link: Link, numbers: list[int]) -> None:
        for row in await link.query("live_runs", numbers):
            known = self.known[row[2]]
            live = (*known.live, run_from(row, known.task.id))
            self.known[row[2]] = known._replace(live=live, numbers=(0,) * len(live))

    async def read_entries(self, link: Link, numbers: Collection[int]) -> None:
        if numbers:
            for row in await link.query("entries", list(numbers)):
                number = row[0]
                entry = entry_from(row, self.known[number].task.id)
                self.entries[number] = (*self.entries.get(number, ()), entry)

    async def read_surroundings(self, link: Link, *, alone: bool = False) -> None:
        tasks = [known.task for known in self.known.values()]
        lanes = {lane for known in self.known.values() for run in known.live for lane in run.lanes}
        lanes.update(self._waited_for())
        await self.surroundings.read(link, tasks, lanes, alone=alone)
        await self._read_again(link)

    async def _read_again(self, link: Link) -> None:
        """Whoever held a lane before us may have called one of these to a free seat: put back as it was, it would wait
        for ever, and the seat stay empty."""
        parked = [number for number, entries in self.entries.items() if any(map(_waits_for_a_seat, entries))]
        for number in parked:
            del self.entries[number]
        await self.read_entries(link, parked)

    def _waited_for(self) -> Iterable[str]:
        """Lanes for which something of these tasks waits, or waited; doors have no seats."""
        for entries in self.entries.values():
            for entry in entries:
                if entry.lane is not None and not is_route(entry.lane):
                    yield entry.lane

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


def _waits_for_a_seat(entry: Entry) -> bool:
    return entry.stand is Stand.PARKED and entry.lane is not None and not is_route(entry.lane)


async def everything_of(link: Link, familiar: Familiar, number: int, version: int) -> tuple[Gathered, Known, Facts]:
    """All that a decision on one task may see."""
    gathered = Gathered(familiar, {number: version})
    await gathered.read_tasks(link)
    await gathered.read_entries(link, (number,))
    await gathered.read_surroundings(link)
    known = gathered.known[number]
    return gathered, known, gathered.facts(known, gathered.entries.get(number, ()))


async def one_by_id(link: Link, task_id: str) -> Row | None:
    """Number and owner."""
    rows = await link.query("number_by_id", task_id)
    return rows[0] if rows else None


async def held(link: Link, number: int) -> int | None:
    """The version of a task that nobody else changes until the transaction ends; None when it is gone."""
    rows = await link.query("hold", [number])
    return rows[0][1] if rows else None
