"""Rules of the store machine for runs: claim, start, settle and release, also with decisions that fail."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from ....lifecycle.fire import fire
from ....lifecycle.recover import release
from ....lifecycle.settle import settle
from ....lifecycle.start import ClaimContext
from ....model.change import Change, Facts
from ....model.entry import Entry
from ....model.lanes.idle import YieldReason
from ....model.lanes.lane import DEFAULT_LIMIT
from ....model.outcome import Outcome, Settlement
from ....ports.store import DEFAULT_TERMS
from ...decisions import PlannedFailure, fail
from .node_rules import NodeRules
from .paired_stores import Side
from .strategies import (
    NODES,
    ROUTE,
    outcomes,
    several,
)


class RunRules(NodeRules):
    @rule(node=st.sampled_from(NODES), room=st.sampled_from((1_000, 1_000, 2, 1, 0)))
    def claim(self, node: str, room: int) -> None:
        self._claim(node, room)

    @rule(room=st.sampled_from((1_000, 1_000, 1)))
    def claim_on_first_node(self, room: int) -> None:
        """Raises the share of claims that start runs."""
        self._claim(NODES[0], room)

    @rule(results=st.lists(outcomes, max_size=4))
    def run_next_due(self, results: list[Outcome]) -> None:
        """Advance to the next due instant, claim and settle: otherwise few runs would end within one example."""
        self._advance_to_next_due()
        self.join(NODES[0])
        self._claim(NODES[0], 1_000)
        live = {run.id for run in self._live_runs() if run.node is not None}
        runs = [claimed for claimed in self._claimed if claimed[0] in live]
        self._settle(list(zip(runs, results, strict=False)), settle, None)

    @rule(node=st.sampled_from(NODES))
    def claim_without_routes(self, node: str) -> None:
        """Due entries are stranded at their route."""
        self._advance_to_next_due()
        self._claim(node, 1_000, routes=frozenset())

    @rule(routes=st.sampled_from(((ROUTE,), (ROUTE, "target:http"), ("target:http",), ())))
    def admit_routes(self, routes: tuple[str, ...]) -> None:
        self._call_both(lambda side: side.store.admit(routes))

    @rule(at=st.integers(1, 3))
    def fail_claim(self, at: int) -> None:
        # What a part of the claim has written before a later one fails stays written.
        self._claim(NODES[0], 1_000, fail_at=1 if self.splits_claims else at)

    def _claim(
        self,
        node: str,
        room: int,
        fail_at: int | None = None,
        routes: frozenset[str] | None = None,
        labels: frozenset[tuple[str, str]] | None = None,
    ) -> None:
        self._claims += 1
        claimant = ClaimContext(node, self._now, DEFAULT_TERMS.poll_ceiling, routes, labels)
        number = self._claims

        def call(side: Side) -> Coroutine[Any, Any, Any]:
            decided: set[str] = set()

            def decide(facts: Facts, entry: Entry, token: int) -> Change:
                assert entry.due <= claimant.now, "an entry was claimed early"
                decided.add(facts.task.id)
                if len(decided) == fail_at:
                    raise PlannedFailure
                return fire(facts, entry, token, claimant)

            return side.claim(claimant, room, decide, number=number)

        answer = self._call_both(call)
        if answer and isinstance(answer[0], tuple):
            self._note_claimed([run for _, run in answer[0]])

    def _note_claimed(self, runs: Sequence[Any]) -> None:
        self._claimed += [(run.id, self._claims) for run in runs]
        for lane in {lane for run in runs for lane in run.lanes}:
            limit = self._limits.get(lane, DEFAULT_LIMIT)
            assert self._count_live_in_lane(lane) <= limit, f"more live runs in {lane} than its limit"

    def _count_live_in_lane(self, lane: str) -> int:
        return sum(lane in run.lanes for run in self._live_runs())

    @rule(chosen=several)
    def start(self, chosen: list[int]) -> None:
        runs, now = self._some_runs(chosen), self._now
        self._call_both(
            lambda side: side.store.start([(run_id, side.token(claim, run_id)) for run_id, claim in runs], now)
        )

    @rule(chosen=several, idle=st.booleans())
    def declare_idle(self, chosen: list[int], idle: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        since = self._now if idle else None
        for run_id, number in self._some_runs(chosen):
            self._call_both(partial(_declare_idle, run_id=run_id, number=number, since=since))

    @rule(chosen=several, results=st.lists(outcomes, min_size=4, max_size=4), started=st.booleans())
    def settle(self, chosen: list[int], results: list[Outcome], started: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        reports = list(zip(self._some_runs(chosen), results, strict=False))
        self._settle(reports, settle, self._now if started else None)

    @rule(chosen=several, outcome=outcomes)
    def fail_settlement(self, chosen: list[int], outcome: Outcome) -> None:
        self._settle([(run, outcome) for run in self._some_runs(chosen)], fail, None)

    def _settle(
        self,
        reports: Sequence[tuple[tuple[str, int], Outcome]],
        decide: Callable[..., Change],
        started: datetime | None,
    ) -> None:
        now = self._now

        def call(side: Side) -> Coroutine[Any, Any, frozenset[str]]:
            batch = [
                Settlement(run, side.token(claim, run), outcome, started, now) for (run, claim), outcome in reports
            ]
            return side.store.settle(batch, side.record_settle(decide))

        self._call_both(call)

    @rule(chosen=several)
    def release(self, chosen: list[int]) -> None:
        runs, decide = self._some_runs(chosen), partial(release, now=self._now)

        def call(side: Side) -> Coroutine[Any, Any, frozenset[str]]:
            claims = [(run_id, side.token(claim, run_id)) for run_id, claim in runs]
            return side.store.release(claims, side.record_end(decide))

        self._call_both(call)


def _declare_idle(
    side: Side, *, run_id: str, number: int, since: datetime | None
) -> Coroutine[Any, Any, YieldReason | None]:
    return side.store.declare_idle(run_id, side.token(number, run_id), since)
