"""Contract of claims: never early, in order, within capacity, each entry once."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from itertools import pairwise

from .....model.change import Change, Facts
from .....model.entry import Entry, EntryState
from .....ports.full_store import FullStore
from ....decisions import always, decide_start, drop, postpone, skip, start_everything
from ....factories import (
    HOUR,
    MICROSECOND,
    MINUTE,
    NODE,
    NOON,
    SECOND,
    a_new_task,
    a_node,
    a_task,
    an_entry,
    an_extra_entry,
)
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, get_facts


class ClaimsContract(Contract):
    async def test_nothing_is_claimed_early_not_even_by_a_microsecond(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task(), due=NOON)
        assert (await claim(store, NOON - MICROSECOND)).decided == 0
        assert (await claim(store, NOON)).decided == 1

    async def test_an_empty_store_has_nothing_to_claim(self, store: FullStore) -> None:
        await store.join(a_node())
        nothing = await claim(store)
        assert (nothing.runs, nothing.decided, nothing.more, nothing.next_due) == ((), 0, False, None)

    async def test_a_claimed_entry_is_running_and_not_claimed_again(self, store: FullStore) -> None:
        task = a_task()
        await store.join(a_node())
        await add_tasks(store, task)
        (claimed,) = (await claim(store)).runs
        assert claimed.task == task
        assert await store.run(claimed.run.id, None) == claimed.run
        assert (await claim(store, NOON + HOUR)).decided == 0

    async def test_entries_are_claimed_oldest_first(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(5)]
        await store.join(a_node())
        for place in (3, 1, 4, 0, 2):
            await add_tasks(store, tasks[place], due=NOON + place * MICROSECOND)
        claimed = await claim_all(store, NOON + SECOND)
        assert [each.task.id for each in claimed] == [task.id for task in tasks]

    async def test_with_little_capacity_the_highest_priority_is_claimed_first(self, store: FullStore) -> None:
        low, high, middle = (a_task(priority=priority) for priority in (-5, 100, 0))
        await store.join(a_node())
        await add_tasks(store, low, due=NOON - MINUTE)
        await add_tasks(store, high, middle)
        order = [(await claim(store, room=1)).runs[0].task.id for _ in range(3)]
        assert order == [high.id, middle.id, low.id]

    async def test_entries_of_equal_rank_are_claimed_in_order_of_creation(self, store: FullStore) -> None:
        """Independent of ids and of later writes."""
        await store.join(a_node())
        tasks = [a_task() for _ in range(6)]
        first, *others = added = [*tasks[::2], *tasks[1::2]]
        await add_tasks(store, *added[:3])
        await add_tasks(store, *added[3:])
        await store.change(first.id, None, always(Change(task=first._replace(name="renamed"), put=(an_entry(first),))))
        (one,) = (await claim(store, room=1)).runs
        assert one.task.id == first.id
        assert [each.task.id for each in await claim_all(store)] == [task.id for task in others]

    async def test_entries_of_one_task_are_claimed_by_slot(self, store: FullStore) -> None:
        await store.join(a_node())
        task = a_task()
        entries = [an_entry(task, slot=slot, planned=NOON - place * HOUR) for place, slot in enumerate("cab")]
        await store.add([a_new_task(task, entries=entries)])
        assert [each.run.planned for each in await claim_all(store)] == [NOON - place * HOUR for place in (1, 2, 0)]

    async def test_a_claim_takes_no_more_than_the_requested_capacity(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task() for _ in range(5)))
        first = await claim(store, room=3)
        assert (len(first.runs), first.more, first.next_due) == (3, True, NOON)
        second = await claim(store, room=3)
        assert (len(second.runs), second.more, second.next_due) == (2, False, None)

    async def test_a_claim_without_capacity_changes_nothing(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task())
        nothing = await claim(store, room=0)
        assert (nothing.runs, nothing.decided, nothing.more) == ((), 0, True)

    async def test_a_skipped_entry_takes_no_capacity(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task(priority=1) for _ in range(3)), a_task(), a_task())

        def skip_the_urgent(facts: Facts, entry: Entry, token: int) -> Change:
            return (skip if entry.priority else start_everything)(facts, entry, token)

        slice_ = await claim(store, decide=skip_the_urgent, room=1)
        assert (len(slice_.runs), slice_.decided, slice_.more) == (1, 4, True)

    async def test_a_claim_batch_is_bounded_whatever_the_capacity(self, store: FullStore) -> None:
        await store.join(a_node())
        for owners in (1, 9):
            await add_tasks(store, *(a_task(owner=f"owner-{place % owners}") for place in range(2 * self.slice_size)))
            first = await claim(store, decide=drop)
            assert 1 <= first.decided <= self.slice_size
            assert first.more
            decided = first.decided
            while (slice_ := await claim(store, decide=drop)).decided:
                assert slice_.decided <= self.slice_size
                decided += slice_.decided
            assert decided == 2 * self.slice_size
            assert not slice_.more

    async def test_a_claim_batch_decides_at_most_one_entry_of_a_task(self, store: FullStore) -> None:
        task = a_task()
        extra = [an_extra_entry(task, due=NOON - place * SECOND) for place in (2, 1)]
        await store.join(a_node())
        await store.add([a_new_task(task, entries=[an_entry(task), *extra])])
        slices = [await claim(store) for _ in range(3)]
        assert [len(each.runs) for each in slices] == [1, 1, 1]
        assert [each.more for each in slices] == [True, True, False]
        assert [each.runs[0].run.planned for each in slices] == [NOON - 2 * SECOND, NOON - SECOND, NOON]

    async def test_concurrent_claims_do_not_overlap(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(200)]
        await store.join(a_node())
        await add_tasks(store, *tasks)
        async with self.another(store) as other:
            shares = await asyncio.gather(*(claim_all(each, room=7) for each in (store, other, store, other)))
        claimed = [each.task.id for share in shares for each in share]
        assert sorted(claimed) == sorted(task.id for task in tasks)
        assert (await claim(store)).decided == 0

    async def test_tokens_rise_with_each_claim_across_handles(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task() for _ in range(6)))
        async with self.another(store) as other:
            slices = [await claim(each, room=1) for each in (store, other, other, store, other, store)]
        tokens = [each.runs[0].run.token for each in slices]
        assert all(earlier < later for earlier, later in pairwise(tokens))
        assert tokens[0] > 0

    async def test_the_next_due_instant_is_reported_before_and_after_a_claim(self, store: FullStore) -> None:
        assert await store.next_due() is None
        await store.join(a_node())
        await add_tasks(store, a_task(), due=NOON + HOUR)
        await add_tasks(store, a_task(), due=NOON + MICROSECOND)
        assert await store.next_due() == NOON + MICROSECOND
        early = await claim(store, NOON)
        assert (early.more, early.next_due) == (False, NOON + MICROSECOND)
        in_time = await claim(store, NOON + MICROSECOND)
        assert (in_time.more, in_time.next_due) == (False, NOON + HOUR)
        assert await store.next_due() == NOON + HOUR

    async def test_an_entry_that_is_due_again_at_once_is_claimed(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task())
        first = await claim(store, NOON + SECOND, decide_start(again=SECOND))
        assert (first.more, first.next_due) == (True, NOON + SECOND)
        second = await claim(store, NOON + SECOND, decide_start(again=SECOND))
        assert (second.more, second.next_due) == (False, NOON + 2 * SECOND)

    async def test_sleeping_held_and_parked_entries_are_not_claimed(self, store: FullStore) -> None:
        await store.join(a_node())
        for state in (EntryState.ASLEEP, EntryState.HELD, EntryState.PARKED):
            task = a_task()
            lane = "press" if state is EntryState.PARKED else None
            await store.add([a_new_task(task, entries=[an_entry(task, state=state, lane=lane)])])
        slice_ = await claim(store, NOON + HOUR)
        assert (slice_.decided, slice_.more, slice_.next_due) == (0, False, None)
        assert await store.next_due() is None

    async def test_a_node_that_never_joined_claims_nothing(self, store: FullStore) -> None:
        await store.join(a_node("another"))
        await add_tasks(store, a_task())
        nothing = await claim(store, node=NODE)
        assert (nothing.runs, nothing.decided) == ((), 0)
        assert (await claim(store, node="another")).decided == 1

    async def test_putting_an_entry_again_replaces_it(self, store: FullStore) -> None:
        task = a_task()
        await store.join(a_node())
        await add_tasks(store, task)
        await claim(store, decide=postpone(HOUR))
        (entry,) = (await get_facts(store, task)).entries
        assert (entry.due, entry.planned) == (NOON + HOUR, NOON)
        assert (await claim(store, NOON + HOUR - MICROSECOND)).decided == 0
        assert (await claim(store, NOON + HOUR)).decided == 1

    async def test_dropping_an_entry_leaves_the_others(self, store: FullStore) -> None:
        task = a_task()
        extra = an_extra_entry(task, due=NOON + HOUR)
        await store.join(a_node())
        await store.add([a_new_task(task, entries=[an_entry(task), extra])])
        await claim(store, decide=drop)
        assert (await get_facts(store, task)).entries == (extra,)

    async def test_a_change_may_drop_and_put_other_entries_of_its_task(self, store: FullStore) -> None:
        task = a_task()
        gone, new = an_extra_entry(task, due=NOON + HOUR), an_extra_entry(task, due=NOON + MINUTE)
        await store.join(a_node())
        await store.add([a_new_task(task, entries=[an_entry(task), gone])])
        await claim(store, decide=lambda _, entry, __: Change(dropped=(entry.slot, gone.slot), put=(new,)))
        assert (await get_facts(store, task)).entries == (new,)
        assert await store.next_due() == NOON + MINUTE
