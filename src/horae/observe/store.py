"""Store wrapper for metrics: times each call, and counts starts, ends and lease losses once they are committed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from threading import Lock
from typing import Any, Final, TypeVar, cast

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.batch import ClaimDecision, SettlementDecision
from ..lifecycle.fast_path import StartClass
from ..model.change import (
    Change,
    ControlDecision,
    Facts,
    FireDecision,
    RunDecision,
    SettleDecision,
    Start,
    Success,
)
from ..model.entry import Entry
from ..model.outcome import Settlement
from ..model.policy import Policies
from ..model.run import Run, RunState
from ..model.task import Target, Task, TaskStatus
from ..ports.full_store import FullStore
from ..ports.store import Claim, LeaseRenewal, Node, Terms
from . import metric_definitions
from .counters import MetricSet

_T = TypeVar("_T")

OPERATIONS: Final = frozenset(
    name for name, each in inspect.getmembers(FullStore, inspect.iscoroutinefunction) if not name.startswith("_")
)
_SUCCEEDED: Final = (RunState.SUCCEEDED.value, "")
_UNTIMED: Final = frozenset({"open", "close"})


def observe_store(store: FullStore, figures: MetricSet, clock: Clock, terms: Terms) -> FullStore:
    """Wrap the store; the wrapper behaves like the store itself."""
    return cast(FullStore, _ObservedStore(store, figures, clock, terms))


class _ObservedClaim(ClaimDecision):
    """Records the changes of single decisions; an ordinary start ends nothing, so that nothing of it is recorded."""

    def __init__(self, decide: ClaimDecision, recording: FireDecision, changes: dict[str, Change]) -> None:
        super().__init__(decide.claim, recording)
        self._decide_class = decide
        self._changes = changes

    def start_class(
        self, owner: str, target: Target, policies: Policies, entry: Entry, token: int
    ) -> StartClass | None:
        return self._decide_class.start_class(owner, target, policies, entry, token)

    def start_member(
        self, found: StartClass, task: Task, status: TaskStatus, planned: datetime, due: datetime
    ) -> Start | None:
        start = self._decide_class.start_member(found, task, status, planned, due)
        if start is not None and self._changes:
            # A store may decide again after a conflict: the last decision counts.
            self._changes.pop(task.id, None)
        return start


class _ObservedSettlement(SettlementDecision):
    """Records the changes of single decisions, and the ordinary successes by run id."""

    def __init__(self, decide: SettlementDecision, recording: SettleDecision, changes: dict[str, Change]) -> None:
        super().__init__(recording)
        self._decide_success = decide
        self._changes = changes
        self.successes: dict[str, Success] = {}

    def __call__(self, facts: Facts, run: Run, report: Settlement) -> Change:
        self.successes.pop(run.id, None)
        return super().__call__(facts, run, report)

    def success(
        self,
        task: Task,
        status: TaskStatus,
        entries: tuple[Entry, ...],
        live: tuple[Run, ...],
        run: Run,
        report: Settlement,
    ) -> Success | None:
        success = self._decide_success.success(task, status, entries, live, run, report)
        if success is not None:
            self.successes[run.id] = success
            self._changes.pop(run.id, None)
        return success


class _ObservedStore:
    def __init__(self, store: FullStore, figures: MetricSet, clock: Clock, terms: Terms) -> None:
        self._store = store
        self._clock = clock
        self._steady = clock.steady
        self._self_stop = terms.self_stop.total_seconds()
        self._calls = figures.histogram(metric_definitions.STORE_CALLS)
        self._errors = figures.counter(metric_definitions.STORE_ERRORS)
        self._starts = figures.counter(metric_definitions.STARTS)
        self._late = figures.histogram(metric_definitions.RUN_LATENESS)
        self._settlement_delay = figures.histogram(metric_definitions.SETTLEMENT_DELAY)
        self._length = figures.histogram(metric_definitions.RUN_DURATION)
        self._outcomes = figures.counter(metric_definitions.OUTCOMES)
        self._skipped = figures.counter(metric_definitions.SKIPPED)
        self._losses = figures.counter(metric_definitions.LEASE_LOSSES)
        self._takeovers = figures.counter(metric_definitions.TAKEOVERS)
        self._recovered = figures.counter(metric_definitions.RECOVERED)
        self._lock = Lock()
        self._renewed_at: dict[str, float] = {}
        self._claimed: dict[str, Run] = {}
        """Runs with `at_most_once` between their claim and their start, or their end if a gate was closed."""
        store.observe_links(self._count_ended)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if name not in OPERATIONS or name in _UNTIMED:
            return attribute
        labels, steady, calls, errors = (name,), self._steady, self._calls, self._errors

        async def timed(*arguments: Any, **named: Any) -> Any:
            # As `_timed`, without one more coroutine: this is called often.
            started = steady()
            try:
                return await attribute(*arguments, **named)
            except StoreError:
                errors.add(labels)
                raise
            finally:
                calls.add(steady() - started, labels)

        self.__dict__[name] = timed
        return timed

    async def _timed(self, labels: tuple[str], call: Awaitable[_T]) -> _T:
        started = self._steady()
        try:
            return await call
        except StoreError:
            self._errors.add(labels)
            raise
        finally:
            self._calls.add(self._steady() - started, labels)

    # --- claims and starts ---------------------------------------------------------------------------------------------

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        return await self._claim("claim_due", now, decide, lambda rule: self._store.claim_due(now, node, room, rule))

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        return await self._claim(
            "claim_queued", now, decide, lambda rule: self._store.claim_queued(now, node, room, rule, queues)
        )

    async def _claim(
        self, name: str, now: datetime, decide: FireDecision, claim_with: Callable[[FireDecision], Awaitable[Claim]]
    ) -> Claim:
        changes: dict[str, Change] = {}

        def recording(facts: Facts, entry: Entry, token: int) -> Change:
            # A store may decide again after a conflict: the last decision counts.
            change = changes[facts.task.id] = decide(facts, entry, token)
            return change

        called = self._steady()
        rule = _ObservedClaim(decide, recording, changes) if isinstance(decide, ClaimDecision) else recording
        claim = await self._timed((name,), claim_with(rule))
        if claim.runs:
            at = now + timedelta(seconds=self._steady() - called)
            for _, run in claim.runs:
                if run.state is RunState.CLAIMED:
                    self._claimed[run.id] = run
                else:
                    self._count_start(run, at)
        self._count_ended(changes.values())
        return claim

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        called = self._steady()
        try:
            started = await self._timed(("start",), self._store.start(claims, now))
            at = now + timedelta(seconds=self._steady() - called)
            for run_id in started:
                if (run := self._claimed.get(run_id)) is not None:
                    self._count_start(run, at)
        finally:
            for run_id, _ in claims:
                self._claimed.pop(run_id, None)
        return started

    def _count_start(self, run: Run, at: datetime) -> None:
        self._starts.add((run.origin.value,))
        self._late.add((at - run.due).total_seconds())

    # --- ends of runs --------------------------------------------------------------------------------------------------

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        changes: dict[str, Change] = {}

        def recording(facts: Facts, run: Run, report: Settlement) -> Change:
            change = changes[run.id] = decide(facts, run, report)
            return change

        rule = _ObservedSettlement(decide, recording, changes) if isinstance(decide, SettlementDecision) else recording
        stale = await self._timed(("settle",), self._store.settle(batch, rule))
        recorded = self._clock.now()
        for report in batch:
            self._claimed.pop(report.run_id, None)
            if report.run_id not in stale:
                self._settlement_delay.add((recorded - report.ended).total_seconds())
        self._count_ended(change for run_id, change in changes.items() if run_id not in stale)
        if isinstance(rule, _ObservedSettlement):
            self._count_successes(success for run_id, success in rule.successes.items() if run_id not in stale)
        return stale

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        for run_id, _ in claims:
            self._claimed.pop(run_id, None)
        changes, recording = _record_changes(decide)
        stale = await self._timed(("release",), self._store.release(claims, recording))
        self._count_ended(change for run_id, change in changes.items() if run_id not in stale)
        return stale

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        changes, recording = _record_changes(decide)
        recovered = await self._timed(("recover",), self._store.recover(node, renewals, recording, limit))
        if recovered is not None:
            self._recovered.add(by=recovered)
            self._count_ended(changes.values())
            if recovered < limit:
                self._takeovers.add()
        return recovered

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        last: list[Change] = []

        def recording(facts: Facts) -> Change:
            last[:] = [decide(facts)]
            return last[0]

        facts = await self._timed(("change",), self._store.change(task_id, owner, recording))
        if facts is not None:
            self._count_ended(last)
        return facts

    def _count_ended(self, changes: Iterable[Change]) -> None:
        # The lease keeper recovers in a thread of its own.
        with self._lock:
            for change in changes:
                for run in chain(change.new_runs, change.updated_runs):
                    if not run.live:
                        self._count_end(run)

    def _count_successes(self, successes: Iterable[Success]) -> None:
        with self._lock:
            for started, ended, _, _ in successes:
                self._outcomes.add(_SUCCEEDED)
                if started is not None:
                    self._length.add((ended - started).total_seconds())

    def _count_end(self, run: Run) -> None:
        reason = "" if run.reason is None else run.reason.value
        if run.state is RunState.SKIPPED:
            self._skipped.add((reason,), 1 if run.span is None else run.span.count)
            return
        self._outcomes.add((run.state.value, reason))
        if run.started is not None and run.ended is not None:
            self._length.add((run.ended - run.started).total_seconds())

    # --- the lease -----------------------------------------------------------------------------------------------------

    async def join(self, node: Node) -> None:
        called = self._steady()
        await self._timed(("join",), self._store.join(node))
        self._renewed_at[node.id] = called

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        called = self._steady()
        renewal = await self._timed(("renew_lease",), self._store.renew_lease(node, now, load, offset))
        last_renewal = self._renewed_at.pop(node, None)
        if not renewal.held:
            self._losses.add(("taken",))
            return renewal
        if last_renewal is not None and self._steady() - last_renewal > self._self_stop:
            # The renewal came too late: the node had treated its lease as lost and stopped its runs.
            self._losses.add(("expired",))
        self._renewed_at[node] = called
        return renewal

    async def leave(self, node: str) -> None:
        self._renewed_at.pop(node, None)
        await self._timed(("leave",), self._store.leave(node))


def _record_changes(decide: RunDecision) -> tuple[dict[str, Change], Callable[[Facts, Run], Change]]:
    """Return a dictionary, and a wrapper of `decide` that records its decisions in it by run id."""
    changes: dict[str, Change] = {}

    def recording(facts: Facts, run: Run) -> Change:
        change = changes[run.id] = decide(facts, run)
        return change

    return changes, recording
