"""Races between the statements or the tries of a claim: nothing read before the lock is used."""

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
from tests.unit.stores.polling import wait_until
from tests.unit.stores.postgres.store_setup import count_blocked, new_schema, open_connection, open_store


class RecordingDecision:
    """Decision that starts every entry and records the facts it was given."""

    def __init__(self) -> None:
        self.seen: list[Facts] = []

    def decide(self, facts: Facts, entry: Entry, token: int) -> Change:
        self.seen.append(facts)
        return start_everything(facts, entry, token)


@pytest.mark.parametrize("backlog", [False, True])
async def test_entry_rescheduled_after_the_read_is_not_claimed_early(
    postgres_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    backlog: bool,  # noqa: FBT001
) -> None:
    """Between the read and the lock of one node, another node runs the entry and writes the next occurrence."""
    really_query = PostgresConnection.query
    claims: list[Claim] = []

    url = new_schema(postgres_server)
    async with open_store(url) as slow, open_store(url) as quick:
        await slow.join(a_node("slow"))
        await quick.join(a_node("quick"))
        await add_tasks(slow, a_task())
        if backlog:
            async with open_connection(slow) as other:
                await other.execute("UPDATE agenda SET state = 1")

        async def query(link: PostgresConnection, name: str, *values: Any) -> list[Any]:
            if name == "lock_entries":
                monkeypatch.setattr(PostgresConnection, "query", really_query)
                claims.append(await claim(quick, decide=decide_start(node="quick", again=HOUR), node="quick"))
            return await really_query(link, name, *values)

        monkeypatch.setattr(PostgresConnection, "query", query)
        claims.append(await claim(slow, decide=decide_start(node="slow", again=HOUR), node="slow", room=1))
    assert [[each.run.planned for each in claimed.runs] for claimed in claims] in ([[NOON], []], [[], [NOON]])


async def test_decision_of_a_failed_try_is_not_cached(
    postgres_server: PostgresServer,
) -> None:
    """The first try ends in a deadlock; before the second one, the node was declared dead."""

    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        task = a_task()
        await add_tasks(store, task)
        (new_run,) = start_everything(await get_facts(store, task), an_entry(task), 1).new_runs
        async with open_connection(store) as rival:
            # The session with the shorter timeout detects the deadlock: not this one.
            await rival.execute("SET deadlock_timeout = '1min'")
            await rival.execute("BEGIN")
            await rival.execute(
                "INSERT INTO live_runs (id, task, owner, origin, planned, due, attempt, state, token)"
                " SELECT $1, task, owner, 'manual', 0, 0, 1, 'running', 0 FROM agenda",
                new_run.id,
            )
            claiming = asyncio.create_task(claim(store))
            await wait_until(lambda: count_blocked(rival))
            await rival.execute("DELETE FROM nodes")
            await rival.execute("DELETE FROM live_runs")
            await rival.execute("UPDATE task_state SET version = version + 1, counted = 77")
            await rival.execute("COMMIT")
            assert await claiming == Claim()
        await store.join(a_node())
        recording = RecordingDecision()
        await claim(store, decide=recording.decide)
        assert [(facts.status.counted, facts.live) for facts in recording.seen] == [(77, ())]


async def test_cache_is_dropped_after_a_failover(
    postgres_server: PostgresServer,
) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await start_run(store)
        async with open_connection(store) as other:
            # A standby takes over with the state before the claim, and another session writes first.
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
        recording = RecordingDecision()

        async def answered() -> bool:
            try:
                await claim(store, decide=recording.decide)
            except Exception:  # noqa: BLE001 - each broken connection raises once
                return False
            return True

        await wait_until(answered)
        assert sorted((facts.status.counted, facts.live) for facts in recording.seen) == [(0, ()), (77, ())]


async def test_held_waits_for_a_claim_under_way(postgres_server: PostgresServer) -> None:
    """The caller lost the answer to a claim, which may commit after the connection was dropped."""

    async with open_store(new_schema(postgres_server)) as store:
        await store.join(a_node())
        await store.set_lane("press", 1)
        await add_tasks(store, a_task(lane="press"))
        async with open_connection(store) as rival:
            await rival.execute("BEGIN")
            await rival.fetch("SELECT 1 FROM lanes FOR UPDATE")
            claiming = asyncio.create_task(claim(store))
            await wait_until(lambda: count_blocked(rival))
            asking = asyncio.create_task(store.held(NODE))

            async def both_wait() -> bool:
                return asking.done() or await count_blocked(rival) > 1

            await wait_until(both_wait)
            await rival.execute("ROLLBACK")
        claimed = await claiming
        assert await asking == tuple((each.run.id, each.run.token) for each in claimed.runs) != ()


async def test_ended_run_with_an_unusual_id_is_found(
    postgres_server: PostgresServer,
) -> None:
    def start_with_odd_id(facts: Facts, entry: Entry, token: int) -> Change:
        change = start_everything(facts, entry, token)
        (new_run,), (event,) = change.new_runs, change.events
        return change._replace(new_runs=(new_run._replace(id="run_odd"),), events=(event._replace(run_id="run_odd"),))

    async with open_store(new_schema(postgres_server)) as store:
        running = await start_run(store, decide=start_with_odd_id)
        assert await settle(store, running) == frozenset()
        assert (await get_run(store, running)).state is RunState.SUCCEEDED


async def test_longest_schema_name_can_be_notified(postgres_server: PostgresServer) -> None:
    async with open_store(f"{postgres_server.url}?schema={'s' * 57}") as store, open_connection(store) as theirs:
        await theirs.execute("BEGIN")
        await store.add_using(theirs, [a_new_task(a_task())], lambda: None)
        await theirs.execute("COMMIT")


@pytest.mark.parametrize("word", ["user", "pg_ours"])
async def test_reserved_schema_name_is_refused(postgres_server: PostgresServer, word: str) -> None:
    with pytest.raises(UnknownStore, match=word) as refusal:
        async with open_store(f"{postgres_server.url}?schema={word}") as _:
            """Never opened."""
    assert refusal.value.code == "bad_store_address"
