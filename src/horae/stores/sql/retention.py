"""What may be forgotten, in small batches: never anything that is live, queued or still to come.

One look finds it, and a transaction removes what was found. What has ended stays so, but a task may have been woken up
meanwhile: it is held and looked at again before it goes.

What is too old is found by its instants. Only a task of which something was told can have more runs than are kept, so
after the first time only those are counted; while nothing happens, one statement sees that there is nothing to do.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...model.counts import NO_HOUR, STATE
from ...model.ids import microseconds
from ...ports.store import Trimmed
from ..codec.json_codecs import decode
from ..retention_cursor import Place
from .connection import Link
from .transactions import Session

_EVENTS_AT_ONCE: Final = 1_000
_TASKS_AT_ONCE: Final = 16
_TASKS_PASSED_BY: Final = 5_000


class Found(NamedTuple):
    """`runs` by task, planned, attempt, origin and id, `tasks` by number, `events` up to a number; and whether there may
    be more."""

    runs: list[list[Any]]
    tasks: list[int]
    events: int
    place: Place
    more: bool
    counted: bool = False
    """Whether there are counts to be summed up."""

    @property
    def anything(self) -> bool:
        return bool(self.runs or self.tasks or self.events)


class Search:
    """One batch: at most `limit` rows are found."""

    def __init__(self, session: Session, before: datetime, keep_runs: int, limit: int) -> None:
        self._session = session
        self._before = microseconds(before)
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def look(self, after: str | None) -> Found:
        row = (await self._session.ask("old", self._before, self._limit))[0]
        runs, tasks, events = (decode(text or "[]") for text in row[:3])
        last, counted = row[3], bool(row[4])
        place = Place(last, 0) if after is None else Place.parsed(after)
        if runs or tasks or events:
            events = events[: max(0, self._limit - len(runs) - len(tasks))]
            tasks = tasks[: max(0, self._limit - len(runs))]
            return Found(runs, tasks, max(events, default=0), place, more=True, counted=counted)
        if place == Place(last):
            return Found([], [], 0, place, more=False, counted=counted)
        found = await self._session.read(lambda link: self._count(link, place, last))
        return found._replace(counted=counted)

    async def _count(self, link: Link, place: Place, last: int) -> Found:
        """All but the newest runs of those tasks that have more than are kept."""
        crowded, following = await self._crowded(link, place, last)
        runs: list[list[Any]] = []
        for task in crowded:
            left = self._limit - len(runs)
            surplus = [list(row) for row in await link.query("surplus", task, self._keep_runs, left + 1)]
            runs += surplus[:left]
            if len(surplus) > left:
                return Found(runs, [], 0, place, more=True)
        return Found(runs, [], 0, following, more=following != Place(last))

    async def _crowded(self, link: Link, place: Place, last: int) -> tuple[list[int], Place]:
        """The next tasks with too many runs, and how far that is."""
        if place.task is None:
            until = (await link.query("recent", place.told, _EVENTS_AT_ONCE, last))[0][0]
            rows = await link.query("crowded_of_late", place.told, until, self._keep_runs)
            return [task for (task,) in rows], Place(until)
        return await self._crowded_of_all(link, place.told, place.task)

    async def _crowded_of_all(self, link: Link, told: int, after: int) -> tuple[list[int], Place]:
        until = after + _TASKS_PASSED_BY
        rows = await link.query("crowded", after, self._keep_runs, _TASKS_AT_ONCE, until)
        tasks = [task for (task,) in rows]
        if len(tasks) == _TASKS_AT_ONCE:
            return tasks, Place(told, tasks[-1])
        (highest,) = (await link.query("highest_task"))[0]
        return tasks, Place(told, until if until < highest else None)


async def remove(link: Link, found: Found, before: datetime) -> Trimmed:
    runs = 0
    if found.runs:
        await link.query("drop_lines", [row[4] for row in found.runs])
        columns = [list(column) for column in zip(*found.runs, strict=True)]
        runs = len(await link.query("drop_runs", *columns[:4]))
    over: list[Any] = []
    if found.tasks:
        await link.query("hold", sorted(found.tasks))
        over = await link.query("still_over", found.tasks, microseconds(before))
    gone: Counter[tuple[str, str]] = Counter()
    for task, state, owner in over:
        await link.query("delete_task", task)
        gone[owner, state] -= 1
    if gone:
        rows = [value for (owner, state), number in gone.items() for value in (owner, NO_HOUR, STATE + state, number)]
        await link.write_rows("count", 4, rows)
    events = len(await link.query("drop_events", found.events)) if found.events else 0
    return Trimmed(runs, len(over), events, found.more, found.place.text)
