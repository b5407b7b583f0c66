"""Contract of maintenance: metadata, the integrity check, opening and closing handles."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.chain_row import Arrival, ChainRow, ChainState
from .....model.change import Change
from .....model.lanes.lane import owner_lane
from .....model.origin import Origin, RootOccurrence
from .....model.run import RunState
from .....ports.full_store import FullStore
from ....decisions import always, decide_start, start_within_lanes
from ....factories import HOUR, NODE, NOON, a_node, a_task
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, get_facts, settle


class MaintenanceContract(Contract):
    async def test_metadata_is_read_back(self, store: FullStore) -> None:
        assert await store.read_metadata("tzdata") is None
        await store.write_metadata("tzdata", "2026.1")
        await store.write_metadata("名", "值")
        assert (await store.read_metadata("tzdata"), await store.read_metadata("名")) == ("2026.1", "值")
        await store.write_metadata("tzdata", "2026.2")
        async with self.another(store) as other:
            assert await other.read_metadata("tzdata") == "2026.2"

    async def test_the_integrity_check_finds_nothing_after_many_operations(self, store: FullStore) -> None:
        assert await store.check() == ()
        await store.join(a_node())
        await store.set_lane(owner_lane("ada"), 5)
        await add_tasks(store, *(a_task(lane="press" if place % 3 else None) for place in range(30)))
        again = decide_start(again=HOUR)
        await claim_all(
            store, decide=lambda *args: again(*args) if args[0].task.lane is None else start_within_lanes()(*args)
        )
        assert await store.check() == ()
        while runs := [each.run for each in (await claim(store, decide=start_within_lanes())).runs]:
            await settle(store, *runs)
            assert await store.check() == ()

    async def test_the_integrity_check_finds_an_active_task_without_an_entry(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        (entry,) = (await get_facts(store, task)).entries
        await store.change(task.id, None, always(Change(dropped=(entry.slot,))))
        (doubt,) = await store.check()
        assert task.id in doubt

    async def test_the_integrity_check_finds_a_link_that_only_one_task_knows(self, store: FullStore) -> None:
        first, second = a_task(), a_task()
        await add_tasks(store, first, second)
        listed = first._replace(successors=(second.id,), version=first.version + 1)
        await store.change(first.id, None, always(Change(task=listed)))
        (doubt,) = await store.check()
        assert first.id in doubt
        assert second.id in doubt

    async def test_the_integrity_check_finds_chain_rows_that_contradict_themselves(self, store: FullStore) -> None:
        task = a_task()
        await add_tasks(store, task)
        roots = [RootOccurrence(task.id, Origin.SCHEDULED, NOON + number * HOUR) for number in range(3)]
        waiting = ChainRow(task.id, roots[0], NOON, awaited=("tsk_1",))
        fired = ChainRow(task.id, roots[1], NOON, ChainState.FIRED)
        arrived = waiting._replace(root=roots[2], arrivals=(Arrival("tsk_1", RunState.SUCCEEDED, "run_1"),))
        await store.change(task.id, None, always(Change(chain_rows=(waiting, fired, arrived))))
        has_fired, is_undecided = await store.check()
        assert "has fired" in has_fired
        assert roots[1].key in has_fired
        assert "waits for nothing more" in is_undecided
        assert roots[2].key in is_undecided

    async def test_opening_a_store_twice_is_idempotent(self, store: FullStore) -> None:
        await add_tasks(store, a_task())
        await store.open()
        assert await store.next_due() == NOON

    async def test_closing_a_second_handle_leaves_the_first_open(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task())
        async with self.another(store) as other:
            assert (await other.renew_lease(NODE, NOON)).held
        assert (await claim(store)).decided == 1
