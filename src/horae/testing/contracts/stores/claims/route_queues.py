"""Contract of the queues of routes: entries of tasks that require labels are claimed by nodes that serve the queue alone."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime

from .....lifecycle.fire import fire, park_unroutable
from .....lifecycle.start import ClaimContext
from .....model.change import Change, Facts, FireDecision
from .....model.entry import Entry, EntryState
from .....model.lanes.node_labels import LabelPairs
from .....model.lanes.route import queue_of
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import DEFAULT_TERMS, Claim, RouteQueue, WaitingCounts
from ....decisions import start_everything
from ....factories import HOUR, MINUTE, NODE, NOON, a_new_task, a_node, a_task, an_entry
from ..contract import Contract
from ..setup import add_tasks, claim_all, fill_lane, get_facts, settle

GPU: LabelPairs = (("gpu", "a100"),)
DISK: LabelPairs = (("disk", "ssd"), ("gpu", "a100"))


async def _claim_queued(store: FullStore, *tasks: Task, at: datetime = NOON, room: int = 10) -> Claim:
    queues = {queue_of(task) for task in tasks}
    return await store.claim_queued(at, NODE, room, start_everything, queues)


def _fire_with_labels(labels: LabelPairs) -> FireDecision:
    claimant = ClaimContext(NODE, NOON, DEFAULT_TERMS.poll_ceiling, None, frozenset(labels))
    return lambda facts, entry, token: fire(facts, entry, token, claimant)


def _start_with_labels(*labels: tuple[str, str]) -> FireDecision:
    claimant = ClaimContext(NODE, NOON, DEFAULT_TERMS.poll_ceiling, None, frozenset(labels))

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        return park_unroutable(facts, entry, claimant) or start_everything(facts, entry, token)

    return decide


class RouteQueuesContract(Contract):
    async def test_labels_of_a_node_are_stored(self, store: FullStore) -> None:
        node = a_node()._replace(labels=(("gpu", "a100"), ("node", "desk")))
        await store.join(node)
        assert [each.labels for each in await store.nodes()] == [(("gpu", "a100"), ("node", "desk"))]
        await store.join(node._replace(labels=(("node", "desk"),)))
        assert [each.labels for each in await store.nodes()] == [(("node", "desk"),)]
        await store.join(a_node("other"))
        assert [each.labels for each in (await store.renew_lease("other", NOON)).nodes] == [(("node", "desk"),)]

    async def test_an_entry_that_requires_labels_is_not_on_the_agenda_of_all_nodes(self, store: FullStore) -> None:
        task, plain = a_task(where=GPU), a_task()
        await store.join(a_node())
        await add_tasks(store, task, due=NOON)
        await add_tasks(store, plain, due=NOON + MINUTE)
        assert await store.next_due() == NOON + MINUTE
        assert (await store.renew_lease(NODE, NOON)).next_due == NOON + MINUTE
        assert [each.task.id for each in await claim_all(store, NOON + HOUR)] == [plain.id]
        assert (await get_facts(store, task)).entries == (an_entry(task, lane=queue_of(task)),)

    async def test_the_queue_of_a_route_is_claimed_by_those_who_serve_it(self, store: FullStore) -> None:
        first, second, other = a_task(where=GPU), a_task(where=GPU), a_task(where=DISK)
        await store.join(a_node())
        await add_tasks(store, first, other, due=NOON)
        await add_tasks(store, second, due=NOON + MINUTE)
        assert (await store.admit([])).queues == tuple(
            sorted((RouteQueue(queue_of(first), NOON), RouteQueue(queue_of(other), NOON)))
        )
        claimed = await _claim_queued(store, first)
        assert [each.task.id for each in claimed.runs] == [first.id]
        assert (claimed.more, claimed.next_due) == (False, NOON + MINUTE)
        later = await _claim_queued(store, first, other, at=NOON + MINUTE)
        assert {each.task.id for each in later.runs} == {second.id, other.id}
        assert (later.more, later.next_due) == (False, None)
        assert (await store.admit([])).queues == ()

    async def test_a_queue_is_not_claimed_early_or_without_a_lease(self, store: FullStore) -> None:
        task = a_task(where=GPU)
        await add_tasks(store, task, due=NOON + MINUTE)
        assert await _claim_queued(store, task, at=NOON + HOUR) == Claim()
        await store.join(a_node())
        early = await _claim_queued(store, task)
        assert (early.runs, early.more, early.next_due) == ((), False, NOON + MINUTE)
        assert await store.claim_queued(NOON + HOUR, NODE, 10, start_everything, ()) == Claim()

    async def test_a_queue_is_claimed_in_slices_by_priority(self, store: FullStore) -> None:
        tasks = [a_task(where=GPU), a_task(where=GPU, priority=9)]
        await store.join(a_node())
        await add_tasks(store, *tasks, due=NOON)
        both = await _claim_queued(store, tasks[0])
        assert [each.task.id for each in both.runs] == [tasks[1].id, tasks[0].id]

    async def test_claimed_room_of_a_queue_is_bounded(self, store: FullStore) -> None:
        tasks = [a_task(where=GPU) for _ in range(3)]
        await store.join(a_node())
        await add_tasks(store, *tasks, due=NOON)
        first = await _claim_queued(store, tasks[0], room=2)
        assert (len(first.runs), first.more) == (2, True)
        assert len((await _claim_queued(store, tasks[0], room=2)).runs) == 1

    async def test_a_claim_without_room_returns_the_head_of_the_queues(self, store: FullStore) -> None:
        """Entries that stay due for lack of room are not delayed, as those that another node has locked may be."""
        task = a_task(where=GPU)
        await add_tasks(store, task, due=NOON)
        assert await _claim_queued(store, task, room=0) == Claim()
        await store.join(a_node())
        assert await _claim_queued(store, task, room=0) == Claim((), 0, more=True, next_due=NOON)
        early = await _claim_queued(store, task, at=NOON - MINUTE, room=0)
        assert early == Claim((), 0, more=False, next_due=NOON)
        assert len((await _claim_queued(store, task)).runs) == 1
        assert await _claim_queued(store, task, room=0) == Claim()

    async def test_owners_take_turns_in_a_queue(self, store: FullStore) -> None:
        tasks = [a_task(where=GPU, owner=owner) for owner in ("ada", "ada", "bob")]
        await store.join(a_node())
        await add_tasks(store, *tasks, due=NOON)
        claimed = await _claim_queued(store, tasks[0])
        assert [each.task.owner for each in claimed.runs] == ["ada", "bob", "ada"]

    async def test_the_next_occurrence_goes_to_the_queue_too(self, store: FullStore) -> None:
        task = a_task(where=GPU)
        await store.join(a_node())
        await add_tasks(store, task, due=NOON)
        await store.claim_queued(NOON, NODE, 10, _fire_with_labels(GPU), {queue_of(task)})
        (entry,) = (await get_facts(store, task)).entries
        assert (entry.state, entry.lane) == (EntryState.TIMED, queue_of(task))
        assert entry.due > NOON
        assert await store.next_due() is None

    async def test_an_entry_that_an_incapable_node_claims_returns_to_its_queue(self, store: FullStore) -> None:
        """It was unparked for a lane slot, and any node may claim it then."""
        (run,) = await fill_lane(store, "press", a_task())
        task = a_task(where=GPU, lane="press")
        parked = an_entry(task, state=EntryState.PARKED, lane="press")
        await store.add([a_new_task(task, entries=[parked])])
        await settle(store, run)
        assert await claim_all(store, decide=_start_with_labels(("node", "desk"))) == []
        assert (await store.admit([])).queues == (RouteQueue(queue_of(task), NOON),)
        claimed = await store.claim_queued(NOON, NODE, 10, _start_with_labels(*GPU), {queue_of(task)})
        assert [each.task.id for each in claimed.runs] == [task.id]

    async def test_due_entries_in_queues_are_listed_as_stranded(self, store: FullStore) -> None:
        task, future = a_task(where=GPU), a_task(where=GPU)
        await add_tasks(store, task, due=NOON)
        await add_tasks(store, future, due=NOON + HOUR)
        assert await store.waiting(None, NOON) == WaitingCounts(stranded=1)
        assert [facts.task.id for facts in await store.stranded(None, NOON)] == [task.id]
        assert await store.stranded("bob", NOON) == ()
        assert len(await store.stranded(None, NOON + HOUR)) == 2
        assert len(await store.stranded(None, NOON + HOUR, 1)) == 1

    async def test_entries_in_queues_are_upcoming(self, store: FullStore) -> None:
        tasks = [a_task(where=GPU), a_task()]
        await add_tasks(store, tasks[1], due=NOON + MINUTE)
        await add_tasks(store, tasks[0], due=NOON + HOUR)
        assert [facts.task.id for facts in await store.upcoming(None)] == [tasks[1].id, tasks[0].id]
        assert len(await store.upcoming(tasks[0].owner)) == 2
