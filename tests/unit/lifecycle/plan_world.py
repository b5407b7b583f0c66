"""One plan in virtual time: the real decisions applied to its facts, event by event, without a store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from horae.lifecycle.fire import fire
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.plans.rules import PlanStatus, begin_plan, plan_status
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts, facts_after
from horae.model.entry import CLAIMABLE
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.plans.plan import (
    encode_plan,
    past_of_plan,
    policies_of,
    read_plan,
    received_at,
    schedule_of,
    skips_of,
)
from horae.model.run import Run
from horae.model.task import NEW_TASK_STATUS, Target
from horae.ports.store import DEFAULT_TERMS
from horae.testing.factories import NODE

TASK_ID = "tsk_019ca9450a0000000000000000000001"


class Answer(NamedTuple):
    """How one execution ends, and after how long."""

    is_ok: bool = True
    takes: timedelta = timedelta(milliseconds=100)


Station = Callable[[int, int], Answer]
"""(number of the occurrence that is executed, number of the attempt)"""


def always_ok(_occurrence: int, _attempt: int) -> Answer:
    return Answer()


class PlanWorld:
    """`executions` are (planned instant, start) in Unix seconds; `trace` is the status after each result."""

    def __init__(self, value: dict[str, Any], now: datetime, station: Station = always_ok) -> None:
        read, progress = read_plan(value, 1)
        self.plan = received_at(read, now)
        schedule = schedule_of(self.plan)
        past = past_of_plan(self.plan, schedule, now, progress.real_repet)
        draft = Draft(
            "ada",
            self.plan.title,
            schedule,
            Target("event", "{}"),
            encode_plan(self.plan),
            policies_of(self.plan),
            self.plan.key,
            past=past,
        )
        change = begin_plan(plan(draft, TASK_ID, now), self.plan, skips_of(self.plan, progress.skip_num), now)
        assert change.task is not None
        self.now = now
        self.ledger: dict[str, Run] = {}
        self.facts = Facts(change.task, change.status or NEW_TASK_STATUS)
        self.apply(change)
        self.station = station
        self.executions: list[tuple[int, float]] = []
        self.trace: list[PlanStatus] = []
        self._token = 0
        self._occurrence = 0

    @property
    def runs(self) -> list[Run]:
        return sorted(self.ledger.values(), key=lambda run: (run.planned, run.attempt), reverse=True)

    @property
    def status(self) -> PlanStatus:
        return plan_status(self.plan, self.facts, self.runs, self.now)

    def apply(self, change: Change) -> None:
        self.ledger.update((run.id, run) for run in (*change.new_runs, *change.updated_runs))
        self.facts = facts_after(self.facts, change)

    def run_until(self, end: datetime, most: int = 1_000) -> None:
        """Execute what is due until the end, or until the plan has ended."""
        for _ in range(most):
            due = min((entry.due for entry in self.facts.entries if entry.state in CLAIMABLE), default=None)
            ends = min((self._end_of(run) for run in self.facts.live), default=None)
            coming = [at for at in (due, ends) if at is not None]
            if not coming or min(coming) > end:
                break
            self.now = max(self.now, min(coming))
            if ends is not None and ends <= self.now:
                self.settle()
            else:
                self.claim()
        else:
            raise AssertionError("The plan has more events than expected.")

    def claim(self) -> None:
        entries = [each for each in self.facts.entries if each.state in CLAIMABLE and each.due <= self.now]
        entry = min(entries, key=lambda each: (each.due, each.slot))
        self._token += 1
        change = fire(self.facts, entry, self._token, ClaimContext(NODE, self.now, DEFAULT_TERMS.poll_ceiling))
        for run in change.new_runs:
            if run.live:
                self._occurrence += run.attempt == 1
                self.executions.append((int(run.planned.timestamp()), self.now.timestamp()))
        self.apply(change)

    def settle(self, outcome: Outcome | None = None) -> None:
        (run,) = self.facts.live
        is_ok = self.station(self._occurrence, run.attempt).is_ok
        given = outcome or (Succeeded('"done"') if is_ok else Failed("no"))
        self.apply(settle(self.facts, run, Settlement(run.id, run.token, given, run.started, self.now)))
        self.trace.append(self.status)

    def _end_of(self, run: Run) -> datetime:
        return (run.started or self.now) + self.station(self._occurrence, run.attempt).takes
