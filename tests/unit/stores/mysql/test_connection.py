"""MySQL connection: exact text, batched writes, row locks, and the idle timeout of transactions."""

from __future__ import annotations

import asyncio

import pytest

from horae.errors import StoreError, StoreUnavailable
from horae.stores.mysql.errors import translate_error
from horae.stores.mysql.server_version import fetch_row
from horae.stores.sql.connection import DuplicateRunError
from horae.testing.factories import a_new_task, a_node, a_task
from tests.servers.mariadb import MariaDBServer
from tests.unit.stores.mysql.store_setup import fetch_one, has_blocked_session, new_prefix, open_connection, open_store
from tests.unit.stores.polling import wait_until

HOSTILE = (
    "'; DROP TABLE tasks; --",
    "\\' OR 1=1",
    "$1 {rows} {column_1} $found [[ $each ]] ;; @tasks",
    "%s %(name)s %",
    '\0 \x1a \r\n \t `back` "double"',
    "花を水やり 🌱 \ud7ff\ue000",
    "",
)


@pytest.mark.parametrize("text", HOSTILE)
async def test_text_round_trips(mariadb_server: MariaDBServer, text: str) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        await store.write_metadata("before", "untouched")
        await store.write_metadata(text, text)
        assert await store.read_metadata(text) == text
        assert await store.read_metadata("before") == "untouched"
        await store.add([a_new_task(a_task(name=text, owner=text, payload=text))])
        assert await store.check() == ()


async def test_text_comparison_is_exact(mariadb_server: MariaDBServer) -> None:
    names = ["a", "a ", "A", "ä", "a\u0308", "a\0"]

    async with open_store(new_prefix(mariadb_server)) as store:
        for name in names:
            await store.write_metadata(name, f"value of {name!r}")
        assert [await store.read_metadata(name) for name in names] == [f"value of {name!r}" for name in names]


async def test_lone_surrogate_is_refused_and_the_connection_stays_open(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        with pytest.raises(StoreError):
            await store.write_metadata("name", "\ud83c")
        with pytest.raises(StoreError):
            await store.add([a_new_task(a_task(payload="\udc80"))])
        assert await store.read_metadata("name") is None


async def test_too_long_text_is_refused_and_not_truncated(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        with pytest.raises(StoreError):
            await store.write_metadata("x" * 300, "value")
        assert await fetch_one(store, "SELECT COUNT(*) FROM @metadata") == (0,)


async def test_many_rows_are_split_into_packets(mariadb_server: MariaDBServer) -> None:
    """The packets of one statement are one transaction, in the order of the calls."""

    async with open_store(new_prefix(mariadb_server)) as store:
        async with open_connection(store, packet=2_000) as link:
            await link.begin()
            await link.write_rows("insert_counter_deltas", 4, ["ada", 0, "state:active", 1] * 50)
            await link.write_events([("task.created", 1, "ada", f"tsk_{number}", None, None) for number in range(50)])
            assert await fetch_one(store, "SELECT COUNT(*) FROM @counter_deltas") == (0,)
            await link.commit()
        assert await fetch_one(store, "SELECT COUNT(*), SUM(number) FROM @counter_deltas") == (50, 50)
        assert await fetch_one(store, "SELECT COUNT(*), MIN(number), MAX(number) FROM @events") == (50, 1, 50)
        assert await store.last_event() == 50


async def test_rollback_discards_pending_writes(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        async with open_connection(store) as link:
            await link.begin()
            await link.write_rows("insert_counter_deltas", 4, ["ada", 0, "state:active", 1])
            await link.write_events([("task.created", 1, "ada", "tsk", None, None)])
            await link.rollback()
            await link.begin()
            await link.query("write_metadata", "name", "value")
            await link.commit()
        assert await fetch_one(store, "SELECT COUNT(*) FROM @counter_deltas") == (0,)
        assert (await store.last_event(), await store.read_metadata("name")) == (0, "value")


async def test_existing_run_is_not_inserted_again(mariadb_server: MariaDBServer) -> None:
    run = ["run_1", 1, "ada", "scheduled", 5, 5, 1, "running", 1, "node", 1, 1]

    async with open_store(new_prefix(mariadb_server)) as store:
        async with open_connection(store) as link:
            await link.begin()
            await link.write_rows("insert_started_runs", 12, run)
            await link.commit()
            await link.begin()
            with pytest.raises(DuplicateRunError):
                await link.write_rows("insert_started_runs", 12, run)
            await link.rollback()
            await link.begin()
            await link.write_rows("end_runs", 8, ["run_1", "succeeded", None, 1, 2, None, None, None])
            await link.commit()
            await link.begin()
            with pytest.raises(DuplicateRunError):
                await link.write_rows("insert_started_runs", 12, run)
            await link.rollback()
            assert link.is_usable
        assert await fetch_one(store, "SELECT COUNT(*) FROM @live_runs") == (0,)
        assert await fetch_one(store, "SELECT COUNT(*), MAX(token) FROM @runs") == (1, 1)


async def test_events_are_numbered_in_commit_order_without_blocking(
    mariadb_server: MariaDBServer,
) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        async with open_connection(store) as slow, open_connection(store) as fast:
            for link, name in ((slow, "slow"), (fast, "fast")):
                await link.begin()
                await link.query("write_metadata", name, "value")
                await link.write_events([("task.created", 1, "ada", name, None, None)] * 2)
            await fast.commit()
            assert [events.event.task_id for events in await store.events(0)] == ["fast"] * 2
            await slow.commit()
        events = await store.events(0)
        assert [(each.number, each.event.task_id) for each in events] == [
            (1, "fast"),
            (2, "fast"),
            (3, "slow"),
            (4, "slow"),
        ]


async def test_lease_is_renewed_during_a_long_claim(
    mariadb_server: MariaDBServer,
) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        node = a_node("node")
        await store.join(node)
        async with open_connection(store) as claim:
            await claim.begin()
            assert await claim.query("begin_claim", "node")
            assert (await store.renew_lease("node", node.renewed)).held
            drained = asyncio.ensure_future(store.drain("node"))
            await wait_until(lambda: has_blocked_session(store))
            assert (await store.renew_lease("node", node.renewed)).held
            await claim.commit()
            assert await drained
        assert (await store.renew_lease("node", node.renewed)).draining


async def test_claim_skips_locked_entries_and_locks_no_others(mariadb_server: MariaDBServer) -> None:
    tasks = [a_task() for _ in range(4)]

    async with open_store(new_prefix(mariadb_server)) as store:
        await store.add([a_new_task(task) for task in tasks])
        async with (
            open_connection(store) as settles,
            open_connection(store) as claims,
            open_connection(store) as claims_too,
        ):
            for link in (settles, claims, claims_too):
                await link.begin()
            assert [row[0] for row in await settles.query("lock_tasks", [1])] == [1]
            first = await claims.query("timed_slice", 2**62, 2)
            second = await claims_too.query("timed_slice", 2**62, 9)
            assert [[row[0] for row in rows] for rows in (first, second)] == [[2, 3], [4]]
            # Neither claim has locked the entry with another state.
            await settles.query("delete_entries_of_tasks", [1])
            await settles.commit()
            await claims.rollback()
            await claims_too.rollback()
        assert await fetch_one(store, "SELECT COUNT(*) FROM @agenda") == (3,)


async def test_idle_transaction_is_ended_by_the_server(mariadb_server: MariaDBServer) -> None:
    async with open_store(new_prefix(mariadb_server)) as store:
        await store.add([a_new_task(a_task())])
        async with open_connection(store, idle=1) as frozen, open_connection(store) as other:
            await frozen.begin()
            await frozen.query("lock_tasks", [1])
            await other.begin()
            assert [row[0] for row in await other.query("lock_tasks", [1])] == [1]
            await other.commit()
            with pytest.raises(Exception) as error:  # noqa: PT011 - the code is checked below
                await frozen.commit()
            assert isinstance(translate_error(error.value), StoreUnavailable)
            assert not frozen.is_usable


async def test_idle_timeout_applies_only_inside_a_transaction(mariadb_server: MariaDBServer) -> None:
    """An idle connection in the pool may wait for a long time."""

    async with open_store(new_prefix(mariadb_server)) as store, open_connection(store) as link:
        usual = await _idle_timeout(link._connection)
        for end in (link.commit, link.rollback):
            await link.begin()
            await link.query("agenda_heads")
            assert await _idle_timeout(link._connection) == 10
            await end()
            assert await _idle_timeout(link._connection) == usual


async def _idle_timeout(connection: object) -> int:
    (found,) = await fetch_row(connection, "SELECT @@wait_timeout")
    return int(found)
