"""Contract of routes: an entry that no node can run is stranded until a node admits its route."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....lifecycle.fire import park_unroutable
from .....lifecycle.start import ClaimContext
from .....model.change import Change, Facts, FireDecision
from .....model.entry import Entry, EntryState
from .....model.lanes.route import function_route, kind_route
from .....model.task import Target, Task
from .....ports.full_store import FullStore
from .....ports.store import DEFAULT_TERMS, WaitingCounts
from ....decisions import start_everything, start_within_lanes
from ....factories import HOUR, NODE, NOON, a_new_task, a_node, a_task, an_entry, an_extra_entry
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, fill_lane, get_facts, settle

WATER = function_route("garden.water")
"""The route of the usual task."""
_HTTP = kind_route("http")


def _http_task(url: str = "https://example.org") -> Task:
    return a_task(target=Target("http", f'{{"url":"{url}"}}'))


def _start_if_routable(*routes: str) -> FireDecision:
    """Start entries with one of these routes and strand the rest."""
    claimant = ClaimContext(NODE, NOON, DEFAULT_TERMS.poll_ceiling, frozenset(routes))

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        return park_unroutable(facts, entry, claimant) or start_everything(facts, entry, token)

    return decide


class RoutesContract(Contract):
    async def test_tasks_with_stranded_entries_are_listed(self, store: FullStore) -> None:
        await store.join(a_node())
        water, call = a_task(), a_task(target=Target("http", '{"url":"https://example.org"}'), owner="bob")
        parked = a_task(lane="press")
        await add_tasks(store, water, call, parked)
        await store.claim_due(NOON + HOUR, NODE, 10, _start_if_routable())
        assert [facts.task.id for facts in await store.stranded(None, NOON + HOUR)] == [water.id, call.id, parked.id]
        assert [facts.task.id for facts in await store.stranded("bob", NOON + HOUR)] == [call.id]
        assert len(await store.stranded(None, NOON + HOUR, 1)) == 1
        await store.admit([WATER])
        assert [facts.task.id for facts in await store.stranded(None, NOON + HOUR)] == [call.id]

    async def test_a_stranded_entry_is_neither_claimable_nor_next_due(self, store: FullStore) -> None:
        task = a_task()
        await store.join(a_node())
        await add_tasks(store, task)
        left = await claim(store, decide=_start_if_routable())
        assert (left.runs, left.more, left.next_due) == ((), False, None)
        assert (await claim(store, NOON + HOUR)).runs == ()
        assert (await get_facts(store, task)).entries == (an_entry(task, state=EntryState.PARKED, lane=WATER),)

    async def test_admitting_a_route_unparks_its_entries_only(self, store: FullStore) -> None:
        water, http = [a_task() for _ in range(3)], [_http_task() for _ in range(2)]
        await store.join(a_node())
        await add_tasks(store, *water, *http)
        await claim_all(store, decide=_start_if_routable())
        assert (await store.admit([WATER])).unparked == 3
        assert await store.next_due() == NOON
        assert {each.task.id for each in await claim_all(store, decide=_start_if_routable(WATER))} == {
            task.id for task in water
        }
        assert [(await get_facts(store, task)).entries[0].lane for task in http] == [_HTTP, _HTTP]

    async def test_several_routes_are_admitted_in_one_call(self, store: FullStore) -> None:
        tasks = [a_task(), _http_task()]
        await store.join(a_node())
        await add_tasks(store, *tasks)
        await claim_all(store, decide=_start_if_routable())
        async with self.another(store) as other:
            assert (await other.admit({WATER, _HTTP, kind_route("unknown")})).unparked == 2
        assert len(await claim_all(store)) == 2

    async def test_admitting_a_route_without_entries_unparks_nothing(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task())
        assert (await store.admit([WATER, _HTTP])).unparked == 0
        assert (await store.admit([])).unparked == 0
        await claim_all(store, decide=_start_if_routable())
        assert (await store.admit([])).unparked == 0
        assert (await store.admit([_HTTP])).unparked == 0
        assert (await store.admit([WATER])).unparked == 1
        assert (await store.admit([WATER])).unparked == 0

    async def test_an_admitted_entry_is_unchanged(self, store: FullStore) -> None:
        """Same instant, attempt and rank: nothing was attempted."""
        urgent, idle = a_task(priority=9), a_task()
        await store.join(a_node())
        await store.add([a_new_task(each, entries=[an_entry(each, attempt=2)]) for each in (idle, urgent)])
        await claim_all(store, decide=_start_if_routable())
        await store.admit([WATER])
        assert (await get_facts(store, idle)).entries == (an_entry(idle, attempt=2),)
        claimed = await claim_all(store, NOON + HOUR)
        assert [(each.task.id, each.run.planned, each.run.attempt) for each in claimed] == [
            (urgent.id, NOON, 2),
            (idle.id, NOON, 2),
        ]

    async def test_a_task_may_have_a_stranded_and_a_future_entry(self, store: FullStore) -> None:
        task = a_task()
        later = an_extra_entry(task, due=NOON + HOUR)
        await store.join(a_node())
        await store.add([a_new_task(task, entries=[an_entry(task), later])])
        await claim_all(store, decide=_start_if_routable())
        assert await store.next_due() == NOON + HOUR
        assert (await store.admit([WATER])).unparked == 1
        assert await store.next_due() == NOON

    async def test_a_free_lane_slot_does_not_unpark_stranded_entries(self, store: FullStore) -> None:
        (run,) = await fill_lane(store, "press", a_task())
        await add_tasks(store, _http_task())
        await claim_all(store, decide=_start_if_routable())
        await settle(store, run)
        await store.set_lane(_HTTP, 5)
        await store.set_lane("press", 5)
        assert (await store.waiting(None, NOON)).parked == 0

    async def test_admitting_a_route_does_not_unpark_entries_of_a_full_lane(self, store: FullStore) -> None:
        await fill_lane(store, "press", a_task(), a_task())
        assert (await store.admit([WATER, _HTTP])).unparked == 0
        assert (await store.waiting(None, NOON)).parked == 1

    # --- waiting counts ----------------------------------------------------------------------------------------------

    async def test_waiting_entries_are_counted_by_cause(self, store: FullStore) -> None:
        await fill_lane(store, "press", *(a_task() for _ in range(4)))
        await add_tasks(store, _http_task(), a_task())
        await claim_all(store, decide=_start_if_routable())
        await add_tasks(store, a_task(), a_task(), due=NOON)
        await add_tasks(store, a_task(), due=NOON + HOUR)
        assert await store.waiting(None, NOON) == WaitingCounts(overdue=2, parked=3, stranded=2)
        assert await store.waiting(None, NOON + HOUR) == WaitingCounts(overdue=3, parked=3, stranded=2)

    async def test_waiting_entries_are_counted_by_owner(self, store: FullStore) -> None:
        await store.join(a_node())
        await add_tasks(store, a_task(owner="bob"), a_task(owner="ada"))
        await claim_all(store, decide=_start_if_routable())
        await fill_lane(store, "press", a_task(owner="bob"), a_task(owner="bob"))
        await add_tasks(store, a_task(owner="ada"))
        assert await store.waiting("ada", NOON) == WaitingCounts(overdue=1, stranded=1)
        assert await store.waiting("bob", NOON) == WaitingCounts(parked=1, stranded=1)
        assert await store.waiting("cyd", NOON) == WaitingCounts()

    async def test_sleeping_and_held_entries_are_not_counted_as_waiting(self, store: FullStore) -> None:
        tasks = [a_task(), a_task()]
        states = (EntryState.ASLEEP, EntryState.HELD)
        changes = [
            a_new_task(task, entries=[an_entry(task, state=state)]) for task, state in zip(tasks, states, strict=True)
        ]
        await store.add(changes)
        assert await store.waiting(None, NOON + HOUR) == WaitingCounts()

    async def test_an_admitted_entry_still_needs_a_lane_slot(self, store: FullStore) -> None:
        """Routes and lanes are independent."""
        (run,) = await fill_lane(store, "press", a_task())
        task = a_task(lane="press")
        await add_tasks(store, task)
        await claim_all(store, decide=_start_if_routable())
        await store.admit([WATER])
        assert await claim_all(store, decide=start_within_lanes()) == []
        assert await store.waiting(None, NOON) == WaitingCounts(parked=1)
        await settle(store, run)
        assert [each.task.id for each in await claim_all(store, decide=start_within_lanes())] == [task.id]
