"""Chains under crashes: every link fires exactly once for each root, and planted defects are found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from horae.lifecycle.chain import LinkDecision, OccurrenceEnd, follow_link
from horae.model.chain_row import ChainRow, ChainState
from horae.model.change import Facts, SettleDecision
from horae.model.outcome import Settlement
from horae.schedule import After
from horae.stores import chains
from horae.stores.memory import MemoryStore
from horae.stores.memory.agenda import MemoryAgenda
from horae.stores.memory.data import Data
from tests.simulation.chain_world import ChainWorld, check_chains
from tests.simulation.world_stores import WorldStore, worlds
from tests.sizes import sized

SEEDS = range(1, 1 + sized(3, soak=200))


def problems_of(seed: int) -> list[str]:
    return check_chains(ChainWorld(seed, MemoryStore).run())


@pytest.mark.parametrize(("world_store", "seed"), worlds(SEEDS), indirect=["world_store"])
def test_every_link_fires_once_for_each_root(world_store: WorldStore, seed: int) -> None:
    evidence = world_store.run(ChainWorld, seed)
    assert check_chains(evidence) == []
    assert not evidence.complaints
    assert sum(run.chain is not None for run in evidence.runs.values()) > 100


def find_problems() -> list[str]:
    for seed in range(1, 9):
        if problems := problems_of(seed):
            return problems
    return []


class LateLinks:
    """Defect: follows the links of a settlement in a transaction of its own; a node that dies in between loses them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pending: list[OccurrenceEnd] = []
        self._is_second = False
        follow, settle = Data._follow_chains, MemoryAgenda.settle

        async def hold(data: Data) -> None:
            if self._is_second:
                await follow(data)
            else:
                self._pending.extend(data._ends)

        async def settle_in_two(agenda: Any, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
            stale = await settle(agenda, batch, decide)
            ends, self._pending = self._pending, []
            if ends:
                await asyncio.sleep(20)  # noqa: TID251 - virtual time
                self._follow(agenda._data, ends)
            return stale

        monkeypatch.setattr(Data, "_follow_chains", hold)
        monkeypatch.setattr(MemoryAgenda, "settle", settle_in_two)

    def _follow(self, data: Data, ends: Sequence[OccurrenceEnd]) -> None:
        self._is_second = True
        try:
            with data.transaction():
                data._ends.extend(ends)
        finally:
            self._is_second = False


def test_a_link_that_is_followed_after_the_commit_is_lost_at_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    LateLinks(monkeypatch)
    assert find_problems()


def test_a_row_that_forgets_that_it_fired_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(
        facts: Facts, row: ChainRow | None, end: OccurrenceEnd, awaited: Sequence[str], last: datetime | None
    ) -> LinkDecision:
        known = None if row is not None and row.state is ChainState.FIRED else row
        return follow_link(facts, known, end, awaited or (end.task_id,), last)

    monkeypatch.setattr(chains, "follow_link", forget)
    assert find_problems()


def test_a_join_that_fires_at_each_arrival_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fire_twice(
        facts: Facts, row: ChainRow | None, end: OccurrenceEnd, awaited: Sequence[str], last: datetime | None
    ) -> LinkDecision:
        schedule = facts.task.schedule
        if isinstance(schedule, After) and schedule.mode == "all":
            facts, row = facts._replace(task=facts.task._replace(schedule=replace(schedule, mode="any"))), None
        return follow_link(facts, row, end, awaited or (end.task_id,), last)

    monkeypatch.setattr(chains, "follow_link", fire_twice)
    assert any(problem.startswith("e has 2 runs") for problem in find_problems())
