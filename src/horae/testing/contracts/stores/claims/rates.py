"""Contract of lanes with a rate: no window holds more starts, across all handles, and a wake-up unparks those that wait."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from .....model.change import Change
from .....model.entry import EntryState
from .....model.lanes.lane import MAX_LANE_LIMIT, LaneUse
from .....model.lanes.rate import Rate
from .....ports.full_store import FullStore
from .....ports.transfer import Part
from ....decisions import always, fail_at_call, lose, start_within_lanes
from ....factories import MINUTE, NODE, NOON, SECOND, a_node, a_task
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, get_facts, settle

_TWO: Rate = Rate(2, SECOND)
_TICK: timedelta = timedelta(microseconds=1)


async def _fill(store: FullStore, number: int, lane: str = "press") -> list[str]:
    """Add tasks in the lane, all due at once; return their ids."""
    await store.join(a_node())
    tasks = [a_task(lane=lane) for _ in range(number)]
    await add_tasks(store, *tasks)
    return [task.id for task in tasks]


async def _start(store: FullStore, now: datetime = NOON, room: int = 1_000) -> list[str]:
    """Claim at this instant; return the started tasks in order."""
    claimed = await claim_all(store, now, decide=start_within_lanes(at=now), room=room)
    return [each.task.id for each in claimed]


async def _use(store: FullStore, lane: str = "press") -> LaneUse:
    return next(each for each in await store.lanes() if each.name == lane)


class RatesContract(Contract):
    async def test_a_claim_starts_at_most_what_the_rate_allows(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        ids = await _fill(store, 5)
        assert await _start(store) == ids[:2]
        assert await _start(store) == []
        assert await _start(store, NOON + SECOND - _TICK) == []
        assert await _start(store, NOON + SECOND) == ids[2:4]
        assert await _start(store, NOON + 2 * SECOND) == ids[4:]
        assert await store.check() == ()

    async def test_every_window_counts_not_only_whole_periods(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        half = SECOND / 2
        first = await _fill(store, 1)
        assert await _start(store) == first
        later = await _fill(store, 4)
        assert await _start(store, NOON + half) == later[:1]
        assert await _start(store, NOON + SECOND) == later[1:2]
        assert await _start(store, NOON + SECOND + half - _TICK) == []
        assert await _start(store, NOON + SECOND + half) == later[2:3]

    async def test_the_agenda_has_one_wake_up_for_those_that_wait(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        ids = await _fill(store, 5)
        waiting = await claim(store, decide=start_within_lanes())
        assert (waiting.more, waiting.next_due) == (False, NOON + SECOND)
        assert await store.next_due() == NOON + SECOND
        assert (await store.renew_lease(NODE, NOON)).next_due == NOON + SECOND
        for task_id in ids[2:]:
            facts = await store.facts(task_id, None)
            assert facts is not None
            assert [entry.state for entry in facts.entries] == [EntryState.PARKED]
        early = await claim(store, NOON + SECOND - _TICK, decide=start_within_lanes())
        assert (early.decided, early.more, early.next_due) == (0, False, NOON + SECOND)

    async def test_without_those_that_wait_there_is_no_wake_up(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        await _fill(store, 2)
        assert len(await _start(store)) == 2
        assert await store.next_due() is None

    async def test_a_wake_up_of_entries_that_are_gone_does_nothing(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        ids = await _fill(store, 3)
        await _start(store)
        await store.change(ids[2], None, always(Change(deleted=True)))
        nothing = await claim(store, NOON + SECOND, decide=start_within_lanes())
        assert (nothing.runs, nothing.more, nothing.next_due) == ((), False, None)

    async def test_the_rate_holds_across_handles(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(5, SECOND))
        await _fill(store, 40)
        async with self.another(store) as other:
            for seconds in range(3):
                now = NOON + seconds * SECOND
                both = (store, other, store, other)
                shares = await asyncio.gather(*(_start(each, now, room=2) for each in both))
                assert sum(map(len, shares)) == 5
            assert await store.check() == ()

    async def test_a_rate_without_a_limit_does_not_bound_concurrency(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        ids = await _fill(store, 6)
        started = [each for seconds in range(3) for each in await _start(store, NOON + seconds * SECOND)]
        assert started == ids
        assert (await _use(store))[:3] == ("press", MAX_LANE_LIMIT, 6)

    async def test_limit_and_rate_hold_together(self, store: FullStore) -> None:
        await store.set_lane("press", 3, rate=_TWO)
        await _fill(store, 8)
        first = await claim_all(store, decide=start_within_lanes())
        assert len(first) == 2
        assert len(await _start(store, NOON + SECOND)) == 1, "the limit leaves one slot"
        assert await _start(store, NOON + MINUTE) == []
        assert await store.next_due() is None, "only the end of a run frees a slot"
        await settle(store, *(each.run for each in first))
        assert len(await _start(store, NOON + MINUTE)) == 2
        assert await store.check() == ()

    async def test_a_freed_slot_waits_for_the_rate(self, store: FullStore) -> None:
        await store.set_lane("press", 1, rate=Rate(1, MINUTE))
        ids = await _fill(store, 2)
        (claimed,) = await claim_all(store, decide=start_within_lanes())
        assert await store.next_due() is None
        await settle(store, claimed.run)
        assert await store.next_due() == NOON + MINUTE
        assert await _start(store, NOON + MINUTE - _TICK) == []
        assert await _start(store, NOON + MINUTE) == ids[1:]

    async def test_a_lost_run_counts_as_a_start(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        ids = await _fill(store, 2)
        assert await _start(store) == ids[:1]
        await store.join(a_node("watcher"))
        await store.recover(NODE, 0, lose, 10)
        await store.join(a_node())
        assert await _start(store, NOON + SECOND) == []
        assert await _start(store, NOON + MINUTE) == ids[1:]

    async def test_a_failed_claim_counts_no_start(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        ids = await _fill(store, 2)
        try:
            await claim(store, decide=fail_at_call(2, start_within_lanes()))
        except Exception:  # noqa: BLE001 - the planned failure, as the store wraps it
            assert await _start(store) == ids
        else:
            raise AssertionError("the claim was to fail")

    async def test_owners_take_turns_in_a_lane_with_a_rate(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, SECOND))
        await store.join(a_node())
        ada = [a_task(lane="press", owner="ada", priority=9) for _ in range(3)]
        bob = [a_task(lane="press", owner="bob") for _ in range(2)]
        await add_tasks(store, *ada, *bob)
        order = [each for seconds in range(5) for each in await _start(store, NOON + seconds * SECOND)]
        assert order == [task.id for task in (ada[0], bob[0], ada[1], bob[1], ada[2])]

    async def test_a_newcomer_does_not_overtake_those_that_wait_for_the_rate(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, SECOND))
        ids = await _fill(store, 2)
        assert await _start(store) == ids[:1]
        await add_tasks(store, a_task(lane="press", priority=50), due=NOON + SECOND)
        assert await _start(store, NOON + SECOND) == ids[1:]

    async def test_several_lanes_with_a_rate_are_woken_each_in_its_time(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, SECOND))
        await store.set_lane("oven", None, rate=Rate(1, MINUTE))
        press, oven = await _fill(store, 2), await _fill(store, 2, "oven")
        assert await _start(store) == [press[0], oven[0]]
        assert await _start(store, NOON + SECOND) == press[1:]
        assert await store.next_due() == NOON + MINUTE
        assert await _start(store, NOON + MINUTE) == oven[1:]

    async def test_a_removed_rate_lets_all_go_on_at_once(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        ids = await _fill(store, 5)
        assert await _start(store) == ids[:1]
        await store.set_lane("press", None, rate=None)
        assert await _start(store, NOON + SECOND) == ids[1:]
        assert (await _use(store)).rate is None
        assert await store.check() == ()

    async def test_a_removed_rate_leaves_the_limit(self, store: FullStore) -> None:
        await store.set_lane("press", 2, rate=Rate(1, MINUTE))
        ids = await _fill(store, 5)
        assert await _start(store) == ids[:1]
        await store.set_lane("press", None, rate=None)
        assert await _start(store, NOON + SECOND) == ids[1:2]

    async def test_a_removed_rate_forgets_its_starts(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        ids = await _fill(store, 2)
        await _start(store)
        await store.set_lane("press", 5, rate=None)
        await store.set_lane("press", 5, rate=Rate(1, MINUTE))
        assert await _start(store, NOON + SECOND) == ids[1:]

    async def test_a_new_limit_keeps_the_rate_and_a_new_rate_the_limit(self, store: FullStore) -> None:
        await store.set_lane("press", 3, rate=_TWO)
        await store.set_lane("press", 4)
        assert (await _use(store)) == LaneUse("press", 4, 0, rate=_TWO)
        await store.set_lane("press", None, rate=Rate(7, MINUTE))
        assert (await _use(store)) == LaneUse("press", 4, 0, rate=Rate(7, MINUTE))

    async def test_a_lower_rate_counts_the_starts_before(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(3, SECOND))
        ids = await _fill(store, 6)
        assert await _start(store) == ids[:3]
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        assert await _start(store, NOON + MINUTE - _TICK) == []
        assert await _start(store, NOON + MINUTE) == ids[3:4]
        assert await store.next_due() == NOON + 2 * MINUTE

    async def test_a_higher_rate_lets_more_go_on_at_once(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        ids = await _fill(store, 6)
        assert await _start(store) == ids[:1]
        await store.set_lane("press", None, rate=Rate(3, MINUTE))
        assert await _start(store, NOON + SECOND) == ids[1:3]
        await store.set_lane("press", None, rate=Rate(3, 2 * SECOND))
        assert await store.next_due() == NOON + 2 * SECOND
        assert await _start(store, NOON + 2 * SECOND) == ids[3:4]

    async def test_a_rate_for_a_lane_in_use_counts_from_now_on(self, store: FullStore) -> None:
        await store.set_lane("press", 2)
        ids = await _fill(store, 6)
        runs = [each.run for each in await claim_all(store, decide=start_within_lanes())]
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        await settle(store, *runs)
        assert await _start(store, NOON + SECOND) == ids[2:3]
        assert await _start(store, NOON + MINUTE) == []
        assert await _start(store, NOON + MINUTE + SECOND) == ids[3:4]

    async def test_a_clock_that_was_set_back_allows_no_further_start(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        ids = await _fill(store, 2)
        assert await _start(store, NOON + MINUTE) == ids
        later = await _fill(store, 3)
        assert await _start(store, NOON) == []
        assert await store.next_due() == NOON + MINUTE + SECOND
        assert await _start(store, NOON + MINUTE + SECOND) == later[:2]
        assert await store.check() == ()

    async def test_a_start_on_a_clock_that_is_behind_counts_as_late_as_the_last(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=_TWO)
        first = await _fill(store, 1)
        assert await _start(store, NOON + MINUTE) == first
        second = await _fill(store, 1)
        assert await _start(store, NOON) == second
        third = await _fill(store, 1)
        assert await _start(store, NOON + MINUTE + SECOND - _TICK) == []
        assert await _start(store, NOON + MINUTE + SECOND) == third

    async def test_many_starts_stay_within_the_rate(self, store: FullStore) -> None:
        """More starts than are kept: rows that no longer count are removed."""
        rate = Rate(40, SECOND)
        await store.set_lane("press", None, rate=rate)
        await _fill(store, 130)
        instants: list[datetime] = []
        now = NOON
        while len(instants) < 130:
            instants += [now] * len(await _start(store, now, room=7))
            now = max(now + timedelta(milliseconds=30), await store.next_due() or NOON)
        for index, at in enumerate(instants):
            assert sum(at <= other < at + rate.period for other in instants[index:]) <= rate.starts
        assert await store.check() == ()

    async def test_readers_see_the_rate_and_the_next_start(self, store: FullStore) -> None:
        await store.set_lane("press", 9, rate=_TWO)
        assert await _use(store) == LaneUse("press", 9, 0, rate=_TWO)
        ids = await _fill(store, 3)
        await _start(store)
        expected = LaneUse("press", 9, 2, rate=_TWO, next_start=NOON + SECOND)
        assert await _use(store) == expected
        facts = await store.facts(ids[2], None)
        assert facts is not None
        assert facts.lanes == (expected,)

    async def test_an_edit_of_the_lane_releases_an_entry_that_waits_for_a_rate(self, store: FullStore) -> None:
        await store.set_lane("press", None, rate=Rate(1, MINUTE))
        await store.join(a_node())
        first, second = a_task(lane="press"), a_task(lane="press")
        await add_tasks(store, first, second)
        await _start(store)
        facts = await get_facts(store, second)
        free = facts.entries[0]._replace(state=EntryState.TIMED, lane=None)
        await store.change(second.id, None, always(Change(task=second._replace(lane=None), put=(free,))))
        assert await _start(store, NOON + SECOND) == [second.id]

    async def test_rate_starts_and_wake_up_are_moved(self, store: FullStore) -> None:
        await store.set_lane("press", 9, rate=_TWO)
        await _fill(store, 3)
        await _start(store)
        page = await store.export_page(Part.LANES)
        async with self.make() as target:
            await target.import_page(Part.LANES, page.items)
            assert (await target.export_page(Part.LANES)).items == page.items
            assert await target.next_due() == NOON + SECOND
            assert (await _use(target)).next_start == NOON + SECOND
            later = await _fill(target, 1)
            assert await _start(target, NOON + SECOND - _TICK) == []
            assert await _start(target, NOON + SECOND) == later
            # A lane that has no rate in the source has none after a repeated import.
            await store.set_lane("press", 9, rate=None)
            await target.import_page(Part.LANES, (await store.export_page(Part.LANES)).items)
            assert await _use(target) == LaneUse("press", 9, 1)
