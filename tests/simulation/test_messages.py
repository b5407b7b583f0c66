"""Messages under crashes: the cursor moves with the run that handled them alone, and planted defects are found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from horae.clock import SystemClock
from horae.lifecycle import settle as settle_module
from horae.lifecycle.messages import with_writes
from horae.model.change import Change, SettleDecision
from horae.model.messages import CursorMove, RunWrites
from horae.model.outcome import Outcome, Settlement, Succeeded
from horae.stores.memory import MemoryStore
from horae.stores.memory.messages import MemoryMessageAccess
from horae.stores.messages import StreamWrites, write_streams
from horae.stores.run_to_end import run_to_end
from tests.simulation import node
from tests.simulation.message_world import MessageTarget, MessageWorld, check_messages
from tests.simulation.world_stores import WorldStore, worlds
from tests.sizes import sized

SEEDS = range(1, 1 + sized(2, soak=100))


@pytest.fixture(autouse=True)
def _target_handles_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "SimulatedTarget", MessageTarget)


def problems_of(seed: int, kind: type[MemoryStore] = MemoryStore) -> list[str]:
    store = kind()
    MessageWorld(seed, lambda: store).run()
    return asyncio.run(check_messages(store))


def find_problems(kind: type[MemoryStore] = MemoryStore) -> list[str]:
    return next((problems for seed in range(1, 13) if (problems := problems_of(seed, kind))), [])


@pytest.mark.parametrize(("world_store", "seed"), worlds(SEEDS), indirect=["world_store"])
def test_cursor_moves_with_the_run_that_handled_the_messages(world_store: WorldStore, seed: int) -> None:
    evidence = world_store.run(MessageWorld, seed)
    assert not evidence.complaints
    asyncio.run(_check_all(world_store))


async def _check_all(world_store: WorldStore) -> None:
    async with world_store.opened() as store:
        assert await check_messages(store) == []
        state = await store.stream("ada", "chat")
    assert state is not None
    assert state.cursors[0].number > 100


def test_cursor_moved_by_a_failed_run_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def move_always(change: Change, outcome: Outcome, writes: RunWrites | None) -> Change:
        moves: tuple[CursorMove, ...] = () if writes is None else writes.moves
        return with_writes(change, outcome, writes)._replace(moves=moves)

    monkeypatch.setattr(settle_module, "with_writes", move_always)
    assert find_problems()


class MovesCursorsOfStaleRuns(MemoryStore):
    """Defect: moves cursors before the settlement, in a transaction of their own that no token fences."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        for each in batch:
            moves: Any = () if each.writes is None or not isinstance(each.outcome, Succeeded) else each.writes.moves
            with self._data.transaction():
                run_to_end(write_streams(MemoryMessageAccess(self._data), [StreamWrites("ada", moves=moves)]))
        # The node may die, or lose the run, between the two.
        await SystemClock().pause(30)
        return await super().settle(batch, decide)


def test_cursor_moved_without_its_run_is_found() -> None:
    assert find_problems(MovesCursorsOfStaleRuns)
