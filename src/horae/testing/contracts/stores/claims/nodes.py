"""Contract of nodes and leases: renewal, drain, and recovery in batches, once, never of a node that renews."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from .....model.change import Change
from .....model.reason import Reason
from .....model.run import RunState
from .....ports.full_store import FullStore
from .....ports.store import CancelRequest
from ....decisions import decide_start, fail, lose, request_cancel
from ....factories import HOUR, MICROSECOND, NODE, NOON, SECOND, a_node, a_settlement, a_task, an_entry
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, get_facts, get_run, settle, start_run

_WATCHER = "watcher"


async def _start_runs_on_node(store: FullStore, count: int) -> None:
    """Join a node with `count` live runs, and a second node that watches it."""
    await store.join(a_node())
    await store.join(a_node(_WATCHER))
    await add_tasks(store, *(a_task() for _ in range(count)))
    await claim_all(store)


async def _list_nodes(store: FullStore) -> list[str]:
    return [node.id for node in (await store.renew_lease(_WATCHER, NOON)).nodes]


class NodesContract(Contract):
    async def test_a_lease_renewal_is_visible_to_other_nodes(self, store: FullStore) -> None:
        joined = a_node(home="machine/42", version="2.1", joined=NOON - HOUR)
        await store.join(joined)
        await store.join(a_node(_WATCHER))
        for renewals in (1, 2, 3):
            at = NOON + renewals * SECOND
            mine = await store.renew_lease(NODE, at)
            assert (mine.held, mine.cancel_requests) == (True, ())
            assert [node.id for node in mine.nodes] == [_WATCHER]
            seen = (await store.renew_lease(_WATCHER, at)).nodes
            assert seen == (joined._replace(renewals=renewals, renewed=at),)

    async def test_the_fields_of_a_node_are_visible_to_other_nodes(self, store: FullStore) -> None:
        """All fields at the join; load and clock offset with every renewal."""
        joined = a_node(host="north", load=3, capacity=100, offset=-MICROSECOND, draining=True, renewals=2)
        await store.join(joined)
        await store.join(a_node(_WATCHER))
        assert (await store.renew_lease(_WATCHER, NOON)).nodes == (joined,)
        for load, offset in ((7, HOUR + MICROSECOND), (0, -SECOND)):
            assert (await store.renew_lease(NODE, NOON, load, offset)).held
            (seen,) = (await store.renew_lease(_WATCHER, NOON)).nodes
            assert (seen.load, seen.offset) == (load, offset)
            assert (seen.host, seen.capacity, seen.draining) == ("north", 100, True)
            assert seen in await store.nodes()

    async def test_a_renewal_reports_that_the_node_is_draining(self, store: FullStore) -> None:
        """Whichever handle asked for the drain, until it is revoked; renewals of other nodes do not report it."""
        await store.join(a_node())
        await store.join(a_node(_WATCHER))
        assert not (await store.renew_lease(NODE, NOON)).draining
        async with self.another(store) as other:
            assert await other.drain(NODE)
        for _ in range(2):
            assert (await store.renew_lease(NODE, NOON)).draining
        watching = await store.renew_lease(_WATCHER, NOON)
        assert (watching.draining, [node.draining for node in watching.nodes]) == (False, [True])
        assert await store.drain(NODE, draining=False)
        assert not (await store.renew_lease(NODE, NOON)).draining

    async def test_a_draining_node_keeps_its_lease(self, store: FullStore) -> None:
        """It finishes its runs; a drain is no renewal, so a dead node is still recovered."""
        await _start_runs_on_node(store, 2)
        await store.renew_lease(NODE, NOON)
        assert await store.drain(NODE)
        (node,) = [each for each in await store.nodes() if each.id == NODE]
        assert (node.renewals, len(await store.held(NODE))) == (1, 2)
        assert await store.recover(NODE, 1, lose, 10) == 2

    async def test_an_absent_node_cannot_be_drained(self, store: FullStore) -> None:
        assert not await store.drain("unknown")
        await store.join(a_node())
        await store.leave(NODE)
        assert not await store.drain(NODE)
        assert not await store.drain(NODE, draining=False)
        assert await store.nodes() == ()

    async def test_an_absent_node_holds_no_lease(self, store: FullStore) -> None:
        assert not (await store.renew_lease("unknown", NOON)).held
        assert await store.recover("unknown", 0, fail, 10) is None

    async def test_a_renewal_reports_the_next_due_instant(self, store: FullStore) -> None:
        await store.join(a_node())
        assert (await store.renew_lease(NODE, NOON)).next_due is None
        await add_tasks(store, a_task(), due=NOON + HOUR)
        assert (await store.renew_lease(NODE, NOON)).next_due == NOON + HOUR

    async def test_a_renewal_reports_cancel_requests(self, store: FullStore) -> None:
        run, other = await start_run(store), await start_run(store)
        await store.join(a_node(_WATCHER))
        await store.change(run.task_id, None, request_cancel([run], Reason.REPLACED))
        assert (await get_run(store, run)).cancel is Reason.REPLACED
        assert (await get_run(store, other)).cancel is None
        assert (await store.renew_lease(NODE, NOON)).cancel_requests == (CancelRequest(run.id, Reason.REPLACED),)
        assert (await store.renew_lease(NODE, NOON)).cancel_requests == (CancelRequest(run.id, Reason.REPLACED),)
        assert (await store.renew_lease(_WATCHER, NOON)).cancel_requests == ()
        await settle(store, run)
        assert (await store.renew_lease(NODE, NOON)).cancel_requests == ()

    async def test_held_runs_are_listed_by_run_and_token(self, store: FullStore) -> None:
        """Not runs of another node, not waiting runs, not ended ones."""
        await store.join(a_node())
        await store.join(a_node(_WATCHER))
        assert await store.held(NODE) == ()
        mine = [await start_run(store) for _ in range(3)]
        ended = await start_run(store)
        await start_run(store, decide=decide_start(state=RunState.WAITING))
        theirs = await start_run(store, decide=decide_start(node=_WATCHER))
        await settle(store, ended)
        assert await store.held(NODE) == tuple(sorted((run.id, run.token) for run in mine))
        assert await store.held(_WATCHER) == ((theirs.id, theirs.token),)
        assert await store.held("unknown") == ()

    async def test_a_node_that_left_is_not_listed(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 0)
        await store.leave(NODE)
        assert await _list_nodes(store) == []
        assert not (await store.renew_lease(NODE, NOON)).held
        await store.leave(NODE)

    async def test_a_node_that_left_with_live_runs_can_be_recovered(self, store: FullStore) -> None:
        """The node row is the only trace of the holder of these runs."""
        await _start_runs_on_node(store, 2)
        await store.leave(NODE)
        assert await store.recover(NODE, 0, lose, 10) == 2
        assert await _list_nodes(store) == []

    async def test_a_node_that_renewed_meanwhile_is_not_recovered(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 2)
        await store.renew_lease(NODE, NOON + SECOND)
        assert await store.recover(NODE, 0, fail, 10) is None
        assert await store.recover(NODE, 2, fail, 10) is None
        assert await _list_nodes(store) == [NODE]
        assert await store.recover(NODE, 1, lose, 10) == 2

    async def test_recovery_runs_in_batches_and_the_last_removes_the_node(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 5)
        assert await store.recover(NODE, 0, lose, 2) == 2
        assert await _list_nodes(store) == [NODE]
        assert await store.recover(NODE, 0, lose, 2) == 2
        assert await store.recover(NODE, 0, lose, 2) == 1
        assert await _list_nodes(store) == []
        assert await store.recover(NODE, 0, fail, 2) is None

    async def test_a_recovery_batch_of_exactly_the_remaining_runs_removes_the_node(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 2)
        assert await store.recover(NODE, 0, lose, 2) == 2
        assert await _list_nodes(store) == []

    async def test_a_node_without_runs_is_recovered_in_one_batch(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 0)
        assert await store.recover(NODE, 0, fail, 2) == 0
        assert await _list_nodes(store) == []

    async def test_concurrent_recoveries_lose_each_run_once(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 30)
        async with self.another(store) as other:
            counts = await asyncio.gather(*(each.recover(NODE, 0, lose, 8) for each in (store, other) * 4))
        assert sum(count or 0 for count in counts) == 30
        lost = [event for event in await store.events(0) if event.event.kind == "run.lost"]
        assert len(lost) == len({event.event.run_id for event in lost}) == 30

    async def test_a_recovered_run_may_be_queued_again(self, store: FullStore) -> None:
        run = await start_run(store)
        again = an_entry(a_task(id=run.task_id), attempt=2, forgiven=1)
        await store.recover(NODE, 0, lambda facts, run: lose(facts, run)._replace(put=(again,), status=None), 10)
        facts = await get_facts(store, a_task(id=run.task_id))
        assert (facts.live, facts.entries) == ((), (again,))

    async def test_only_the_runs_of_that_node_are_recovered(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 2)
        await add_tasks(store, a_task())
        (others,) = (await claim(store, decide=decide_start(node=_WATCHER), node=_WATCHER)).runs
        assert await store.recover(NODE, 0, lose, 10) == 2
        assert await get_run(store, others.run) == others.run

    async def test_a_waiting_run_is_not_recovered_with_its_node(self, store: FullStore) -> None:
        run = await start_run(store)
        waiting = run._replace(state=RunState.WAITING, node=None, deadline=NOON + HOUR)
        await store.settle([a_settlement(run)], lambda *_: Change(updated_runs=(waiting,)))
        assert await store.recover(NODE, 0, fail, 10) == 0
        assert await get_run(store, run) == waiting
        assert await settle(store, waiting) == frozenset()

    async def test_a_recovered_node_holds_no_lease(self, store: FullStore) -> None:
        run = await start_run(store)
        await store.join(a_node(_WATCHER))
        await add_tasks(store, a_task())
        await store.recover(NODE, 0, lose, 10)
        assert not (await store.renew_lease(NODE, NOON)).held
        assert (await claim(store)).decided == 0
        assert await store.settle([a_settlement(run)], fail) == {run.id}
        assert (await get_run(store, run)).state is RunState.LOST
        assert (await claim(store, node=_WATCHER)).decided == 1

    async def test_a_node_that_rejoins_can_claim(self, store: FullStore) -> None:
        await _start_runs_on_node(store, 1)
        await store.recover(NODE, 0, lose, 10)
        await store.join(a_node())
        await add_tasks(store, a_task())
        assert (await claim(store)).decided == 1
