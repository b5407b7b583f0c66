"""The store in memory, with somebody who sees every decision as it is made; and a target that only takes time."""

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
_SIGN_OF_LIFE: Final = 0.8


class RunRecorder(Protocol):
    def record_claim(self, facts: Facts, entry: Entry, change: Change, now: datetime) -> None:
        """An entry came due, and this was decided."""

    def record_settlement(self, facts: Facts, change: Change, now: datetime) -> None:
        """A run ended, and this was decided."""


class RecordingStore(MemoryStore):
    """All that happens to a task after it was made is decided in these two calls."""

    def __init__(self, witness: RunRecorder) -> None:
        super().__init__()
        self._recorder = witness

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        claimed = self._recorder.record_claim

        def witnessed(facts: Facts, entry: Entry, token: int) -> Change:
            change = decide(facts, entry, token)
            claimed(facts, entry, change, now)
            return change

        return await super().claim_due(now, node, room, witnessed)

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        settled = self._recorder.record_settlement

        def witnessed(facts: Facts, run: Run, report: Settlement) -> Change:
            change = decide(facts, run, report)
            settled(facts, change, report.ended)
            return change

        return await super().settle(batch, witnessed)


def make_target(number: int) -> Target:
    """In place of a task's own target: nothing real happens in a forecast."""
    return Target(KIND, str(number))


def task_number(target: Target) -> int:
    return int(target.spec)


class SleepTarget:
    """Every run takes as long as its task is said to take, gives signs of life while it does, and succeeds."""

    def __init__(self, takes: Sequence[timedelta], clock: Clock) -> None:
        self._takes = tuple(each.total_seconds() for each in takes)
        self._clock = clock

    async def execute(self, invocation: Invocation) -> Outcome:
        left = self._takes[task_number(invocation.task.target)]
        quiet = invocation.task.policies.timeout.total_seconds() * _SIGN_OF_LIFE
        while left > quiet:
            await self._clock.pause(quiet)
            invocation.heartbeat()
            left -= quiet
        if left > 0:
            await self._clock.pause(left)
        return _DONE
