"""Contract of a backlog: round robin over owners, then priority within an owner, and nothing early."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from itertools import pairwise

from .....model.limits import BULK_TASKS, CLAIM_SLICE
from .....ports.full_store import FullStore
from ....decisions import drop, postpone
from ....factories import HOUR, MICROSECOND, MINUTE, NOON, SECOND, a_new_task, a_node, a_task, an_entry
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all

_MANY = 2 * CLAIM_SLICE + 30


class BacklogContract(Contract):
    async def test_a_backlog_is_claimed_without_loss_or_duplicates(self, store: FullStore) -> None:
        tasks = [a_task(owner=f"owner-{place % 5}", priority=place % 7) for place in range(_MANY)]
        await store.join(a_node())
        await add_tasks(store, *tasks)
        claimed = [each.task.id for each in await claim_all(store, room=50)]
        assert sorted(claimed) == sorted(task.id for task in tasks)
        assert await store.next_due() is None

    async def test_the_backlog_of_one_owner_does_not_delay_another(self, store: FullStore) -> None:
        await store.join(a_node())
        for _ in range(3):
            await add_tasks(store, *(a_task(owner="busy", priority=100) for _ in range(BULK_TASKS)), due=NOON - HOUR)
        await claim(store, NOON - SECOND)
        punctual = a_task(owner="punctual")
        await add_tasks(store, punctual)
        soon = [*(await claim(store)).runs, *(await claim(store)).runs]
        assert punctual.id in {each.task.id for each in soon}

    async def test_owners_are_claimed_round_robin(self, store: FullStore) -> None:
        await store.join(a_node())
        for place, owner in enumerate(("ada", "bob", "cyd")):
            await add_tasks(
                store, *(a_task(owner=owner, priority=place) for _ in range(CLAIM_SLICE)), due=NOON - place * SECOND
            )
        owners = [each.task.owner for each in (await claim(store)).runs]
        assert set(owners) == {"ada", "bob", "cyd"}
        assert max(owners.count(owner) for owner in set(owners)) <= CLAIM_SLICE // 2

    async def test_owners_are_claimed_round_robin_across_small_claims(self, store: FullStore) -> None:
        """The owner that was claimed last comes after all others, also across claims."""
        await store.join(a_node())
        for owner in ("ada", "bob", "cyd"):
            await add_tasks(store, *(a_task(owner=owner) for _ in range(CLAIM_SLICE)))
        owners = [(await claim(store, room=1)).runs[0].task.owner for _ in range(6)]
        assert {owners.count(owner) for owner in ("ada", "bob", "cyd")} == {2}

    async def test_within_an_owner_the_highest_priority_comes_first_then_the_oldest(self, store: FullStore) -> None:
        await store.join(a_node())
        for place in range(4):
            tasks = [a_task(priority=each % 5) for each in range(CLAIM_SLICE // 2)]
            await add_tasks(store, *tasks, due=NOON - place * SECOND)
        ranks = [(-each.task.policies.priority, each.run.due) for each in await claim_all(store)]
        assert len(ranks) == 2 * CLAIM_SLICE
        assert all(earlier <= later for earlier, later in pairwise(ranks))

    async def test_a_slower_clock_does_not_claim_entries_that_a_faster_one_has_queued(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task() for _ in range(_MANY)), due=NOON)
        fast = await claim(store, NOON, room=1)
        assert (len(fast.runs), fast.more) == (1, True)
        assert (await claim(store, NOON - MICROSECOND)).decided == 0
        assert await store.next_due() == NOON
        assert len(await claim_all(store, NOON)) == _MANY - 1

    async def test_a_postponed_entry_of_a_backlog_is_not_claimed_early(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, *(a_task() for _ in range(_MANY)))
        await claim_all(store, decide=postpone(HOUR))
        assert await store.next_due() == NOON + HOUR
        assert (await claim(store, NOON + HOUR - MICROSECOND)).decided == 0
        assert len(await claim_all(store, NOON + HOUR)) == _MANY

    async def test_the_next_due_instant_is_reported_during_a_backlog(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task(priority=-100), due=NOON - MINUTE)
        await add_tasks(store, *(a_task() for _ in range(_MANY)))
        slice_ = await claim(store, room=10)
        assert (slice_.more, slice_.next_due) == (True, NOON - MINUTE)
        assert await store.next_due() == NOON - MINUTE

    async def test_an_entry_can_be_dropped_from_a_backlog(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(_MANY)]
        await store.join(a_node())
        await add_tasks(store, *tasks)
        (first,) = (await claim(store, room=1)).runs
        left = [task for task in tasks if task.id != first.task.id]
        gone, stays = left[: CLAIM_SLICE + 1], left[CLAIM_SLICE + 1 :]
        for task in gone:
            await store.change(task.id, None, lambda facts: drop(facts, an_entry(facts.task), 0))
        claimed = [each.task.id for each in await claim_all(store)]
        assert sorted(claimed) == [task.id for task in stays]

    async def test_one_task_with_very_many_entries_does_not_delay_others(self, store: FullStore) -> None:
        greedy, modest = a_task(owner="greedy", priority=100), a_task(owner="modest")
        many = [an_entry(greedy, slot=f"manual/{place}", planned=NOON + place * SECOND) for place in range(_MANY)]
        await store.join(a_node())
        await store.add([a_new_task(greedy, entries=many), a_new_task(modest)])
        claimed = [*(await claim(store)).runs, *(await claim(store)).runs]
        assert modest.id in {each.task.id for each in claimed}
        assert {each.task.id for each in claimed} == {greedy.id, modest.id}
