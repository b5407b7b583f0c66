"""Contract of idle runs: the write that parks an entry asks the idle runs of its lane to yield, across all handles."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....lifecycle.lanes.idle import request_yields
from .....model.change import Change, Facts
from .....model.entry import EntryState
from .....model.events.event import EventKind
from .....model.lanes.idle import IDLE_RUNS_KIND, YIELD_REQUEST_KIND, YieldKind, YieldReason, YieldRequest
from .....model.run import Run, RunState
from .....ports.full_store import FullStore
from ....decisions import always, lose
from ....factories import MINUTE, NODE, NOON, SECOND, a_node, a_settlement, a_task
from ..contract import Contract
from ..setup import claim, fill_lane, get_facts, settle

_OTHER_OWNER = YieldReason(YieldKind.OTHER_OWNER, "press")
_HIGHER = YieldReason(YieldKind.HIGHER_PRIORITY, "press")


async def _requests(store: FullStore, node: str = NODE) -> tuple[YieldRequest, ...]:
    return (await store.renew_lease(node, NOON)).yield_requests


async def _fill(store: FullStore, owner: str = "ada", priority: int = 0) -> Run:
    (run,) = await fill_lane(store, "press", a_task(owner=owner, priority=priority))
    return run


async def _is_clean(store: FullStore) -> bool:
    """Whether no record of idle runs or requests is left."""
    return not any([(await store.records(kind)).items for kind in (IDLE_RUNS_KIND, YIELD_REQUEST_KIND)])


class IdleRunsContract(Contract):
    async def test_an_idle_run_is_asked_to_yield_to_another_owner(self, store: FullStore) -> None:
        run = await _fill(store)
        assert await store.declare_idle(run.id, run.token, NOON) is None
        assert await _requests(store) == ()
        assert await fill_lane(store, "press", a_task(owner="bob")) == []
        assert await _requests(store) == (YieldRequest(run.id, NOON, _OTHER_OWNER),)
        assert await _requests(store) == (YieldRequest(run.id, NOON, _OTHER_OWNER),), "repeated by every renewal"
        (event,) = [each.event for each in await store.events(0) if each.event.kind is EventKind.RUN_YIELD_REQUESTED]
        assert (event.owner, event.task_id, event.run_id) == (run.owner, run.task_id, run.id)
        assert (event.at, event.detail) == (NOON, "other_owner: press")

    async def test_an_idle_run_is_asked_to_yield_to_a_higher_priority(self, store: FullStore) -> None:
        run = await _fill(store, priority=3)
        await store.declare_idle(run.id, run.token, NOON)
        await fill_lane(store, "press", *(a_task(owner="ada", priority=n) for n in (1, 3)))
        assert await _requests(store) == (), "an equal or lower priority of its own owner waits"
        await fill_lane(store, "press", a_task(owner="ada", priority=4), a_task(owner="bob"))
        assert await _requests(store) == (YieldRequest(run.id, NOON, _HIGHER),), "asked once, with the first reason"

    async def test_a_run_that_is_not_idle_is_not_asked(self, store: FullStore) -> None:
        run = await _fill(store)
        await fill_lane(store, "press", a_task(owner="bob", priority=9))
        assert await _requests(store) == ()
        assert run.state is RunState.RUNNING

    async def test_a_run_that_becomes_idle_is_told_of_the_entries_that_wait_already(self, store: FullStore) -> None:
        run = await _fill(store)
        await fill_lane(store, "press", a_task(owner="ada"))
        assert await store.declare_idle(run.id, run.token, NOON) is None
        await store.declare_idle(run.id, run.token, None)
        await fill_lane(store, "press", a_task(owner="bob"), a_task(owner="cleo"))
        assert await store.declare_idle(run.id, run.token, NOON + SECOND) == _OTHER_OWNER
        assert await _requests(store) == (YieldRequest(run.id, NOON + SECOND, _OTHER_OWNER),)
        assert await store.declare_idle(run.id, run.token, NOON + MINUTE) == _OTHER_OWNER, "it was idle already"

    async def test_a_run_that_is_busy_again_is_no_longer_asked(self, store: FullStore) -> None:
        run = await _fill(store)
        await store.declare_idle(run.id, run.token, NOON)
        await fill_lane(store, "press", a_task(owner="bob"))
        assert await store.declare_idle(run.id, run.token, None) is None
        assert await _requests(store) == ()
        assert await _is_clean(store)

    async def test_the_end_of_an_idle_run_leaves_nothing(self, store: FullStore) -> None:
        run = await _fill(store)
        await store.declare_idle(run.id, run.token, NOON)
        await fill_lane(store, "press", *(a_task(owner=owner) for owner in ("bob", "cleo")))
        await settle(store, run)
        assert await _requests(store) == ()
        assert await _is_clean(store)

    async def test_an_idle_run_that_is_recovered_or_deleted_leaves_nothing(self, store: FullStore) -> None:
        first = await _fill(store)
        await store.declare_idle(first.id, first.token, NOON)
        await fill_lane(store, "press", a_task(owner="bob"))
        await store.join(a_node("watcher"))
        await store.recover(NODE, 1, lose, 10)
        await store.recover(NODE, 0, lose, 10)
        assert await _is_clean(store)
        second = (await fill_lane(store, "oven", a_task(owner="ada")))[0]
        await store.declare_idle(second.id, second.token, NOON)
        await fill_lane(store, "oven", a_task(owner="bob"))
        await store.change(second.task_id, None, always(Change(deleted=True)))
        assert await _is_clean(store)

    async def test_a_run_that_waits_for_an_answer_is_not_idle(self, store: FullStore) -> None:
        run = await _fill(store)
        await store.declare_idle(run.id, run.token, NOON)
        waiting = run._replace(state=RunState.WAITING, node=None, deadline=NOON + MINUTE)
        await store.settle([a_settlement(run)], lambda *_: Change(updated_runs=(waiting,)))
        await fill_lane(store, "press", a_task(owner="bob"))
        assert await _requests(store) == ()
        assert await _is_clean(store)

    async def test_a_stale_token_declares_nothing(self, store: FullStore) -> None:
        run = await _fill(store)
        await fill_lane(store, "press", a_task(owner="bob"))
        assert await store.declare_idle(run.id, run.token - 1, NOON) is None
        await settle(store, run)
        assert await store.declare_idle(run.id, run.token, NOON) is None
        assert await _is_clean(store)

    async def test_an_idle_run_is_asked_in_each_of_its_lanes(self, store: FullStore) -> None:
        await store.set_lane("oven", 1)
        run = (await fill_lane(store, "press", a_task(owner="ada", lanes=("oven",))))[0]
        assert run.lanes == ("press", "oven")
        await store.declare_idle(run.id, run.token, NOON)
        await fill_lane(store, "oven", a_task(owner="bob"))
        await fill_lane(store, "press", a_task(owner="ada", priority=7))
        found = {request.reason for request in await _requests(store)}
        assert found == {YieldReason(YieldKind.OTHER_OWNER, "oven"), _HIGHER}
        await settle(store, run)
        assert await _is_clean(store)

    async def test_a_request_of_another_handle_reaches_the_node_of_the_run(self, store: FullStore) -> None:
        run = await _fill(store)
        await store.declare_idle(run.id, run.token, NOON)
        async with self.another(store) as other:
            await fill_lane(other, "press", a_task(owner="bob"))
            await other.join(a_node("another"))
            assert await _requests(other, "another") == ()
        assert await _requests(store) == (YieldRequest(run.id, NOON, _OTHER_OWNER),)

    async def test_all_idle_runs_of_a_lane_are_asked(self, store: FullStore) -> None:
        await store.set_lane("press", 3)
        runs = await fill_lane(store, "press", *(a_task(owner="ada") for _ in range(3)))
        for run in runs[:2]:
            await store.declare_idle(run.id, run.token, NOON)
        await fill_lane(store, "press", a_task(owner="bob"))
        assert {request.run_id for request in await _requests(store)} == {run.id for run in runs[:2]}
        await settle(store, *runs)
        assert await _is_clean(store)

    async def test_a_raised_priority_of_a_waiting_entry_asks_too(self, store: FullStore) -> None:
        run = await _fill(store)
        await store.declare_idle(run.id, run.token, NOON)
        task = a_task(owner="ada", lane="press")
        await fill_lane(store, "press", task)
        assert await _requests(store) == ()
        (entry,) = (await get_facts(store, task)).entries
        assert entry.state is EntryState.PARKED

        def raise_priority(facts: Facts) -> Change:
            (parked,) = facts.entries
            return request_yields(facts, Change(put=(parked._replace(priority=5),)), NOON)

        await store.change(task.id, None, raise_priority)
        assert await _requests(store) == (YieldRequest(run.id, NOON, _HIGHER),)
        assert (await claim(store)).decided == 0
