"""In-memory store that reports every claim and settle decision to a recorder, and a target that only sleeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from ..clock import Clock
from ..model.change import Change, Facts, FireDecision, SettleDecision
from ..model.entry import Entry
from ..model.outcome import Outcome, Settlement, Succeeded
from ..model.run import Run
from ..model.task import Target
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


class RecordingStore(MemoryStore):
    """Calls the recorder in the two operations that decide on tasks after their creation."""

    def __init__(self, recorder: RunRecorder) -> None:
        super().__init__()
        self._recorder = recorder

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        claimed = self._recorder.record_claim

        def record(facts: Facts, entry: Entry, token: int) -> Change:
            change = decide(facts, entry, token)
            claimed(facts, entry, change, now)
            return change

        return await super().claim_due(now, node, room, record)

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        settled = self._recorder.record_settlement

        def record(facts: Facts, run: Run, report: Settlement) -> Change:
            change = decide(facts, run, report)
            settled(facts, change, report.ended)
            return change

        return await super().settle(batch, record)


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
