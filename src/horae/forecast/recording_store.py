"""In-memory store that reports every claim and settle decision to a recorder, and a target that only sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Final, Protocol

from ..clock import Clock
from ..model.change import Change, Facts, FireDecision, SettleDecision
from ..model.entry import Entry
from ..model.outcome import Outcome, Settlement, Succeeded
from ..model.run import Run
from ..model.task import Target, Task
from ..ports.store import Claim
from ..ports.target import Invocation
from ..stores.memory import MemoryStore

KIND: Final = "forecast"
_DONE: Final = Succeeded()
_HEARTBEAT_SHARE: Final = 0.8


class RunRecorder(Protocol):
    def record_claim(self, facts: Facts, entry: Entry, change: Change, now: datetime) -> None:
        """Called with the decision on a due entry."""

    def record_settlement(self, facts: Facts, change: Change, now: datetime) -> None:
        """Called with the decision on an ended run."""

    def record_link(self, task: Task, change: Change) -> None:
        """Called with what the end of a run meant for a task that runs after it."""


class RecordingStore(MemoryStore):
    """Calls the recorder in the two operations that decide on tasks after their creation.

    A run that ends at an instant is settled before the entries due at that instant are claimed, so it overlaps none of them.
    """

    def __init__(self, recorder: RunRecorder, takes: Sequence[timedelta]) -> None:
        super().__init__()
        self._recorder = recorder
        self._takes = takes
        self._live: set[str] = set()
        self._ends: list[tuple[datetime, str]] = []
        """Heap of the ends of runs, also of some that were settled earlier."""
        self._settled = asyncio.Event()
        self.observe_links(self._record_links)

    def _record_links(self, changes: Sequence[Change]) -> None:
        for change in changes:
            for task_id in {run.task_id for run in change.new_runs}:
                facts = self._data.facts(task_id, lanes=False)
                if facts is not None:
                    self._recorder.record_link(facts.task, change)

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await super().claim_due(now, node, room, await self._record_claims(now, decide))

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        return await super().claim_queued(now, node, room, await self._record_claims(now, decide), queues)

    async def _record_claims(self, now: datetime, decide: FireDecision) -> FireDecision:
        """Return the decision of a claim that is recorded, when all runs that end by `now` are settled."""
        claimed = self._recorder.record_claim

        def record(facts: Facts, entry: Entry, token: int) -> Change:
            change = decide(facts, entry, token)
            claimed(facts, entry, change, now)
            for run in change.new_runs:
                if run.live:
                    self._expect_end(facts, run, now)
            return change

        while self._has_unsettled(now):
            self._settled.clear()
            await self._settled.wait()
        return record

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        settled = self._recorder.record_settlement

        def record(facts: Facts, run: Run, report: Settlement) -> Change:
            change = decide(facts, run, report)
            settled(facts, change, report.ended)
            return change

        stale = await super().settle(batch, record)
        self._live.difference_update(settlement.run_id for settlement in batch)
        self._settled.set()
        return stale

    def _expect_end(self, facts: Facts, run: Run, now: datetime) -> None:
        takes, most = self._takes[task_number(facts.task.target)], facts.task.policies.max_duration
        self._live.add(run.id)
        heappush(self._ends, (now + (takes if most is None else min(takes, most)), run.id))

    def _has_unsettled(self, now: datetime) -> bool:
        """Return whether a run that ends until now is not settled yet."""
        while self._ends and self._ends[0][1] not in self._live:
            heappop(self._ends)
        return bool(self._ends) and self._ends[0][0] <= now


def make_target(number: int) -> Target:
    """Replacement for a task's own target: a forecast calls nothing real."""
    return Target(KIND, str(number))


def task_number(target: Target) -> int:
    return int(target.spec)


class SleepTarget:
    """Sleeps for the duration of the task, sends heartbeats meanwhile, and succeeds."""

    def __init__(self, takes: Sequence[timedelta], clock: Clock) -> None:
        self._takes = tuple(each.total_seconds() for each in takes)
        self._clock = clock

    async def execute(self, invocation: Invocation) -> Outcome:
        left = self._takes[task_number(invocation.task.target)]
        quiet = invocation.task.policies.timeout.total_seconds() * _HEARTBEAT_SHARE
        while left > quiet:
            await self._clock.pause(quiet)
            invocation.heartbeat()
            left -= quiet
        if left > 0:
            await self._clock.pause(left)
        return _DONE
