"""Fast path of PostgreSQL: few ordinary tasks are claimed in two round trips and settled in one or two."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest

from horae.lifecycle.batch import ClaimDecision
from horae.lifecycle.settle import settle
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.lanes.lane import owner_lane
from horae.model.outcome import Failed, Settlement, Succeeded
from horae.model.policy import Policies
from horae.model.reason import Reason
from horae.model.run import Run
from horae.model.task import Task, TaskState
from horae.ports.full_store import FullStore
from horae.ports.store import Claim, Claimed, RunFilter
from horae.schedule import Once
from horae.stores.memory import MemoryStore
from horae.stores.postgres import PostgresStore
from horae.stores.postgres.connection import PostgresConnection
from horae.testing.contracts.stores.setup import add_tasks, get_facts
from horae.testing.decisions import always
from horae.testing.factories import HOUR, MINUTE, NODE, NOON, SECOND, a_node, a_task, an_extra_entry
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.ordinary_tasks import CLAIM_CONTEXT, decide, interval_tasks, once_tasks, settlement
from tests.unit.stores.postgres.store_setup import new_schema, open_connection, open_store

ROOM: Final = 100
VERSION: Final = "UPDATE {schema}.task_state SET version = version + 1"
LATER: Final = "UPDATE {schema}.agenda SET due = due + 1000000"
LIMIT: Final = "INSERT INTO {schema}.lanes (name, slot_limit) VALUES ('owner:ada', 1)"
BLOCK_OWNER: Final = "INSERT INTO {schema}.blocked_owners (owner, reason) VALUES ('ada', 'owner_revoked')"
DEAD: Final = "DELETE FROM {schema}.nodes"
ENTRY_ONLY: Final = "DELETE FROM {schema}.agenda"

EXISTING_RUN: Final = (
    "INSERT INTO {schema}.TABLE (id, task, owner, origin, planned, due, attempt, state, token, forgiven, deaths, alone,"
    " in_order) SELECT 'run_x', task, owner, origin, planned, due, 1, 'succeeded', 1, 0, 0, 0, 0"
    " FROM {schema}.agenda ORDER BY task LIMIT 1"
)


def execute_once(server: PostgresServer, store: PostgresStore, statement: str) -> Callable[[], None]:
    """Return a function that executes the statement in another session at its first call."""
    statements: list[str] = []

    def meanwhile() -> None:
        if not statements:
            statements.append(statement.format(schema=store.address.schema))
            server.ask(statements[0])

    return meanwhile


async def claim_due(store: FullStore, meanwhile: Callable[[], None] = lambda: None) -> Claim:
    def decide_meanwhile(facts: Facts, entry: Entry, token: int) -> Change:
        change = decide(facts, entry, token)
        meanwhile()
        return change

    return await store.claim_due(NOON, NODE, ROOM, decide_meanwhile)


async def settle_runs(
    store: FullStore, runs: tuple[Claimed, ...], meanwhile: Callable[[], None] = lambda: None
) -> frozenset[str]:
    def settle_meanwhile(facts: Facts, each: Run, report: Settlement) -> Change:
        change = settle(facts, each, report)
        meanwhile()
        return change

    reports = [settlement(each, place, Succeeded(None)) for place, each in enumerate(runs)]
    return await store.settle(reports, settle_meanwhile)


def record_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of all statements sent from now on."""
    statements: list[str] = []
    query, run, begin = PostgresConnection.query, PostgresConnection._run, PostgresConnection.begin

    async def run_recorded(link: PostgresConnection, name: str, *values: Any) -> Any:
        statements.append(name)
        return await run(link, name, *values)

    async def query_recorded(link: PostgresConnection, name: str, *values: Any) -> Any:
        statements.append(name)
        return await query(link, name, *values)

    async def claimed_runs(link: PostgresConnection) -> None:
        statements.append("begin")
        await begin(link)

    monkeypatch.setattr(PostgresConnection, "query", query_recorded)
    monkeypatch.setattr(PostgresConnection, "_run", run_recorded)
    monkeypatch.setattr(PostgresConnection, "begin", claimed_runs)
    return statements


@pytest.mark.parametrize(
    "tasks", [once_tasks(1), once_tasks(3), interval_tasks(1), [*once_tasks(2), *interval_tasks(2)]]
)
async def test_claim_takes_two_round_trips_and_settle_one_or_two(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tasks: list[Task]
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *tasks)
        statements = record_statements(monkeypatch)
        claim = await claim_due(store)
        assert len(claim.runs) == claim.decided == len(tasks)
        assert statements == ["read_few_due", "claim_few"]
        statements.clear()
        assert await settle_runs(store, claim.runs) == frozenset()
        alone = all(isinstance(task.schedule, Once) for task in tasks)
        assert statements == (["settle_few"] if alone else ["read_few_live", "settle_few"])
        assert await store.check() == ()


async def test_limited_lanes_and_their_tasks_leave_other_tasks_the_fast_path(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await store.set_lane("press", 1)
        await add_tasks(store, a_task(schedule=Once(at=NOON), lane="press"))
        (laned,) = (await claim_due(store)).runs
        await add_tasks(store, *once_tasks(2))
        statements = record_statements(monkeypatch)
        plain = (await claim_due(store)).runs
        assert (len(plain), statements) == (2, ["read_few_due", "claim_few"])
        statements.clear()
        assert await settle_runs(store, (laned, *plain)) == frozenset()
        assert statements[-1] == "settle_few", "the run in the lane is settled apart"
        assert await store.check() == ()


@pytest.mark.parametrize("statement", [LIMIT, BLOCK_OWNER])
async def test_limited_or_blocked_owner_leaves_other_owners_the_fast_path(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *once_tasks(1, owner="ada"))
        early = (await claim_due(store)).runs
        execute_once(postgres_server, store, statement)()
        statements = record_statements(monkeypatch)
        for owner in ("ada", "horae:ada"):
            await add_tasks(store, *once_tasks(1, owner=owner))
            statements.clear()
            laned = (await claim_due(store)).runs
            assert "claim_few" not in statements
            await add_tasks(store, *once_tasks(2, owner="bob"))
            statements.clear()
            plain = (await claim_due(store)).runs
            assert ({each.task.owner for each in plain}, statements) == ({"bob"}, ["read_few_due", "claim_few"])
            statements.clear()
            assert await settle_runs(store, (*laned, *plain)) == frozenset()
            assert statements[-1] == "settle_few", "a run in the lane of its owner is settled apart"
        statements.clear()
        assert await settle_runs(store, early) == frozenset()
        assert statements == ["settle_few"], "a run that takes no slot frees none"
        assert await store.check() == ()


@pytest.mark.parametrize("statement", [LIMIT, BLOCK_OWNER])
async def test_due_entries_of_a_limited_or_blocked_owner_leave_those_of_the_same_claim_the_fast_path(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        execute_once(postgres_server, store, statement)()
        await add_tasks(
            store, *once_tasks(2, owner="ada"), *once_tasks(3, owner="bob"), *interval_tasks(1, owner="eve")
        )
        await add_tasks(store, two_entries := a_task(schedule=Once(at=NOON), owner="bob"))
        await store.change(two_entries.id, None, always(Change(put=(an_extra_entry(two_entries, due=NOON + HOUR),))))
        statements = record_statements(monkeypatch)
        claim = await claim_due(store)
        assert sorted(each.task.owner for each in claim.runs) == ["bob", "bob", "bob", "eve"]
        assert (claim.more, statements) == (True, ["read_few_due", "claim_few"])
        rest = await claim_due(store)
        assert [each.task.owner for each in rest.runs] == (["ada", "bob"] if statement == LIMIT else ["bob"])
        assert not rest.more
        statements.clear()
        reports = [settlement(each, place, Succeeded(None)) for place, each in enumerate(claim.runs)]
        reports[0] = reports[0]._replace(outcome=Failed("no", permanent=True))
        assert await store.settle(reports, settle) == frozenset()
        assert statements[-2:] == ["read_few_live", "settle_few"], "the failure is settled apart"
        assert await store.check() == ()


async def test_claim_with_little_room_starts_by_priority_whether_or_not_an_owner_is_limited(
    postgres_server: PostgresServer,
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await store.set_lane(owner_lane("ada"), 5)
        await add_tasks(store, *once_tasks(2, owner="bob"), *once_tasks(1, owner="ada", policies=Policies(priority=5)))
        claim = await store.claim_due(NOON, NODE, 1, decide)
        assert [each.task.owner for each in claim.runs] == ["ada"]


@pytest.mark.parametrize("number_of_entries", [1, 2])
async def test_no_entry_starts_in_a_claim_before_one_of_higher_priority_that_is_not_ordinary(
    postgres_server: PostgresServer, number_of_entries: int
) -> None:
    """One claim takes both: the owner of the first is limited, or its task has a second entry."""
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        first = a_task(schedule=Once(at=NOON), owner="ada", policies=Policies(priority=5))
        await add_tasks(store, *once_tasks(2, owner="bob"), first)
        if number_of_entries == 1:
            await store.set_lane(owner_lane("ada"), 5)
        else:
            await store.change(first.id, None, always(Change(put=(an_extra_entry(first, due=NOON + HOUR),))))
        claim = await claim_due(store)
        assert [each.task.owner for each in claim.runs] == ["ada", "bob", "bob"]
        assert await store.check() == ()


@pytest.mark.parametrize("number", [0, 3, 70])
async def test_owners_with_limits_elsewhere_cost_a_large_claim_and_its_settlement_no_statement(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Beyond 64 of them, a claim looks for those of its own tasks by one statement."""
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        for place in range(number):
            await store.set_lane(owner_lane(f"limited-{place}"), 1)
            await store.block_owner(f"blocked-{place}", Reason.OWNER_REVOKED)
        await add_tasks(store, *once_tasks(40))
        statements, decided = record_statements(monkeypatch), 0

        def decide_counted(facts: Facts, entry: Entry, token: int) -> Change:
            nonlocal decided
            decided += 1
            return decide(facts, entry, token)

        claim = await store.claim_due(NOON, NODE, ROOM, ClaimDecision(CLAIM_CONTEXT, decide_counted))
        assert (len(claim.runs), decided) == (40, 0), "all of one class"
        assert ("limits_and_blocks_of_owners" in statements) == (number > 64)
        assert "write_starts" in statements
        statements.clear()
        reports = [settlement(each, place, Succeeded(None)) for place, each in enumerate(claim.runs)]
        assert await store.settle(reports, settle) == frozenset()
        assert statements == ["settle_few"]


async def test_a_large_claim_decides_only_the_entries_of_a_limited_owner_one_by_one(
    postgres_server: PostgresServer,
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await store.set_lane(owner_lane("ada"), 2)
        await store.block_owner("eve", Reason.OWNER_REVOKED)
        await add_tasks(store, *once_tasks(30, owner="bob"), *once_tasks(3, owner="ada"), *once_tasks(2, owner="eve"))
        singly: list[str] = []

        def decide_noted(facts: Facts, entry: Entry, token: int) -> Change:
            singly.append(facts.task.owner)
            return decide(facts, entry, token)

        claim = await store.claim_due(NOON, NODE, ROOM, ClaimDecision(CLAIM_CONTEXT, decide_noted))
        assert Counter(each.task.owner for each in claim.runs) == {"bob": 30, "ada": 2}
        assert Counter(singly) == {"ada": 3, "eve": 2}
        assert await store.check() == ()


async def test_claim_of_nothing_due_is_one_read_and_returns_next_due(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *once_tasks(2), due=NOON + HOUR)
        statements = record_statements(monkeypatch)
        assert await claim_due(store) == Claim(next_due=NOON + HOUR)
        assert statements == ["read_few_due"]
        await store.leave(NODE)
        assert await claim_due(store) == Claim(), "there is no such node"
        async with open_connection(store) as connection:
            assert not await connection.fetchval("SELECT is_called FROM tokens"), "no token was used"


async def test_claim_returns_next_due(postgres_server: PostgresServer) -> None:
    """Also when it is the next occurrence of the task just claimed."""

    for others in ([], [NOON + SECOND], [NOON + 2 * HOUR]):
        answers = []
        async with open_store(new_schema(postgres_server)) as served:
            for store in (served, MemoryStore()):
                await store.join(a_node())
                await add_tasks(store, *(first := interval_tasks(1)))
                for due in others:
                    await add_tasks(store, *once_tasks(1), due=due)
                claim = await claim_due(store)
                answers.append((claim.decided, claim.more, claim.next_due))
                assert [each.task for each in claim.runs] == first
        assert answers[0] == answers[1]


@pytest.mark.parametrize("statement", [VERSION, LATER, ENTRY_ONLY, DEAD])
async def test_entry_changed_after_the_read_is_not_claimed(postgres_server: PostgresServer, statement: str) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *once_tasks(2))
        claim = await claim_due(store, execute_once(postgres_server, store, statement))
        assert (claim.runs, claim.decided, claim.more) == ((), 0, False)
        async with open_connection(store) as connection:
            assert await connection.fetchval("SELECT count(*) FROM live_runs") == 0
            assert await connection.fetchval("SELECT sum(counted) FROM task_state") == 0
            assert await connection.fetchval("SELECT count(*) FROM event_batches") == 1
        if statement == VERSION:
            assert len((await claim_due(store)).runs) == 2


@pytest.mark.parametrize("table", ["live_runs", "runs"])
async def test_existing_run_is_not_inserted_again(postgres_server: PostgresServer, table: str) -> None:
    """The decision is repeated with the existing run; the other task is not delayed."""

    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        tasks = once_tasks(2)
        await add_tasks(store, *tasks)
        claim = await claim_due(store, execute_once(postgres_server, store, EXISTING_RUN.replace("TABLE", table)))
        assert [each.task for each in claim.runs] == tasks[1:]
        assert (await claim_due(store)).runs == ()


@pytest.mark.parametrize("statement", [LIMIT, BLOCK_OWNER])
async def test_limit_set_after_the_read_prevents_the_start(postgres_server: PostgresServer, statement: str) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *once_tasks(2, owner="ada"))
        assert (await claim_due(store, execute_once(postgres_server, store, statement))).runs == ()
        later = await claim_due(store)
        assert len(later.runs) == (1 if statement == LIMIT else 0)


async def test_locked_task_is_skipped_and_others_are_claimed(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        tasks = once_tasks(3)
        await add_tasks(store, *tasks)
        async with open_connection(store) as rival:
            await rival.execute("BEGIN")
            await rival.execute(
                "SELECT 1 FROM task_state WHERE task = (SELECT seq FROM tasks WHERE id = $1) FOR UPDATE", tasks[1].id
            )
            claim = await claim_due(store)
            assert [each.task.id for each in claim.runs] == [tasks[0].id, tasks[2].id]
            assert claim.more
            await rival.execute("ROLLBACK")
        assert [each.task.id for each in (await claim_due(store)).runs] == [tasks[1].id]
        assert [each.number for each in await store.events(0)] == list(range(1, 7))
        assert await store.check() == ()


async def test_task_changed_after_the_read_is_settled_by_the_general_path(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        tasks = once_tasks(2)
        await add_tasks(store, *tasks)
        claim = await claim_due(store)
        statements = record_statements(monkeypatch)
        assert await settle_runs(store, claim.runs, execute_once(postgres_server, store, VERSION)) == frozenset()
        assert statements[:2] == ["settle_few", "begin"]
        assert {(await get_facts(store, task)).status.state for task in tasks} == {TaskState.COMPLETED}
        assert await store.check() == ()


ONE_VERSION: Final = "UPDATE {schema}.task_state SET version = version + 1 WHERE task = 1"


@pytest.mark.parametrize("statement", [VERSION, ONE_VERSION], ids=["all changed", "one changed"])
async def test_settlement_that_loses_a_race_causes_no_server_error(
    postgres_server: PostgresServer, statement: str
) -> None:
    """Another session changed the tasks between the decision and the settlement."""
    seen = len(postgres_server.log())
    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await add_tasks(store, *once_tasks(2))
        claim = await claim_due(store)
        assert await settle_runs(store, claim.runs, execute_once(postgres_server, store, statement)) == frozenset()
        assert await store.check() == ()
    assert "ERROR" not in postgres_server.log()[seen:]


async def settle_while_locked(store: PostgresStore) -> None:
    """Another session changes one of two tasks and commits while the settlement waits for its lock."""
    await store.join(a_node())
    tasks = once_tasks(2)
    await add_tasks(store, *tasks)
    claim = await claim_due(store)
    async with open_connection(store) as rival:
        await rival.execute("BEGIN")
        await rival.execute(
            "UPDATE task_state SET version = version + 1 WHERE task = (SELECT seq FROM tasks WHERE id = $1)",
            tasks[1].id,
        )
        waiting = asyncio.ensure_future(settle_runs(store, claim.runs))
        while not await rival.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            pass
        await rival.execute("COMMIT")
    assert await waiting == frozenset()
    assert {(await get_facts(store, task)).status.state for task in tasks} == {TaskState.COMPLETED}
    assert await store.check() == ()


async def test_settlement_that_waits_for_a_lock_overwrites_nothing(postgres_server: PostgresServer) -> None:
    seen = len(postgres_server.log())
    async with open_store(new_schema(postgres_server)) as here:
        await settle_while_locked(here)
    assert "ERROR" not in postgres_server.log()[seen:]


async def test_new_agenda_entry_increments_the_version(postgres_server: PostgresServer) -> None:
    """A decision made before the entry was added must not complete the task."""

    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        (task,) = once_tasks(1)
        await add_tasks(store, task)
        async with open_connection(store) as connection:
            before = await connection.fetchval("SELECT version FROM task_state")
            assert await store.change(task.id, None, always(Change(put=(an_extra_entry(task, due=NOON + HOUR),))))
            assert await connection.fetchval("SELECT version FROM task_state") == before + 1


async def test_nodes_that_wake_together_start_each_run_once(postgres_server: PostgresServer) -> None:
    """The result equals that of a single node."""
    rounds, nodes = 12, 4
    started: list[str] = []

    async def claim_and_settle(store: PostgresStore) -> None:
        claim = await claim_due(store)
        started.extend(each.run.id for each in claim.runs)
        if claim.runs:
            assert await settle_runs(store, claim.runs) == frozenset()

    url = new_schema(postgres_server)
    stores = [PostgresStore(url) for _ in range(nodes)]
    for store in stores:
        await store.open()
    await stores[0].join(a_node())
    for _ in range(rounds):
        tasks = [*once_tasks(2), *interval_tasks(1)]
        await add_tasks(stores[0], *tasks)
        while (head := await stores[0].next_due()) is not None and head <= NOON:
            await asyncio.gather(*(claim_and_settle(store) for store in stores))
    assert len(started) == len(set(started)) == 3 * rounds
    assert await stores[0].check() == ()
    for store in stores:
        await store.close()


async def test_long_payloads_lanes_and_extra_entries_use_the_general_path(
    postgres_server: PostgresServer,
) -> None:
    tasks = [
        a_task(schedule=Once(at=NOON), payload='"' + "x" * 10_000 + '"'),
        a_task(schedule=Once(at=NOON), lane="press"),
        a_task(schedule=Once(at=NOON)),
    ]

    async def run_one(store: FullStore, task: Task, *, extra: bool) -> tuple[object, ...]:
        await store.join(a_node())
        await add_tasks(store, task)
        if extra:
            await store.change(task.id, None, always(Change(put=(an_extra_entry(task, due=NOON + MINUTE),))))
        claim = await claim_due(store)
        assert len(claim.runs) == 1
        assert await settle_runs(store, claim.runs) == frozenset()
        # A read without a claim has used a token.
        runs = [each._replace(token=0) for each in (await store.runs(RunFilter())).items]
        return runs, await store.facts(task.id, None), await store.events(0), await store.counts(None, [0])

    for place, task in enumerate(tasks):
        async with open_store(new_schema(postgres_server)) as store:
            extra = place == len(tasks) - 1
            assert await run_one(store, task, extra=extra) == await run_one(MemoryStore(), task, extra=extra)
