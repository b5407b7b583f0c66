"""What happens between two statements of a claim, or between two tries of it: nothing that was seen before is believed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from horae.errors import UnknownStore
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.run import RunState
from horae.ports.store import Claim
from horae.stores.postgres.connection import PostgresConnection
from horae.testing.contracts.stores.setup import add_tasks, claim, get_facts, get_run, settle, start_run
from horae.testing.decisions import decide_start, start_everything
from horae.testing.factories import HOUR, NODE, NOON, a_new_task, a_node, a_task, an_entry
from tests.servers.postgres import PostgresServer
from tests.unit.stores.postgres.opening import connected, new_schema, opened, until, waiting_for_locks


class Looking:
    """Starts everything, and remembers what it was told."""

    def __init__(self) -> None:
        self.seen: list[Facts] = []

    def decide(self, facts: Facts, entry: Entry, token: int) -> Change:
        self.seen.append(facts)
        return start_everything(facts, entry, token)


@pytest.mark.parametrize("backlog", [False, True])
async def test_what_came_back_for_a_later_instant_is_not_taken_early(
    postgres_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    backlog: bool,  # noqa: FBT001
) -> None:
    """One node has looked; before it holds what it saw, another one has run it, and put the next occurrence in its place."""
    really_query = PostgresConnection.query
    claims: list[Claim] = []

    url = new_schema(postgres_server)
    async with opened(url) as slow, opened(url) as quick:
        await slow.join(a_node("slow"))
        await quick.join(a_node("quick"))
        await add_tasks(slow, a_task())
        if backlog:
            async with connected(slow) as other:
                await other.execute("UPDATE agenda SET state = 1")

        async def query(link: PostgresConnection, name: str, *values: Any) -> list[Any]:
            if name == "lock_entries":
                monkeypatch.setattr(PostgresConnection, "query", really_query)
                claims.append(await claim(quick, decide=decide_start(node="quick", again=HOUR), node="quick"))
            return await really_query(link, name, *values)

        monkeypatch.setattr(PostgresConnection, "query", query)
        claims.append(await claim(slow, decide=decide_start(node="slow", again=HOUR), node="slow", room=1))
    assert [[each.run.planned for each in claimed.runs] for claimed in claims] in ([[NOON], []], [[], [NOON]])


async def test_what_a_try_has_decided_is_not_known_when_the_next_one_writes_nothing(
    postgres_server: PostgresServer,
) -> None:
    """The first try is ended as one of two in each other's way; when the second begins, the node was taken for dead."""

    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        task = a_task()
        await add_tasks(store, task)
        (born,) = start_everything(await get_facts(store, task), an_entry(task), 1).new_runs
        async with connected(store) as rival:
            # Whoever waits longest finds out: not this one.
            await rival.execute("SET deadlock_timeout = '1min'")
            await rival.execute("BEGIN")
            await rival.execute(
                "INSERT INTO live_runs (id, task, owner, origin, planned, due, attempt, state, token)"
                " SELECT $1, task, owner, 'manual', 0, 0, 1, 'running', 0 FROM agenda",
                born.id,
            )
            claiming = asyncio.create_task(claim(store))
            await until(lambda: waiting_for_locks(rival))
            await rival.execute("DELETE FROM nodes")
            await rival.execute("DELETE FROM live_runs")
            await rival.execute("UPDATE task_state SET version = version + 1, counted = 77")
            await rival.execute("COMMIT")
            assert await claiming == Claim()
        await store.join(a_node())
        looking = Looking()
        await claim(store, decide=looking.decide)
        assert [(facts.status.counted, facts.live) for facts in looking.seen] == [(77, ())]


async def test_behind_a_new_connection_may_be_a_server_that_lacks_the_last_that_was_confirmed(
    postgres_server: PostgresServer,
) -> None:
    async with opened(new_schema(postgres_server)) as store:
        await start_run(store)
        async with connected(store) as other:
            # A standby takes over, as it was before the claim, and somebody else writes there first.
            await other.execute("DELETE FROM live_runs")
            await other.execute("UPDATE task_state SET counted = 77")
            await store.add([a_new_task(a_task())])
            await other.execute(
                "INSERT INTO agenda SELECT (SELECT min(task) FROM task_state), slot, kind, due, planned, owner, priority,"
                " state, origin, attempt, forgiven, deaths, through, span_first, span_last, span_count, waited, in_order"
                " FROM agenda"
            )
            await other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'horae' AND datname = current_database()"
            )
        looking = Looking()

        async def answered() -> bool:
            try:
                await claim(store, decide=looking.decide)
            except Exception:  # noqa: BLE001 - the connections that were cut are found out one by one
                return False
            return True

        await until(answered)
        assert sorted((facts.status.counted, facts.live) for facts in looking.seen) == [(0, ()), (77, ())]


async def test_what_a_node_holds_is_told_when_no_claim_of_it_is_under_way(postgres_server: PostgresServer) -> None:
    """Whoever asks has lost the answer to a claim: it may be committed after the connection was given up."""

    async with opened(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await store.set_lane("press", 1)
        await add_tasks(store, a_task(lane="press"))
        async with connected(store) as rival:
            await rival.execute("BEGIN")
            await rival.fetch("SELECT 1 FROM lanes FOR UPDATE")
            claiming = asyncio.create_task(claim(store))
            await until(lambda: waiting_for_locks(rival))
            asking = asyncio.create_task(store.held(NODE))

            async def both_wait() -> bool:
                return asking.done() or await waiting_for_locks(rival) > 1

            await until(both_wait)
            await rival.execute("ROLLBACK")
        claimed = await claiming
        assert await asking == tuple((each.run.id, each.run.token) for each in claimed.runs) != ()


async def test_a_run_whose_name_does_not_tell_its_instant_is_found_when_it_has_ended(
    postgres_server: PostgresServer,
) -> None:
    def odd(facts: Facts, entry: Entry, token: int) -> Change:
        change = start_everything(facts, entry, token)
        (born,), (told,) = change.new_runs, change.events
        return change._replace(new_runs=(born._replace(id="run_odd"),), events=(told._replace(run_id="run_odd"),))

    async with opened(new_schema(postgres_server)) as store:
        running = await start_run(store, decide=odd)
        assert await settle(store, running) == frozenset()
        assert (await get_run(store, running)).state is RunState.SUCCEEDED


async def test_a_schema_with_the_longest_name_can_be_rung(postgres_server: PostgresServer) -> None:
    async with opened(f"{postgres_server.url}?schema={'s' * 57}") as store, connected(store) as theirs:
        await theirs.execute("BEGIN")
        await store.add_using(theirs, [a_new_task(a_task())], lambda: None)
        await theirs.execute("COMMIT")


@pytest.mark.parametrize("word", ["user", "pg_ours"])
async def test_a_schema_cannot_be_called_by_a_word_of_the_servers_own(
    postgres_server: PostgresServer, word: str
) -> None:
    with pytest.raises(UnknownStore, match=word) as refusal:
        async with opened(f"{postgres_server.url}?schema={word}") as _:
            """It is never opened."""
    assert refusal.value.code == "bad_store_address"
