"""Lanes: so many at once and no more, whoever claims; a seat that becomes free finds the one who waits for it."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from .....model.change import Change
from .....model.entry import EntryState
from .....model.lane import owner_lane
from .....model.run import RunState
from ....decisions import drop, lose, park_on, saying, seating, skip
from ....factories import MINUTE, NODE, NOON, SECOND, a_new_task, a_node, a_settlement, a_task, an_entry
from ..contract import Contract, WholeStore
from ..setup import a_running, claim, claim_all, facts_of, fill, keep, run_of, settle


async def _seated(store: WholeStore) -> list[str]:
    """The tasks that find a seat now, in the order in which they do."""
    return [each.task.id for each in await claim_all(store, decide=seating())]


class LanesContract(Contract):
    async def test_a_lane_runs_at_most_its_limit(self, store: WholeStore) -> None:
        await store.set_lane("press", 3)
        runs = await fill(store, "press", *(a_task() for _ in range(10)))
        assert len(runs) == 3
        assert (await claim(store, decide=seating())).decided == 0

    async def test_the_lane_limit_holds_across_handles(self, store: WholeStore) -> None:
        await store.set_lane("press", 5)
        await store.join(a_node())
        await keep(store, *(a_task(lane="press") for _ in range(40)))
        async with self.another(store) as other:
            both = (store, other, store, other)
            shares = await asyncio.gather(*(claim_all(each, decide=seating(), room=2) for each in both))
        assert sum(map(len, shares)) == 5

    async def test_a_full_lane_does_not_block_another_lane(self, store: WholeStore) -> None:
        assert len(await fill(store, "press", a_task(), a_task())) == 1
        assert len(await fill(store, "oven", a_task(), a_task())) == 1

    async def test_a_lane_slot_is_freed_when_its_run_ends(self, store: WholeStore) -> None:
        first, second = a_task(), a_task()
        (run,) = await fill(store, "press", first, second)
        assert await _seated(store) == []
        await settle(store, run)
        assert await _seated(store) == [second.id]

    async def test_a_lane_slot_is_freed_by_every_kind_of_end(self, store: WholeStore) -> None:
        (first,) = await fill(store, "press", *(a_task() for _ in range(3)))
        await store.release([(first.id, first.token)], lose)
        (second,) = (await claim(store, decide=seating())).runs
        await store.join(a_node("watcher"))
        await store.recover(NODE, 0, lose, 10)
        third = (await claim(store, decide=seating(node="watcher"), node="watcher")).runs
        assert len({first.id, second.run.id, *(each.run.id for each in third)}) == 3

    async def test_a_waiting_run_holds_its_lane_slot(self, store: WholeStore) -> None:
        (run,) = await fill(store, "press", a_task(), a_task())
        waiting = run._replace(state=RunState.WAITING, node=None, deadline=NOON + MINUTE)
        await store.settle([a_settlement(run)], lambda *_: Change(updated_runs=(waiting,)))
        assert await _seated(store) == []
        await settle(store, await run_of(store, run))
        assert len(await _seated(store)) == 1

    async def test_free_lane_slots_are_given_by_priority_then_by_due_instant(self, store: WholeStore) -> None:
        first = a_task(priority=100)
        (run,) = await fill(store, "press", first)
        after, late, early, urgent = a_task(), a_task(), a_task(), a_task(priority=5)
        for task, due in ((late, NOON), (early, NOON - SECOND), (urgent, NOON), (after, NOON)):
            await keep(store, task._replace(lane="press"), due=due)
        order = []
        for _ in range(4):
            assert await _seated(store) == []
            await settle(store, run)
            (claimed,) = (await claim(store, decide=seating())).runs
            order.append(claimed.task.id)
            run = claimed.run
        assert order == [urgent.id, early.id, late.id, after.id], "among equals the one that was added first"

    async def test_one_free_lane_slot_unparks_one_entry(self, store: WholeStore) -> None:
        (run,) = await fill(store, "press", *(a_task() for _ in range(20)))
        await settle(store, run)
        assert (await claim(store, decide=seating())).decided == 1

    async def test_lane_slots_freed_in_one_batch_are_filled_together(self, store: WholeStore) -> None:
        await store.set_lane("press", 4)
        runs = await fill(store, "press", *(a_task() for _ in range(10)))
        await settle(store, *runs[:3])
        assert len(await _seated(store)) == 3

    async def test_a_parked_entry_keeps_its_due_instant(self, store: WholeStore) -> None:
        first, second = a_task(), a_task()
        (run,) = await fill(store, "press", first, second)
        (parked,) = (await facts_of(store, second)).entries
        assert (parked.state, parked.lane, parked.waited) == (EntryState.PARKED, "press", True)
        assert await store.next_due() is None
        await settle(store, run)
        (called,) = (await facts_of(store, second)).entries
        assert called == parked._replace(state=EntryState.TIMED)
        assert await store.next_due() == NOON

    async def test_raising_a_lane_limit_unparks_entries(self, store: WholeStore) -> None:
        await fill(store, "press", *(a_task() for _ in range(5)))
        await store.set_lane("press", 3)
        assert len(await _seated(store)) == 2

    async def test_lowering_a_lane_limit_lets_live_runs_end(self, store: WholeStore) -> None:
        await store.set_lane("press", 3)
        runs = await fill(store, "press", *(a_task() for _ in range(5)))
        await store.set_lane("press", 1)
        await settle(store, runs[0], runs[1])
        assert await _seated(store) == []
        await settle(store, runs[2])
        assert len(await _seated(store)) == 1

    async def test_a_lane_limit_of_zero_blocks_the_lane(self, store: WholeStore) -> None:
        await store.set_lane("press", 0)
        assert await fill(store, "press", a_task()) == []
        await store.set_lane("press", 1)
        assert len(await _seated(store)) == 1

    async def test_an_owners_quota_is_a_lane(self, store: WholeStore) -> None:
        await store.set_lane(owner_lane("ada"), 2)
        await store.join(a_node())
        await keep(store, *(a_task() for _ in range(4)), *(a_task(owner="bob") for _ in range(4)))
        runs = [each.run for each in await claim_all(store, decide=seating())]
        assert sorted(run.owner for run in runs) == ["ada"] * 2 + ["bob"] * 4
        await settle(store, next(run for run in runs if run.owner == "ada"))
        assert len(await _seated(store)) == 1

    async def test_a_run_takes_a_slot_in_each_of_its_lanes(self, store: WholeStore) -> None:
        await store.set_lane(owner_lane("ada"), 1)
        await store.set_lane("press", 1)
        mine, neighbour, other = a_task(lane="press"), a_task(), a_task(owner="bob", lane="press")
        await store.join(a_node())
        await keep(store, mine, due=NOON - SECOND)
        (claimed,) = (await claim(store, NOON - SECOND, seating())).runs
        await keep(store, neighbour, other)
        assert await _seated(store) == []
        await settle(store, claimed.run)
        assert sorted(await _seated(store)) == sorted([neighbour.id, other.id])

    async def test_an_unparked_entry_that_is_skipped_leaves_the_slot_to_the_next(self, store: WholeStore) -> None:
        """A seat is free, and the entry that was called to it is skipped: nothing else will ever call the next one."""
        (run,) = await fill(store, "press", *(a_task() for _ in range(3)))
        await settle(store, run)
        assert (await claim(store, decide=skip)).decided == 1
        assert len(await _seated(store)) == 1

    async def test_an_unparked_entry_of_a_paused_task_leaves_the_slot_to_the_next(self, store: WholeStore) -> None:
        first, second, third = a_task(priority=3), a_task(priority=2), a_task(priority=1)
        (run,) = await fill(store, "press", first, second, third)
        await settle(store, run)
        (called,) = (await facts_of(store, second)).entries
        asleep = called._replace(state=EntryState.ASLEEP, lane=None)
        await store.change(second.id, None, saying(Change(put=(asleep,))))
        assert await _seated(store) == [third.id]

    async def test_an_unparked_entry_of_a_deleted_task_leaves_the_slot_to_the_next(self, store: WholeStore) -> None:
        first, second, third = a_task(priority=3), a_task(priority=2), a_task(priority=1)
        (run,) = await fill(store, "press", first, second, third)
        await settle(store, run)
        await store.change(second.id, None, saying(Change(deleted=True)))
        assert await _seated(store) == [third.id]

    async def test_a_dropped_parked_entry_is_not_unparked(self, store: WholeStore) -> None:
        first, second, third = a_task(priority=3), a_task(priority=2), a_task(priority=1)
        (run,) = await fill(store, "press", first, second, third)
        await store.change(second.id, None, lambda facts: drop(facts, facts.entries[0], 0))
        await settle(store, run)
        assert await _seated(store) == [third.id]

    async def test_a_free_slot_does_not_unpark_entries_of_another_lane(self, store: WholeStore) -> None:
        run = await a_running(store, a_task(lane="oven"))
        task = a_task()
        await store.add([a_new_task(task, entries=[an_entry(task)])])
        await claim(store, decide=park_on("press"))
        await settle(store, run)
        assert (await claim(store)).decided == 0
