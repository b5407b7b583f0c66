"""A store that is looked at: each call is timed, and what was decided there is counted once it is written."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from threading import Lock
from typing import Any, Final, TypeVar, cast

from ..clock import Clock
from ..errors import StoreError
from ..model.change import Change, ControlDecision, Facts, FireDecision, RunDecision, SettleDecision
from ..model.entry import Entry
from ..model.outcome import Settlement
from ..model.run import Run, RunState
from ..ports.full_store import Keeping
from ..ports.store import Claim, Extension, Node, Terms
from . import catalogue
from .counters import Figures

_T = TypeVar("_T")

OPERATIONS: Final = frozenset(
    name for name, each in inspect.getmembers(Keeping, inspect.iscoroutinefunction) if not name.startswith("_")
)
_NOT_CALLS: Final = frozenset({"open", "close"})


def observed(store: Keeping, figures: Figures, clock: Clock, terms: Terms) -> Keeping:
    """The same store; whoever calls it notices nothing."""
    return cast(Keeping, _Observed(store, figures, clock, terms))


class _Observed:
    def __init__(self, store: Keeping, figures: Figures, clock: Clock, terms: Terms) -> None:
        self._store = store
        self._clock = clock
        self._steady = clock.steady
        self._self_stop = terms.self_stop.total_seconds()
        self._calls = figures.histogram(catalogue.STORE_CALLS)
        self._errors = figures.counter(catalogue.STORE_ERRORS)
        self._starts = figures.counter(catalogue.STARTS)
        self._late = figures.histogram(catalogue.LATE)
        self._settlement_delay = figures.histogram(catalogue.SETTLEMENT_DELAY)
        self._length = figures.histogram(catalogue.LENGTH)
        self._outcomes = figures.counter(catalogue.OUTCOMES)
        self._skipped = figures.counter(catalogue.SKIPPED)
        self._losses = figures.counter(catalogue.LEASE_LOSSES)
        self._takeovers = figures.counter(catalogue.TAKEOVERS)
        self._recovered = figures.counter(catalogue.RECOVERED)
        self._counting = Lock()
        self._renewed: dict[str, float] = {}
        self._claimed: dict[str, Run] = {}
        """What is to be started with a write of its own."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in OPERATIONS or name in _NOT_CALLS:
            return found
        labels, steady, calls, errors = (name,), self._steady, self._calls, self._errors

        async def timed(*arguments: Any, **named: Any) -> Any:
            # As `_timed`, without one more coroutine: this is asked often.
            begun = steady()
            try:
                return await found(*arguments, **named)
            except StoreError:
                errors.add(labels)
                raise
            finally:
                calls.add(steady() - begun, labels)

        self.__dict__[name] = timed
        return timed

    async def _timed(self, labels: tuple[str], call: Awaitable[_T]) -> _T:
        begun = self._steady()
        try:
            return await call
        except StoreError:
            self._errors.add(labels)
            raise
        finally:
            self._calls.add(self._steady() - begun, labels)

    # --- what comes due ------------------------------------------------------------------------------------------------

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        changes: dict[str, Change] = {}

        def seen(facts: Facts, entry: Entry, token: int) -> Change:
            # Who is asked again means the last answer.
            change = changes[facts.task.id] = decide(facts, entry, token)
            return change

        asked = self._steady()
        claim = await self._timed(("claim_due",), self._store.claim_due(now, node, room, seen))
        if claim.runs:
            at = now + timedelta(seconds=self._steady() - asked)
            for _, run in claim.runs:
                if run.state is RunState.CLAIMED:
                    self._claimed[run.id] = run
                else:
                    self._begun(run, at)
        self._ended(changes.values())
        return claim

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        asked = self._steady()
        try:
            may = await self._timed(("start",), self._store.start(claims, now))
            at = now + timedelta(seconds=self._steady() - asked)
            for run_id in may:
                if (run := self._claimed.get(run_id)) is not None:
                    self._begun(run, at)
        finally:
            for run_id, _ in claims:
                self._claimed.pop(run_id, None)
        return may

    def _begun(self, run: Run, at: datetime) -> None:
        self._starts.add((run.origin.value,))
        self._late.add((at - run.due).total_seconds())

    # --- what ends -----------------------------------------------------------------------------------------------------

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        changes: dict[str, Change] = {}

        def seen(facts: Facts, run: Run, report: Settlement) -> Change:
            change = changes[run.id] = decide(facts, run, report)
            return change

        stale = await self._timed(("settle",), self._store.settle(batch, seen))
        recorded = self._clock.now()
        for report in batch:
            if report.run_id not in stale:
                self._settlement_delay.add((recorded - report.ended).total_seconds())
        self._ended(change for run_id, change in changes.items() if run_id not in stale)
        return stale

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        for run_id, _ in claims:
            self._claimed.pop(run_id, None)
        changes, seen = _seeing(decide)
        stale = await self._timed(("release",), self._store.release(claims, seen))
        self._ended(change for run_id, change in changes.items() if run_id not in stale)
        return stale

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        changes, seen = _seeing(decide)
        recovered = await self._timed(("recover",), self._store.recover(node, renewals, seen, limit))
        if recovered is not None:
            self._recovered.add(by=recovered)
            self._ended(changes.values())
            if recovered < limit:
                self._takeovers.add()
        return recovered

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        last: list[Change] = []

        def seen(facts: Facts) -> Change:
            last[:] = [decide(facts)]
            return last[0]

        facts = await self._timed(("change",), self._store.change(task_id, owner, seen))
        if facts is not None:
            self._ended(last)
        return facts

    def _ended(self, changes: Iterable[Change]) -> None:
        # The keeper recovers in a thread of its own.
        with self._counting:
            for change in changes:
                for run in chain(change.born, change.moved):
                    if not run.live:
                        self._end(run)

    def _end(self, run: Run) -> None:
        reason = "" if run.reason is None else run.reason.value
        if run.state is RunState.SKIPPED:
            self._skipped.add((reason,), 1 if run.span is None else run.span.count)
            return
        self._outcomes.add((run.state.value, reason))
        if run.started is not None and run.ended is not None:
            self._length.add((run.ended - run.started).total_seconds())

    # --- the lease -----------------------------------------------------------------------------------------------------

    async def join(self, node: Node) -> None:
        asked = self._steady()
        await self._timed(("join",), self._store.join(node))
        self._renewed[node.id] = asked

    async def extend(self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)) -> Extension:
        asked = self._steady()
        extension = await self._timed(("extend",), self._store.extend(node, now, load, offset))
        before = self._renewed.pop(node, None)
        if not extension.held:
            self._losses.add(("taken",))
            return extension
        if before is not None and self._steady() - before > self._self_stop:
            # Until this answer came, the node had to take it for lost, and has stopped what it carried.
            self._losses.add(("expired",))
        self._renewed[node] = asked
        return extension

    async def leave(self, node: str) -> None:
        self._renewed.pop(node, None)
        await self._timed(("leave",), self._store.leave(node))


def _seeing(decide: RunDecision) -> tuple[dict[str, Change], Callable[[Facts, Run], Change]]:
    changes: dict[str, Change] = {}

    def seen(facts: Facts, run: Run) -> Change:
        change = changes[run.id] = decide(facts, run)
        return change

    return changes, seen
