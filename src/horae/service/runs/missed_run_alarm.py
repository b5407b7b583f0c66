"""Alarm for missed runs: an event for each occurrence that did not start within a grace period, even without an engine."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...errors import Conflict
from ...lifecycle.event_rows import task_event
from ...model.change import NOTHING, Change, Facts
from ...model.entry import CLAIMABLE, Entry, EntryKind, EntryState
from ...model.events.event import EventKind
from ...model.ids import occurrence_key
from ...model.lanes.route import is_route
from ...model.page import MAX_PAGE_SIZE
from ...model.record import Record, RecordWrite
from ...model.task import TaskState
from ...ports.full_store import FullStore
from ...ports.store import TaskFilter
from ...store_retry import StoreRetry, repeat_with_backoff

KIND: Final = "overdue"
REPORT_RETENTION: Final = timedelta(days=7)
"""Retention of the record that an occurrence was reported."""
CHECK_SECONDS: Final = 5.0
"""Seconds between two checks while an entry is late, or will be soon."""
LONGEST_CHECK_SECONDS: Final = 60.0
MAX_BATCH: Final = 100
_MAX_REPORTED: Final = 20_000
_START_KINDS: Final = frozenset({EntryKind.NEXT, EntryKind.WAITING, EntryKind.RETRY, EntryKind.MANUAL, EntryKind.CHAIN})
_ACTIVE_TASKS: Final = TaskFilter(states=frozenset({TaskState.ACTIVE}))


class LateOccurrence(NamedTuple):
    """One occurrence that should have started."""

    task_id: str
    key: str
    due: datetime


class MissedRunAlarm:
    """Several processes may check at once: a record lets only the first one report."""

    def __init__(self, store: FullStore, clock: Clock, grace: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._grace = grace
        self.pause = _shortest_pause(grace)
        """Seconds until the next check can find an occurrence that this one has not found."""
        self._reported: OrderedDict[str, None] = OrderedDict()
        self._after: str | None = None
        """Cursor among all tasks, if more are overdue than one check shows."""

    async def step(self) -> int:
        """Check the head of the agenda once; return how many occurrences were reported."""
        now = self._clock.now()
        reported = 0
        candidates = await self._load_candidates(now)
        for late in self._find_late(candidates, now):
            reported += await self._report(late, now)
            if reported == MAX_BATCH:
                break
        self.pause = self._pause_after(candidates, now)
        return reported

    def _pause_after(self, candidates: Iterable[Facts], now: datetime) -> float:
        """Return the seconds until the first of these entries can be late.

        What is added meanwhile is late a grace after that at the earliest, so no pause is longer.
        """
        first = min((each.due for facts in candidates for each in facts.entries), default=now)
        late = first + self._grace - now
        longest = min(self._grace, timedelta(seconds=LONGEST_CHECK_SECONDS))
        return max(_shortest_pause(self._grace), min(late, longest).total_seconds())

    async def _load_candidates(self, now: datetime) -> list[Facts]:
        """Return the tasks that come due next, and those that wait for a node that can run them."""
        heads = await self._store.upcoming(None, MAX_PAGE_SIZE if self._after is not None else MAX_BATCH)
        candidates = [*heads, *await self._store.stranded(None, now, MAX_BATCH)]
        has_many = len(heads) >= MAX_BATCH and next(iter(self._find_late(heads[-1:], now)), None) is not None
        if has_many or self._after is not None:
            page = await self._store.tasks(_ACTIVE_TASKS, self._after or None, MAX_PAGE_SIZE)
            self._after = (page.after or "") if has_many else page.after
            candidates += page.items
        return candidates

    def _find_late(self, tasks: Iterable[Facts], now: datetime) -> Iterable[LateOccurrence]:
        for facts in tasks:
            entry = min((each for each in facts.entries if self._is_late(each, now)), key=_due, default=None)
            if entry is not None:
                key = occurrence_key(facts.task.id, entry.origin, entry.planned)
                yield LateOccurrence(facts.task.id, key, entry.due)

    def _is_late(self, entry: Entry, now: datetime) -> bool:
        """Whether an entry should have started. Waiting for a lane slot, or for another run to end, is by the rules."""
        is_waiting = entry.state in CLAIMABLE or (entry.state is EntryState.PARKED and is_route(entry.lane))
        return is_waiting and entry.kind in _START_KINDS and now - entry.due > self._grace

    async def _report(self, late: LateOccurrence, now: datetime) -> bool:
        if late.key in self._reported or await self._store.get_record(KIND, late.key) is not None:
            self._mark_reported(late.key)
            return False
        is_late = False

        def decide(facts: Facts) -> Change:
            nonlocal is_late
            is_late = any(each.key == late.key for each in self._find_late([facts], now))
            if not is_late:
                return NOTHING  # it has started meanwhile
            event = task_event(EventKind.TASK_OVERDUE, facts.task, now, late.due.isoformat())
            body = json.dumps({"task": facts.task.id, "due": late.due.isoformat()})
            return Change(
                events=(event,),
                attached=(RecordWrite(Record(KIND, late.key, facts.task.owner, body, expires=now + REPORT_RETENTION)),),
            )

        try:
            await self._store.change(late.task_id, None, decide)
        except Conflict:
            is_late = False  # another process has reported it
        self._mark_reported(late.key)
        return is_late

    def _mark_reported(self, key: str) -> None:
        self._reported[key] = None
        self._reported.move_to_end(key)
        if len(self._reported) > _MAX_REPORTED:
            self._reported.popitem(last=False)


async def run_missed_run_alarm(store: FullStore, clock: Clock, grace: timedelta) -> None:
    """Check periodically until cancelled; waits out an outage of the store."""
    overdue = MissedRunAlarm(store, clock, grace)

    async def step() -> float:
        await overdue.step()
        return overdue.pause

    await repeat_with_backoff(step, StoreRetry("alarm for missed runs", clock), clock)


def _shortest_pause(grace: timedelta) -> float:
    return min(CHECK_SECONDS, max(0.1, grace.total_seconds() / 4))


def _due(entry: Entry) -> datetime:
    return entry.due
