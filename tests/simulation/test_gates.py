"""Gates under crashes: verdicts, back-off, pauses and states are right, and planted defects are found."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import pytest

from horae.clock import SystemClock
from horae.engine import runner
from horae.engine.active_run import ActiveRun
from horae.engine.gate_call import GateFailedError, verdict_of_outcome
from horae.engine.runner import Runner
from horae.lifecycle import gate as gate_rules
from horae.lifecycle import settle as settle_module
from horae.lifecycle.gate import with_gate_state
from horae.model.change import Change, SettleDecision
from horae.model.gate import GATE_STATE_KIND, MAX_GATE_FAILURES, Gate, GateVerdict, gate_wait, state_write
from horae.model.outcome import Outcome, Settlement, Skipped, Succeeded
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.stores.memory import MemoryStore
from tests.simulation import node
from tests.simulation.evidence import Evidence
from tests.simulation.gate_world import GateTarget, GateWorld, check_gates
from tests.simulation.world_stores import WorldStore, worlds
from tests.sizes import sized

SEEDS = range(1, 1 + sized(2, soak=100))


@pytest.fixture(autouse=True)
def _target_answers_as_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "SimulatedTarget", GateTarget)


def problems_of(seed: int, kind: type[MemoryStore] = MemoryStore) -> list[str]:
    store = kind()
    return asyncio.run(check_gates(GateWorld(seed, lambda: store).run(), store))


def find_problems(kind: type[MemoryStore] = MemoryStore) -> list[str]:
    return next((problems for seed in range(1, 9) if (problems := problems_of(seed, kind))), [])


async def _check_all(world_store: WorldStore, evidence: Evidence) -> list[str]:
    async with world_store.opened() as store:
        return await check_gates(evidence, store)


@pytest.mark.parametrize(("world_store", "seed"), worlds(SEEDS), indirect=["world_store"])
def test_gates_keep_their_rules_under_crashes(world_store: WorldStore, seed: int) -> None:
    evidence = world_store.run(GateWorld, seed)
    assert asyncio.run(_check_all(world_store, evidence)) == []
    assert not evidence.complaints
    assert len(evidence.history.gate_calls) > 100
    reasons = Counter(run.reason for run in evidence.runs.values())
    assert min(reasons[each] for each in (Reason.GATE_CLOSED, Reason.GATE_FAILED, Reason.GATE_CHECKED)) > 10
    assert evidence.history.faults["a crash"] > 5


class WritesStatesFirst(MemoryStore):
    """Defect: writes the state of a gate before the settlement, in a transaction of its own that no token fences."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        for each in batch:
            run = await self.run(each.run_id, None)
            write = None if each.gate is None or run is None else state_write(run.task_id, run.owner, each.gate)
            if write is not None and isinstance(each.outcome, Succeeded | Skipped):
                known = await self.get_record(GATE_STATE_KIND, write.record.key, None)
                await self.put_record(write.record, replacing=None if known is None else known.version)
        # The node may die, or lose the run, between the two.
        await SystemClock().pause(30)
        return await super().settle(batch, lambda facts, run, report: decide(facts, run, report)._replace(attached=()))


def test_state_written_without_the_settlement_is_found() -> None:
    assert any("has the state" in each for each in find_problems(WritesStatesFirst))


def test_state_of_a_failed_run_that_is_written_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_always(change: Change, run: Run, _outcome: Outcome, report: Settlement) -> Change:
        return with_gate_state(change, run, Succeeded(), report)

    monkeypatch.setattr(settle_module, "with_gate_state", write_always)
    assert any("has the state" in each for each in find_problems())


def test_closed_gate_that_runs_the_target_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "verdict_of_outcome", lambda *given: verdict_of_outcome(*given)._replace(is_open=True))
    assert any("although the gate said" in each for each in find_problems())


def test_failing_gate_that_runs_the_target_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def let_pass(gate: Gate, outcome: Outcome, at: datetime, version: int | None) -> GateVerdict:
        try:
            return verdict_of_outcome(gate, outcome, at, version)
        except GateFailedError:
            return GateVerdict(is_open=True, at=at, version=version)

    monkeypatch.setattr(runner, "verdict_of_outcome", let_pass)
    assert any("although the gate said" in each for each in find_problems())


@pytest.mark.parametrize("most", [MAX_GATE_FAILURES - 1, MAX_GATE_FAILURES + 1], ids=["too early", "too late"])
def test_pause_at_another_failure_is_found(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(gate_rules, "MAX_GATE_FAILURES", most)
    assert any(f"after {most} failures of its gate" in each for each in find_problems())


def test_back_off_that_does_not_grow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_rules, "gate_wait", lambda _failures: gate_wait(1))
    assert any("was asked again after" in each for each in find_problems())


async def start_first(self: Runner, active: ActiveRun, gate: Gate) -> Outcome | None:
    """Defect: the start is written before the gate is asked, so that the death of a node during the gate loses the run."""
    refused = await self._commit_start(active) if active.run.state is RunState.CLAIMED else None
    if refused is not None:
        return refused
    active.verdict = await self._ask_gate(active, gate)
    active.gate = active.verdict.data
    return None if active.verdict.is_open else Skipped(active.verdict.reason, Reason.GATE_CLOSED)


async def start_nothing(_self: Runner, _active: ActiveRun) -> Outcome | None:
    """Defect: the start is not written."""
    return None


def test_start_before_the_gate_under_at_most_once_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "_pass_gate", start_first)
    assert any("is lost, although its gate said" in each for each in find_problems())


def test_start_that_is_not_written_under_at_most_once_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "_commit_start", start_nothing)
    assert any("although at_most_once" in each for each in find_problems())


def test_check_that_calls_the_target_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "is_gate_check", lambda _given: False)
    assert any("was called, although it is" in each for each in find_problems())
