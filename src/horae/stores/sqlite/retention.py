"""What may be forgotten, in small batches: never anything that is live, queued or still to come.

Readers look for it, so that the writer has only to remove what was found. What has ended stays so, but a task may have
been woken up meanwhile: it is looked at again before it goes.

What is too old is found by its instants. Only a task of which something was told can have more runs than are kept, so
after the first time only those are counted; while nothing happens, one statement sees that there is nothing to do.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final, NamedTuple

from ...model.counts import NO_HOUR, STATE
from ...model.ids import microseconds
from ...ports.store import Trimmed
from ..codec.json_codecs import decode
from ..retention_cursor import Place
from .connection import Link, Row
from .lane_state import named
from .load_facts import these
from .readers import Readers
from .row_batches import write_counts
from .statements import sql

_OLD: Final = sql("old")
_CROWDED: Final = sql("crowded")
_CROWDED_OF_LATE: Final = sql("crowded_of_late")
_RECENT: Final = sql("recent")
_SURPLUS: Final = sql("surplus")
_DROP_RUN: Final = sql("drop_run")
_DROP_LINES: Final = sql("drop_lines")
_COUNT_REMOVED_EVENTS: Final = sql("count_removed_events")
_DROP_EVENTS: Final = sql("drop_events")
_OVER: Final = sql("still_over")
_DELETE_STANDING: Final = sql("delete_standing")
_DELETE_TASK: Final = sql("delete_task")

_EVENTS_AT_ONCE: Final = 1_000
_TASKS_AT_ONCE: Final = 16


class Found(NamedTuple):
    """`runs` by number and id, `tasks` by number, `events` up to a number, and whether there may be more of them."""

    runs: tuple[Row, ...]
    tasks: tuple[int, ...]
    events: int
    place: Place
    more: bool

    @property
    def anything(self) -> bool:
        return bool(self.runs or self.tasks or self.events)


class Search:
    """One batch: at most `limit` rows are found."""

    def __init__(self, readers: Readers, before: datetime, keep_runs: int, limit: int) -> None:
        self._readers = readers
        self._before = microseconds(before)
        self._keep_runs = keep_runs
        self._limit = max(1, limit)

    async def look(self, after: str | None) -> Found:
        found = await self._readers.ask(_OLD, {"before": self._before, "limit": self._limit})
        runs, tasks, events, last = (*map(decode, found[0][:3]), found[0][3])
        place = Place(last, 0) if after is None else Place.parsed(after)
        if runs or tasks or events:
            events = events[: max(0, self._limit - len(runs) - len(tasks))]
            tasks = tasks[: max(0, self._limit - len(runs))]
            return Found(tuple(map(tuple, runs)), tuple(tasks), max(events, default=0), place, more=True)
        if place == Place(last):
            return Found((), (), 0, place, more=False)
        return await self._readers.do_at_length(lambda link: self._count(link, place, last))

    def _count(self, link: Link, place: Place, last: int) -> Found:
        """All but the newest runs of those tasks that have more than are kept."""
        crowded, following = self._crowded(link, place, last)
        runs: list[Row] = []
        for task in crowded:
            left = self._limit - len(runs)
            surplus = link.query(_SURPLUS, {"task": task, "keep": self._keep_runs, "limit": left + 1})
            runs += surplus[:left]
            if len(surplus) > left:
                return Found(tuple(runs), (), 0, place, more=True)
        return Found(tuple(runs), (), 0, following, more=following != Place(last))

    def _crowded(self, link: Link, place: Place, last: int) -> tuple[list[int], Place]:
        """The next tasks with too many runs, and how far that is."""
        if place.task is None:
            until = link.query(_RECENT, {"told": place.told, "most": _EVENTS_AT_ONCE, "last": last})[0][0]
            bindings = {"told": place.told, "until": until, "keep": self._keep_runs}
            return [task for (task,) in link.query(_CROWDED_OF_LATE, bindings)], Place(until)
        bindings = {"after": place.task, "keep": self._keep_runs, "limit": _TASKS_AT_ONCE}
        tasks = [task for (task,) in link.query(_CROWDED, bindings)]
        return tasks, Place(place.told, tasks[-1] if len(tasks) == _TASKS_AT_ONCE else None)


def remove(link: Link, found: Found, before: datetime) -> Trimmed:
    runs = 0
    if found.runs:
        link.query(_DROP_LINES, (named([run_id for _, run_id in found.runs]),))
        for run in found.runs:
            link.query(_DROP_RUN, run)
            runs += link.changed
    over = link.query(_OVER, (these(found.tasks), microseconds(before))) if found.tasks else []
    gone: Counter[tuple[str, int, str]] = Counter()
    for task, state, owner in over:
        link.query(_DELETE_STANDING, (task,))
        link.query(_DELETE_TASK, (task,))
        gone[owner, NO_HOUR, STATE + state] -= 1
    write_counts(link, gone)
    events = 0
    if found.events:
        link.query(_COUNT_REMOVED_EVENTS, (found.events,))
        link.query(_DROP_EVENTS, (found.events,))
        events = link.changed
    return Trimmed(runs, len(over), events, found.more, found.place.text)
