"""The missed-run alarm: what was due and has not started within a grace is told of, also while no engine lives."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...errors import Conflict
from ...lifecycle.event_rows import task_event
from ...model.change import NOTHING, Change, Facts
from ...model.entry import CLAIMABLE, Entry, EntryKind, Stand
from ...model.events.event import EventKind
from ...model.ids import occurrence_key
from ...model.page import LARGEST_PAGE
from ...model.record import Record, Writing
from ...model.route import is_route
from ...model.task import TaskState
from ...ports.records import Records
from ...ports.store import Book, TaskFilter
from ...store_retry import StoreRetry, repeat

KIND: Final = "overdue"
KEPT: Final = timedelta(days=7)
"""How long it is remembered that an occurrence was told of."""
LOOK_SECONDS: Final = 5.0
MOST_AT_ONCE: Final = 100
_REMEMBERED: Final = 20_000
_STARTS: Final = frozenset({EntryKind.NEXT, EntryKind.WAITING, EntryKind.RETRY, EntryKind.MANUAL})
_ACTIVE: Final = TaskFilter(states=frozenset({TaskState.ACTIVE}))


class Keeping(Book, Records, Protocol):
    """What is asked of the store."""


class Late(NamedTuple):
    """One occurrence that should have started."""

    task_id: str
    key: str
    due: datetime


class Overdue:
    """Many processes may look at once: the first one tells."""

    def __init__(self, store: Keeping, clock: Clock, grace: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._grace = grace
        self._told: OrderedDict[str, None] = OrderedDict()
        self._after: str | None = None
        """Where to go on among all tasks, when more are overdue than one look shows."""

    async def step(self) -> int:
        """One look at the head of the agenda; of how many occurrences it told."""
        now = self._clock.now()
        told = 0
        for late in self._late(await self._seen(now), now):
            told += await self._tell(late, now)
            if told == MOST_AT_ONCE:
                break
        return told

    async def _seen(self, now: datetime) -> list[Facts]:
        """Those that come due next, and those that wait for a node that can run them."""
        heads = await self._store.upcoming(None, LARGEST_PAGE if self._after is not None else MOST_AT_ONCE)
        seen = [*heads, *await self._store.stranded(None, MOST_AT_ONCE)]
        many = len(heads) >= MOST_AT_ONCE and next(iter(self._late(heads[-1:], now)), None) is not None
        if many or self._after is not None:
            page = await self._store.tasks(_ACTIVE, self._after or None, LARGEST_PAGE)
            self._after = (page.after or "") if many else page.after
            seen += page.items
        return seen

    def _late(self, seen: Iterable[Facts], now: datetime) -> Iterable[Late]:
        for facts in seen:
            found = min((each for each in facts.entries if self._is_late(each, now)), key=_due, default=None)
            if found is not None:
                key = occurrence_key(facts.task.id, found.origin, found.planned)
                yield Late(facts.task.id, key, found.due)

    def _is_late(self, entry: Entry, now: datetime) -> bool:
        """Whoever waits for a seat in a lane, or for another run to end, does so by the rules, and is not late."""
        waits = entry.stand in CLAIMABLE or (entry.stand is Stand.PARKED and is_route(entry.lane))
        return waits and entry.kind in _STARTS and now - entry.due > self._grace

    async def _tell(self, late: Late, now: datetime) -> bool:
        if late.key in self._told or await self._store.get_record(KIND, late.key) is not None:
            self._remember(late.key)
            return False
        is_late = False

        def decide(facts: Facts) -> Change:
            nonlocal is_late
            is_late = any(each.key == late.key for each in self._late([facts], now))
            if not is_late:
                return NOTHING  # it has started meanwhile
            told = task_event(EventKind.TASK_OVERDUE, facts.task, now, late.due.isoformat())
            body = json.dumps({"task": facts.task.id, "due": late.due.isoformat()})
            return Change(
                events=(told,), beside=(Writing(Record(KIND, late.key, facts.task.owner, body, expires=now + KEPT)),)
            )

        try:
            await self._store.change(late.task_id, None, decide)
        except Conflict:
            is_late = False  # another process was faster, and has told of it
        self._remember(late.key)
        return is_late

    def _remember(self, key: str) -> None:
        self._told[key] = None
        self._told.move_to_end(key)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)


async def watch_overdue(store: Keeping, clock: Clock, grace: timedelta) -> None:
    """Looks on and on; an outage of the store is waited out."""
    overdue = Overdue(store, clock, grace)
    pause = min(LOOK_SECONDS, max(0.1, grace.total_seconds() / 4))

    async def step() -> float:
        await overdue.step()
        return pause

    await repeat(step, StoreRetry("alarm for missed runs", clock), clock)


def _due(entry: Entry) -> datetime:
    return entry.due
