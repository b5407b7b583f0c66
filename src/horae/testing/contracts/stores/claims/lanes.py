"""Contract of lanes: the limit holds across all handles, and a freed slot unparks the next entry."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from .....model.change import Change
from .....model.entry import MAX_REPARKS, EntryState
from .....model.lanes.lane import LaneLine, LaneQueue, LaneWaiter, owner_lane, turn_order
from .....model.lanes.route import ROUTE_PREFIXES
from .....model.run import Run, RunState
from .....ports.full_store import FullStore
from ....decisions import always, drop, lose, park_on, skip, start_within_lanes
from ....factories import MINUTE, NODE, NOON, SECOND, a_new_task, a_node, a_settlement, a_task, an_entry
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, fill_lane, get_facts, get_run, settle, start_run


async def _claim_within_lanes(store: FullStore) -> list[str]:
    """Claim within the lane limits; return the started tasks in order."""
    return [each.task.id for each in await claim_all(store, decide=start_within_lanes())]


class LanesContract(Contract):
    async def test_a_lane_runs_at_most_its_limit(self, store: FullStore) -> None:
        await store.set_lane("press", 3)
        runs = await fill_lane(store, "press", *(a_task() for _ in range(10)))
        assert len(runs) == 3
        assert (await claim(store, decide=start_within_lanes())).decided == 0

    async def test_the_lane_limit_holds_across_handles(self, store: FullStore) -> None:
        await store.set_lane("press", 5)
        await store.join(a_node())
        await add_tasks(store, *(a_task(lane="press") for _ in range(40)))
        async with self.another(store) as other:
            both = (store, other, store, other)
            shares = await asyncio.gather(*(claim_all(each, decide=start_within_lanes(), room=2) for each in both))
        assert sum(map(len, shares)) == 5

    async def test_a_full_lane_does_not_block_another_lane(self, store: FullStore) -> None:
        assert len(await fill_lane(store, "press", a_task(), a_task())) == 1
        assert len(await fill_lane(store, "oven", a_task(), a_task())) == 1

    async def test_a_lane_slot_is_freed_when_its_run_ends(self, store: FullStore) -> None:
        first, second = a_task(), a_task()
        (run,) = await fill_lane(store, "press", first, second)
        assert await _claim_within_lanes(store) == []
        await settle(store, run)
        assert await _claim_within_lanes(store) == [second.id]

    async def test_a_lane_slot_is_freed_by_every_kind_of_end(self, store: FullStore) -> None:
        (first,) = await fill_lane(store, "press", *(a_task() for _ in range(3)))
        await store.release([(first.id, first.token)], lose)
        (second,) = (await claim(store, decide=start_within_lanes())).runs
        await store.join(a_node("watcher"))
        await store.recover(NODE, 0, lose, 10)
        third = (await claim(store, decide=start_within_lanes(node="watcher"), node="watcher")).runs
        assert len({first.id, second.run.id, *(each.run.id for each in third)}) == 3

    async def test_a_waiting_run_holds_its_lane_slot(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task(), a_task())
        waiting = run._replace(state=RunState.WAITING, node=None, deadline=NOON + MINUTE)
        await store.settle([a_settlement(run)], lambda *_: Change(updated_runs=(waiting,)))
        assert await _claim_within_lanes(store) == []
        await settle(store, await get_run(store, run))
        assert len(await _claim_within_lanes(store)) == 1

    async def test_free_lane_slots_are_given_by_priority_then_by_due_instant(self, store: FullStore) -> None:
        first = a_task(priority=100)
        (run,) = await fill_lane(store, "press", first)
        after, late, early, urgent = a_task(), a_task(), a_task(), a_task(priority=5)
        for task, due in ((late, NOON), (early, NOON - SECOND), (urgent, NOON), (after, NOON)):
            await add_tasks(store, task._replace(lane="press"), due=due)
        order = []
        for _ in range(4):
            assert await _claim_within_lanes(store) == []
            await settle(store, run)
            (claimed,) = (await claim(store, decide=start_within_lanes())).runs
            order.append(claimed.task.id)
            run = claimed.run
        assert order == [urgent.id, early.id, late.id, after.id], "equal rank: in order of creation"

    async def _claim_in_turn(self, store: FullStore, run: Run, number: int) -> list[str]:
        """End the run in the lane of one, and each that follows it; return the started tasks in order."""
        order = []
        for _ in range(number):
            await settle(store, run)
            (claimed,) = await claim_all(store, decide=start_within_lanes())
            order.append(claimed.task.id)
            run = claimed.run
        return order

    async def test_runs_and_entries_of_a_lane_are_listed_in_order(self, store: FullStore) -> None:
        await store.set_lane("press", 2)
        runs = await fill_lane(store, "press", a_task(owner="bob"), a_task(owner="bob"))
        assert await store.lane_runs("press") == tuple(sorted(runs, key=lambda run: run.id))
        assert await store.lane_runs("press", 1) == (min(runs, key=lambda run: run.id),)
        assert await store.lane_line("press") == LaneLine((), "bob")
        bob = [a_task(owner="bob", priority=n) for n in (5, 50)]
        ada = a_task(owner="ada")
        await fill_lane(store, "press", *bob, ada)
        line = await store.lane_line("press")
        assert [each.task_id for each in line.waiters] == [bob[1].id, bob[0].id, ada.id], "by priority"
        assert line.waiters[0] == LaneWaiter(bob[1].id, "next", "bob", 50, NOON)
        assert (line.last_owner, line.more) == ("bob", False)
        assert await store.lane_line("press", 2) == line._replace(waiters=line.waiters[:2], more=True)
        expected = [each.task_id for each in turn_order(line.waiters, line.last_owner)]
        assert expected == [ada.id, bob[1].id, bob[0].id], "owners in turn"
        assert await self._claim_in_turn(store, runs[0], 3) == expected
        assert (await store.lane_runs("oven"), await store.lane_line("oven")) == ((), LaneLine())

    async def test_owners_take_turns_in_a_lane(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task(owner="bob"))
        bob = [a_task(owner="bob", priority=50) for _ in range(3)]
        ada, cleo = [a_task(owner="ada", priority=n) for n in range(2)], [a_task(owner="cleo")]
        assert await fill_lane(store, "press", *bob, *ada, *cleo) == []
        order = await self._claim_in_turn(store, run, 6)
        expected = [cleo[0], ada[1], bob[0], ada[0], bob[1], bob[2]]
        assert order == [task.id for task in expected], "after bob; within an owner by priority, then due"

    async def test_turns_of_owners_continue_in_another_handle(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task(owner="bob"))
        ada, bob = a_task(owner="ada"), a_task(owner="bob", priority=9)
        await fill_lane(store, "press", ada, bob)
        async with self.another(store) as other:
            assert await self._claim_in_turn(other, run, 2) == [ada.id, bob.id]

    async def test_several_free_slots_are_shared_by_the_owners(self, store: FullStore) -> None:
        await store.set_lane("press", 4)
        runs = await fill_lane(store, "press", *(a_task(owner="ada") for _ in range(4)))
        ada, bob = [a_task(owner="ada") for _ in range(5)], [a_task(owner="bob")]
        await fill_lane(store, "press", *ada, *bob)
        await settle(store, *runs)
        assert sorted(await _claim_within_lanes(store)) == sorted(task.id for task in (*bob, *ada[:3]))

    async def test_a_newcomer_does_not_overtake_those_that_wait(self, store: FullStore) -> None:
        first, second = a_task(), a_task()
        (run,) = await fill_lane(store, "press", first, second)
        await settle(store, run)
        newcomer = a_task(lane="press", priority=100)
        await add_tasks(store, newcomer, due=NOON - SECOND)
        assert await _claim_within_lanes(store) == [second.id], "the free slot is kept for the one that waited"
        (parked,) = (await get_facts(store, newcomer)).entries
        assert (parked.state, parked.lane, parked.reparks) == (EntryState.PARKED, "press", 0)

    async def test_an_entry_that_was_parked_again_too_often_goes_first(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task(owner="ada"))
        urgent, reparked = a_task(owner="bob", priority=9), a_task(owner="cleo", lane="press")
        await fill_lane(store, "press", urgent)
        parked = an_entry(reparked, state=EntryState.PARKED, lane="press", waited=True, reparks=MAX_REPARKS)
        await store.add([a_new_task(reparked, entries=[parked])])
        assert (await get_facts(store, reparked)).entries == (parked,)
        assert await self._claim_in_turn(store, run, 2) == [reparked.id, urgent.id]

    async def test_parking_again_in_another_lane_is_counted(self, store: FullStore) -> None:
        (oven_run,) = await fill_lane(store, "oven", a_task())
        (press_run,) = await fill_lane(store, "press", a_task())
        both, next_one = a_task(lane="press", lanes=("oven",)), a_task(lane="press")
        await add_tasks(store, both)
        assert await _claim_within_lanes(store) == []
        await add_tasks(store, next_one)
        assert await _claim_within_lanes(store) == []
        await settle(store, press_run)
        assert await _claim_within_lanes(store) == [next_one.id], "a waiter holds no slot of its other lanes"
        (parked,) = (await get_facts(store, both)).entries
        assert (parked.lane, parked.reparks) == ("oven", 1)
        await settle(store, oven_run)
        assert await _claim_within_lanes(store) == []
        (parked,) = (await get_facts(store, both)).entries
        assert (parked.lane, parked.reparks) == ("press", 2)

    async def test_one_free_lane_slot_unparks_one_entry(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", *(a_task() for _ in range(20)))
        await settle(store, run)
        assert (await claim(store, decide=start_within_lanes())).decided == 1

    async def test_lane_slots_freed_in_one_batch_are_filled_together(self, store: FullStore) -> None:
        await store.set_lane("press", 4)
        runs = await fill_lane(store, "press", *(a_task() for _ in range(10)))
        await settle(store, *runs[:3])
        assert len(await _claim_within_lanes(store)) == 3

    async def test_a_parked_entry_keeps_its_due_instant(self, store: FullStore) -> None:
        first, second = a_task(), a_task()
        (run,) = await fill_lane(store, "press", first, second)
        (parked,) = (await get_facts(store, second)).entries
        assert (parked.state, parked.lane, parked.waited) == (EntryState.PARKED, "press", True)
        assert await store.next_due() is None
        await settle(store, run)
        (called,) = (await get_facts(store, second)).entries
        assert called == parked._replace(state=EntryState.TIMED)
        assert await store.next_due() == NOON

    async def test_raising_a_lane_limit_unparks_entries(self, store: FullStore) -> None:
        await fill_lane(store, "press", *(a_task() for _ in range(5)))
        await store.set_lane("press", 3)
        assert len(await _claim_within_lanes(store)) == 2

    async def test_lowering_a_lane_limit_lets_live_runs_end(self, store: FullStore) -> None:
        await store.set_lane("press", 3)
        runs = await fill_lane(store, "press", *(a_task() for _ in range(5)))
        await store.set_lane("press", 1)
        await settle(store, runs[0], runs[1])
        assert await _claim_within_lanes(store) == []
        await settle(store, runs[2])
        assert len(await _claim_within_lanes(store)) == 1

    async def test_a_lane_limit_of_zero_blocks_the_lane(self, store: FullStore) -> None:
        await store.set_lane("press", 0)
        assert await fill_lane(store, "press", a_task()) == []
        await store.set_lane("press", 1)
        assert len(await _claim_within_lanes(store)) == 1

    async def test_waiting_entries_are_counted_and_listed_by_lane(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task(priority=100))
        late, early, urgent = a_task(), a_task(), a_task(priority=5)
        for task, due in ((late, NOON), (early, NOON - SECOND), (urgent, NOON)):
            await add_tasks(store, task._replace(lane="press"), due=due)
        await fill_lane(store, "oven", a_task(), a_task())
        stranded = a_task()
        parked = an_entry(stranded, state=EntryState.PARKED, lane=f"{ROUTE_PREFIXES[0]}x")
        await store.add([a_new_task(stranded, entries=[parked])])
        assert await store.lane_queues() == (LaneQueue("oven", 1, NOON), LaneQueue("press", 3, NOON - SECOND))
        assert [facts.task.id for facts in await store.queued("press")] == [urgent.id, early.id, late.id]
        assert [facts.task.id for facts in await store.queued("press", 1)] == [urgent.id]
        assert await store.queued("nothing") == ()
        await settle(store, run)
        assert [facts.task.id for facts in await store.queued("press")] == [early.id, late.id]

    async def test_an_owners_quota_is_a_lane(self, store: FullStore) -> None:
        await store.set_lane(owner_lane("ada"), 2)
        await store.join(a_node())
        await add_tasks(store, *(a_task() for _ in range(4)), *(a_task(owner="bob") for _ in range(4)))
        runs = [each.run for each in await claim_all(store, decide=start_within_lanes())]
        assert sorted(run.owner for run in runs) == ["ada"] * 2 + ["bob"] * 4
        await settle(store, next(run for run in runs if run.owner == "ada"))
        assert len(await _claim_within_lanes(store)) == 1

    async def test_a_run_takes_a_slot_in_each_of_its_lanes(self, store: FullStore) -> None:
        await store.set_lane(owner_lane("ada"), 1)
        await store.set_lane("press", 1)
        mine, neighbour, other = a_task(lane="press"), a_task(), a_task(owner="bob", lane="press")
        await store.join(a_node())
        await add_tasks(store, mine, due=NOON - SECOND)
        (claimed,) = (await claim(store, NOON - SECOND, start_within_lanes())).runs
        await add_tasks(store, neighbour, other)
        assert await _claim_within_lanes(store) == []
        await settle(store, claimed.run)
        assert sorted(await _claim_within_lanes(store)) == sorted([neighbour.id, other.id])

    async def test_a_run_needs_a_slot_in_each_of_several_lanes(self, store: FullStore) -> None:
        (oven_run,) = await fill_lane(store, "oven", a_task())
        (press_run,) = await fill_lane(store, "press", a_task())
        task = a_task(lane="press", lanes=("oven",))
        await add_tasks(store, task)
        assert await _claim_within_lanes(store) == []
        await settle(store, press_run)
        assert await _claim_within_lanes(store) == [], "its other lane is still full"
        await settle(store, oven_run)
        (claimed,) = await claim_all(store, decide=start_within_lanes())
        assert (claimed.task.id, claimed.run.lanes) == (task.id, ("press", "oven"))
        assert [lane.used for lane in await store.lanes()] == [1, 1]
        assert [lane.name for lane in (await get_facts(store, task)).lanes] == ["press", "oven"]

    async def test_an_unparked_entry_that_is_skipped_leaves_the_slot_to_the_next(self, store: FullStore) -> None:
        """The unparked entry is skipped, so the slot is still free, and no other event would unpark the next one."""
        (run,) = await fill_lane(store, "press", *(a_task() for _ in range(3)))
        await settle(store, run)
        assert (await claim(store, decide=skip)).decided == 1
        assert len(await _claim_within_lanes(store)) == 1

    async def test_an_unparked_entry_of_a_paused_task_leaves_the_slot_to_the_next(self, store: FullStore) -> None:
        first, second, third = a_task(priority=3), a_task(priority=2), a_task(priority=1)
        (run,) = await fill_lane(store, "press", first, second, third)
        await settle(store, run)
        (called,) = (await get_facts(store, second)).entries
        asleep = called._replace(state=EntryState.ASLEEP, lane=None)
        await store.change(second.id, None, always(Change(put=(asleep,))))
        assert await _claim_within_lanes(store) == [third.id]

    async def test_an_unparked_entry_of_a_deleted_task_leaves_the_slot_to_the_next(self, store: FullStore) -> None:
        first, second, third = a_task(priority=3), a_task(priority=2), a_task(priority=1)
        (run,) = await fill_lane(store, "press", first, second, third)
        await settle(store, run)
        await store.change(second.id, None, always(Change(deleted=True)))
        assert await _claim_within_lanes(store) == [third.id]

    async def test_a_dropped_parked_entry_is_not_unparked(self, store: FullStore) -> None:
        first, second, third = a_task(priority=3), a_task(priority=2), a_task(priority=1)
        (run,) = await fill_lane(store, "press", first, second, third)
        await store.change(second.id, None, lambda facts: drop(facts, facts.entries[0], 0))
        await settle(store, run)
        assert await _claim_within_lanes(store) == [third.id]

    async def test_a_free_slot_does_not_unpark_entries_of_another_lane(self, store: FullStore) -> None:
        run = await start_run(store, a_task(lane="oven"))
        task = a_task()
        await store.add([a_new_task(task, entries=[an_entry(task)])])
        await claim(store, decide=park_on("press"))
        await settle(store, run)
        assert (await claim(store)).decided == 0
