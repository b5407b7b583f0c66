"""Settlement is round robin by owner: a burst of one owner does not delay the runs of another."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from horae.engine.settler import FairQueue, QueuedSettlement
from horae.model.outcome import Settlement, Succeeded
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.schedule import Every
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import ScriptedTarget, SlowStore, add_task, list_runs, make_engine

SECOND = timedelta(seconds=1)
CROWD = 4_000


async def run_with_burst(clock: VirtualClock, **policies: Any) -> list[Run]:
    """Runs of a one-second task during a burst of another owner, on a store that settles 256 runs in 0.3 s."""
    store = MemoryStore()
    slow = SlowStore(store, clock, "settle", 0.3)
    task = await add_task(store, Every(interval=SECOND), NOON, owner="neighbour", **policies)
    for _ in range(CROWD):
        await add_task(store, NOON + 2 * SECOND, NOON, owner="crowd")
    engine = make_engine(slow, ScriptedTarget(), clock, capacity=4_096)
    await engine.start()
    await clock.pause(10.5)
    await engine.stop()
    return await list_runs(store, task)


async def test_burst_of_one_owner_delays_no_run_of_another(clock: VirtualClock) -> None:
    runs = await run_with_burst(clock)
    assert [run.planned for run in runs] == [NOON + number * SECOND for number in range(1, 11)]
    assert {(run.state, run.reason) for run in runs} == {(RunState.SUCCEEDED, None)}


async def run_queued_with_burst(clock: VirtualClock) -> list[Run]:
    return await run_with_burst(clock, overlap="queue")


async def test_burst_of_one_owner_does_not_delay_queued_runs_of_another(clock: VirtualClock) -> None:
    """Under `queue` nothing is skipped, but a run behind an unsettled one starts late."""
    runs = await run_queued_with_burst(clock)
    assert len(runs) == 10
    assert Reason.OVERLAP not in {run.reason for run in runs}
    assert max(run.lateness for run in runs if run.lateness is not None) < SECOND / 10


def queued(owner: str, number: int) -> QueuedSettlement:
    return QueuedSettlement(owner, Settlement(f"{owner}{number}", 1, Succeeded(), None, NOON))


def names(batch: Any) -> list[str]:
    return [each.settlement.run_id for each in batch]


def test_settle_batches_are_round_robin_by_owner_in_order() -> None:
    queue = FairQueue()
    for number in range(5):
        queue.add(queued("a", number))
    for number in range(2):
        queue.add(queued("b", number))
    assert names(queue.take(3)) == ["a0", "b0", "a1"]
    assert names(queue.take(10)) == ["b1", "a2", "a3", "a4"]
    assert (len(queue), names(queue.take(3))) == (0, [])


def test_failed_settlement_is_first_of_its_owner_again() -> None:
    queue = FairQueue()
    for number in range(3):
        queue.add(queued("a", number))
        queue.add(queued("b", number))
    batch = queue.take(4)
    assert names(batch) == ["a0", "b0", "a1", "b1"]
    queue.return_to_front(batch)
    assert len(queue) == 6
    assert names(each for each in queue if each.owner == "a") == ["a0", "a1", "a2"]
    assert sorted(names(queue.take(6))) == ["a0", "a1", "a2", "b0", "b1", "b2"]
