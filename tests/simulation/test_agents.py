"""Agents under crashes: every message is answered once, prompts go before messages, and planted defects are found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.agents.host.router import Router
from horae.agents.router.position import RouterPosition
from horae.agents.target import target as target_module
from horae.agents.target.agent_run import AgentRun
from horae.agents.target.turn_state import CommitResult
from horae.model.agents.group import Group
from horae.model.outcome import Outcome, Skipped
from horae.model.run import RunState
from horae.stores.memory import MemoryStore
from tests.simulation import node
from tests.simulation.agent_world import AgentSimulation, AgentWorld, check_chat, postponed_runs
from tests.sizes import sized

FIRST_SEED = 5
SEEDS = range(FIRST_SEED, FIRST_SEED + sized(4, soak=50))
COMMIT = AgentRun._commit
LOOK_AT = Router._look_at


@pytest.fixture(autouse=True)
def _nodes_run_agents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node, "SimulatedTarget", AgentSimulation)
    monkeypatch.setattr(AgentSimulation, "folder", tmp_path)
    # A frozen node would keep the thread, for which virtual time stands still.
    monkeypatch.setattr(asyncio, "to_thread", call_here)


async def call_here(function: Callable[..., Any], *given: Any) -> Any:
    return function(*given)


def problems_of(seed: int) -> list[str]:
    store = MemoryStore()
    return asyncio.run(check_chat(AgentWorld(seed, lambda: store).run(), store))


def find_problems() -> list[str]:
    return next((problems for seed in range(1, 7) if (problems := problems_of(seed))), [])


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_and_prompts_are_answered_once_under_crashes(seed: int) -> None:
    store = MemoryStore()
    evidence = AgentWorld(seed, lambda: store).run()
    assert asyncio.run(check_chat(evidence, store)) == []
    assert not evidence.complaints
    states = [run.state for run in evidence.runs.values()]
    assert states.count(RunState.SUCCEEDED) > 40
    assert evidence.history.faults["a crash"] > 10
    if seed == FIRST_SEED:
        assert states.count(RunState.LOST) > 1
        assert len(postponed_runs(evidence)) > 5


# --- planted defects ---------------------------------------------------------------------------------------------------


async def commit_apart(run: AgentRun, result: CommitResult, log: Any) -> None:
    """Commit the answer without its cursor, and the cursor later: the node may die between the two."""
    await COMMIT(run, result._replace(batch=None), log)
    await run._parts.clock.pause(30)
    await COMMIT(run, result._replace(text=None), log)


def end_skipped(note: str, again_after: timedelta) -> Outcome:
    del again_after
    return Skipped(note)


async def always(*_given: object) -> bool:
    return True


async def look_and_forget(router: Router, group: Group, handled: int, last: int) -> tuple[RouterPosition, bool]:
    """Forget what wakes the agent, before the position is used and stored, alone or in the commit of a turn."""
    position, is_saved = await LOOK_AT(router, group, handled, last)
    return position._replace(waking=0), is_saved


def test_answer_that_commits_without_its_cursor_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentRun, "_commit", commit_apart)
    assert any("was answered 2 times" in each for each in find_problems())


def test_turn_that_gives_way_for_good_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "Skipped", end_skipped)
    assert any("was not tried again" in each for each in find_problems())


def test_turn_that_gives_way_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "_MAX_POSTPONED", 6)
    monkeypatch.setattr(target_module.AgentTarget, "_has_waiting_task", always)
    assert any("times in a row" in each for each in find_problems())


def test_router_that_forgets_what_wakes_the_agent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Router, "_look_at", look_and_forget)
    assert any("was never handled" in each for each in find_problems())


def test_prompt_that_is_answered_by_each_attempt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentRun, "_delivers", always)
    assert any("was answered 2 times, and is" in each for each in find_problems())
