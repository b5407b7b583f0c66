"""Concurrent stores on one PostgreSQL schema: lanes, keys, recovery and event order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from horae.model.change import Change, Facts, SettleDecision
from horae.model.entry import Entry, EntryState
from horae.model.events.event import NumberedEvent
from horae.model.outcome import Settlement
from horae.model.policy import Policies
from horae.model.run import Run
from horae.model.task import Task
from horae.stores.postgres import PostgresStore
from horae.testing.contracts.stores.setup import add_tasks, claim, claim_all, fill_lane, get_facts, settle
from horae.testing.decisions import always, decide_start, lose, request_cancel, start_within_lanes, succeed
from horae.testing.factories import MINUTE, NOON, a_new_task, a_node, a_settlement, a_task, an_event
from tests.servers.postgres import PostgresServer
from tests.unit.stores.polling import wait_until
from tests.unit.stores.postgres.store_setup import count_blocked, new_schema, open_connection, open_store

CLAIMERS = 8
TASKS = 40


@asynccontextmanager
async def open_stores(url: str, size: int) -> AsyncIterator[list[PostgresStore]]:
    """Open `count` stores, one per node."""
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(open_store(url)) for _ in range(size)]
        for place, store in enumerate(stores):
            await store.join(a_node(f"node {place}"))
        yield stores


async def test_lane_of_one_runs_one_at_a_time_and_starves_no_waiter(postgres_server: PostgresServer) -> None:
    """Eight nodes claim and settle as fast as they can; a slot without its waiter would hang the test."""
    done: set[str] = set()
    running = most = 0

    async def claim_and_settle(store: PostgresStore, node: str) -> None:
        nonlocal running, most
        while len(done) < TASKS:
            for task, each in (await claim(store, decide=start_within_lanes(node=node), node=node, room=2)).runs:
                running += 1
                most = max(most, running)
                await store.read_metadata("a moment")
                running -= 1
                assert await settle(store, each) == frozenset()
                done.add(task.id)

    async with open_stores(new_schema(postgres_server), CLAIMERS) as stores:
        await add_tasks(stores[0], *(a_task(lane="press", priority=n % 3) for n in range(TASKS)))
        await asyncio.gather(*(claim_and_settle(store, f"node {place}") for place, store in enumerate(stores)))
        assert await stores[0].check() == ()
    assert most == 1
    assert len(done) == TASKS


async def test_lanes_and_owner_quota_hold_together(postgres_server: PostgresServer) -> None:
    done: set[str] = set()
    running = {"press": 0, "oven": 0, "ada": 0}
    most = dict(running)

    async def claim_and_settle(store: PostgresStore, node: str) -> None:
        while len(done) < TASKS:
            for task, each in (await claim(store, decide=start_within_lanes(node=node), node=node, room=3)).runs:
                for slot in (str(task.lane), task.owner):
                    running[slot] = running.get(slot, 0) + 1
                    most[slot] = max(most.get(slot, 0), running[slot])
                await store.read_metadata("a moment")
                for slot in (str(task.lane), task.owner):
                    running[slot] -= 1
                await settle(store, each)
                done.add(task.id)

    async with open_stores(new_schema(postgres_server), 4) as stores:
        await stores[0].set_lane("press", 2)
        await stores[0].set_lane("oven", 3)
        await stores[0].set_lane("owner:ada", 2)
        kinds = [("press", "ada"), ("oven", "ada"), ("oven", "bob"), ("press", "bob")]
        tasks = [a_task(lane=kinds[n % 4][0], owner=kinds[n % 4][1]) for n in range(TASKS)]
        await add_tasks(stores[0], *tasks)
        await asyncio.gather(*(claim_and_settle(store, f"node {place}") for place, store in enumerate(stores)))
        assert await stores[0].check() == ()
    assert most["press"] <= 2
    assert most["oven"] <= 3
    assert most["ada"] <= 2


async def test_edited_waiter_keeps_the_slot_it_was_given(postgres_server: PostgresServer) -> None:
    """The edit comes while the lane gets a free slot: the state read before the lock is outdated."""

    def urgent(facts: Facts) -> Change:
        (entry,) = facts.entries
        task = facts.task._replace(policies=Policies(priority=9), version=facts.task.version + 1)
        return Change(task=task, put=(entry._replace(priority=9),))

    async with open_store(new_schema(postgres_server)) as store:
        first, second = a_task(), a_task()
        (running,) = await fill_lane(store, "press", first, second)
        async with open_connection(store) as rival:
            await rival.execute("BEGIN")
            await rival.fetch("SELECT 1 FROM lanes FOR UPDATE")
            editing = asyncio.create_task(store.change(second.id, None, urgent))
            await wait_until(lambda: count_blocked(rival))
            # Simulates a settlement that holds the lane.
            await rival.execute("UPDATE agenda SET state = 0 WHERE state = 3")
            await rival.execute("DELETE FROM lane_slots; DELETE FROM live_runs")
            await rival.execute("COMMIT")
            edited = await editing
        assert edited is not None
        assert [entry.state for entry in edited.entries] == [EntryState.TIMED]
        claimed = await claim_all(store, decide=start_within_lanes())
        assert [(each.task.id, each.task.policies.priority) for each in claimed] == [(second.id, 9)]
        assert running.task_id == first.id


async def test_concurrent_adds_with_one_key_create_one_task(postgres_server: PostgresServer) -> None:
    def task_number(number: int) -> Task:
        return a_task(key="report", name=f"by number {number}")

    async def upsert(store: PostgresStore, task: Task) -> Facts:
        def decide(found: Facts | None) -> Change:
            if found is None:
                return a_new_task(task)
            return Change(task=found.task._replace(name=task.name, version=found.task.version + 1))

        return await store.upsert("ada", "report", decide)

    async with open_stores(new_schema(postgres_server), CLAIMERS) as stores:
        answers: list[Facts] = []
        for _ in range(3):
            tasks = [task_number(number) for number in range(CLAIMERS)]
            pairs = zip(stores, tasks, strict=True)
            answers = await asyncio.gather(*(upsert(store, task) for store, task in pairs))
            assert len({facts.task.id for facts in answers}) == 1
        found = await stores[0].find("ada", "report")
        assert found is not None
        assert found.task.id == answers[0].task.id
        assert found.task.version == 3 * CLAIMERS
        assert await stores[0].check() == ()


async def test_claim_during_recovery_is_recovered_or_refused(
    postgres_server: PostgresServer,
) -> None:
    async with open_stores(new_schema(postgres_server), 2) as (victim, judge):
        for turn in range(12):
            name = f"victim {turn}"
            await victim.join(a_node(name))
            await add_tasks(judge, *(a_task() for _ in range(3)))
            decide = decide_start(node=name)
            claims = [victim.claim_due(NOON, name, 1, decide) for _ in range(3)]
            claiming = asyncio.gather(*claims)
            recovered = await judge.recover(name, 0, lose, 100)
            claimed = await claiming
            assert recovered is not None
            assert await judge.held(name) == ()
            runs = [each.run for claim in claimed for each in claim.runs]
            stale = await victim.settle([a_settlement(each) for each in runs], succeed)
            assert stale == {each.id for each in runs}
            assert recovered == len(runs)
            assert (await victim.claim_due(NOON, name, 10, decide)).runs == ()
            await judge.join(a_node("sweeper"))
            await claim_all_as(judge, "sweeper")
        assert await judge.check() == ()


async def claim_all_as(store: PostgresStore, node: str) -> None:
    while (await store.claim_due(NOON, node, 100, decide_start(node=node))).runs:
        pass


async def test_concurrent_settle_cancel_and_delete_are_consistent(postgres_server: PostgresServer) -> None:
    async with open_stores(new_schema(postgres_server), 3) as stores:
        tasks = [a_task(lane="press" if n % 2 else None) for n in range(16)]
        await stores[0].set_lane("press", 100)
        await add_tasks(stores[0], *tasks)
        claimed = (await claim(stores[0], node="node 0", decide=start_within_lanes(node="node 0"))).runs
        assert len(claimed) == len(tasks)

        async def all_three(task: Task, number: int) -> None:
            (current,) = [each.run for each in claimed if each.task.id == task.id]
            deletion = a_new_task(task)._replace(task=None, put=(), events=(), status=None, deleted=True)
            await asyncio.gather(
                stores[number % 3].settle([a_settlement(current)], succeed),
                stores[(number + 1) % 3].change(task.id, None, request_end),
                stores[(number + 2) % 3].change(task.id, None, always(deletion)),
            )
            assert await stores[0].facts(task.id, None) is None
            assert await stores[0].run(current.id, None) is None

        await asyncio.gather(*(all_three(task, number) for number, task in enumerate(tasks)))
        assert await stores[0].check() == ()
        assert [lane.used for lane in await stores[0].lanes()] == [0]


def request_end(facts: Facts) -> Change:
    """Request the end of all live runs."""
    return request_cancel(facts.live)(facts)


async def test_reader_sees_every_event_number_once_in_order(postgres_server: PostgresServer) -> None:
    read: list[NumberedEvent] = []
    writing = CLAIMERS

    async def write(store: PostgresStore, number: int) -> None:
        nonlocal writing
        for turn in range(25):
            tasks = [a_task() for _ in range(1 + (turn + number) % 3)]
            await store.add([a_new_task(task) for task in tasks])
            await store.change(tasks[0].id, None, always(Change(events=(an_event(tasks[0]), an_event(tasks[0])))))
        writing -= 1

    async def follow(store: PostgresStore) -> None:
        while True:
            over = not writing
            page = await store.events(read[-1].number if read else 0, limit=7)
            read.extend(page)
            if over and not page:
                return

    async with open_stores(new_schema(postgres_server), CLAIMERS + 1) as (reader, *writers):
        second: list[NumberedEvent] = []
        await asyncio.gather(*(write(store, number) for number, store in enumerate(writers)), follow(reader))
        while page := await writers[0].events(second[-1].number if second else 0, limit=1_000):
            second.extend(page)
        assert read == second
        assert await reader.last_event() == read[-1].number
    assert [each.number for each in read] == list(range(1, len(read) + 1))
    assert len(read) == sum(1 + (turn + number) % 3 + 2 for turn in range(25) for number in range(CLAIMERS))


async def test_event_of_a_late_commit_is_not_missed(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        slow, quick = a_task(), a_task()
        async with open_connection(store) as theirs:
            await theirs.execute("BEGIN")
            await store.add_using(theirs, [a_new_task(slow)], lambda: None)
            await store.add([a_new_task(quick)])
            assert await store.events(0) == ()
            assert await store.last_event() == 0
            await theirs.execute("COMMIT")
        assert [(each.number, each.event.task_id) for each in await store.events(0)] == [(1, slow.id), (2, quick.id)]


async def test_backlog_is_shared_without_duplicate_claims(postgres_server: PostgresServer) -> None:
    taken: list[str] = []

    async def claim_and_settle(store: PostgresStore, node: str) -> None:
        while True:
            found = await claim(store, decide=decide_start(node=node), node=node, room=20)
            taken.extend(each.task.id for each in found.runs)
            if found.next_due is None:
                return

    async with open_stores(new_schema(postgres_server), 4) as stores:
        tasks = [a_task(owner=f"owner {n % 5}", priority=n % 2) for n in range(400)]
        await add_tasks(stores[0], *tasks)
        await asyncio.gather(*(claim_and_settle(store, f"node {place}") for place, store in enumerate(stores)))
        assert sorted(taken) == sorted(task.id for task in tasks)
        assert await stores[0].check() == ()


def reschedule(entry: Entry) -> SettleDecision:
    def decide(facts: Facts, run: Run, report: Settlement) -> Change:
        return succeed(facts, run, report)._replace(put=(entry,), status=facts.status)

    return decide


async def test_page_of_facts_is_a_consistent_snapshot(postgres_server: PostgresServer) -> None:
    """A task claimed meanwhile has its entry or its run, never both or neither."""
    done = False

    async def watch(store: PostgresStore, task: Task) -> None:
        while not done:
            facts = await get_facts(store, task)
            assert len(facts.entries) + len(facts.live) == 1

    async def move(store: PostgresStore, task: Task) -> None:
        nonlocal done
        later = a_new_task(task).put[0]
        for turn in range(15):
            (claimed,) = (
                await claim(store, NOON + turn * MINUTE, node="node 0", decide=decide_start(node="node 0"))
            ).runs
            back = later._replace(due=NOON + (turn + 1) * MINUTE, planned=NOON + (turn + 1) * MINUTE)

            await store.settle([a_settlement(claimed.run)], reschedule(back))
        done = True

    async with open_stores(new_schema(postgres_server), 2) as (first, second):
        task = a_task()
        await add_tasks(first, task)
        await asyncio.gather(move(first, task), watch(second, task))
