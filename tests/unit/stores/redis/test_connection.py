"""Connections to Redis: lost and back, bounded, in several event loops, through Sentinel and in a cluster; their errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.clock import SystemClock
from horae.errors import StoreError, StoreFull, StoreReadOnly, StoreUnavailable, UnusableStore
from horae.stores.redis import RedisStore
from horae.stores.redis.connections.connection import RedisConnections
from horae.stores.redis.connections.server import read_server
from horae.stores.redis.layout.keys import Keys
from horae.stores.redis.transactions.transaction import Transaction
from horae.stores.sql.reads.status import PossibleLoss
from tests.servers.ports import HOST
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer, SentinelServer

KEYS = Keys()


async def write(connections: RedisConnections, text: str) -> int | None:
    """Commit one document; return the number of the commit."""
    transaction = Transaction(connections, KEYS)
    transaction.require_absent(KEYS.task("one"))
    transaction.put(KEYS.task("one"), text)
    committed = await transaction.commit()
    return None if committed is None else committed.number


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[RedisConnections]:
    connections = RedisConnections(url)
    yield connections
    await connections.close()


async def test_many_commands_at_once_wait_for_a_connection(redis_url: str) -> None:
    async with connected(f"{redis_url}?connections=2") as connections:
        numbers = await asyncio.gather(*(connections.call("INCR", "n") for _ in range(50)))
        # Two connections overtake each other.
        assert sorted(numbers) == list(range(1, 51))
        clients = str(await connections.call("CLIENT", "LIST"))
        assert clients.count("name=horae") <= 2


async def test_server_that_was_killed_is_used_again_when_it_is_back() -> None:
    with RedisServer(in_memory=True) as server:
        async with connected(server.url) as connections:
            await connections.call("SET", "name", "value")
            server.kill()
            with pytest.raises(StoreUnavailable):
                await connections.call("GET", "name")
            server.start()
            assert await connections.call("GET", "name") == "value"
            assert await write(connections, "text") == 1


async def test_connection_that_was_cut_is_replaced_without_an_error(redis_server: RedisServer) -> None:
    with Proxy(redis_server.port) as proxy:
        async with connected(proxy.through(redis_server.url)) as connections:
            await connections.call("PING")
            proxy.cut()
            with pytest.raises(StoreUnavailable):
                await connections.call("PING")
            proxy.heal()
            assert await connections.call("PING")


async def test_closed_connections_refuse_commands_until_they_are_opened_again(redis_url: str) -> None:
    connections = RedisConnections(redis_url)
    assert await connections.call("PING")
    await connections.close()
    with pytest.raises(StoreUnavailable):
        await connections.call("PING")
    connections.reopen()
    assert await connections.call("PING")
    await connections.close()


async def test_cancellation_at_any_step_ends_a_task_of_commands(redis_url: str) -> None:
    """Before Python 3.12 the driver swallows a cancellation at some steps."""

    async def ping_forever() -> None:
        while True:
            await connections.call("PING")

    async with connected(redis_url) as connections:
        await connections.call("PING")
        for steps in range(40):
            task = asyncio.create_task(ping_forever())
            for _ in range(steps):
                await SystemClock().pause(0)
            task.cancel()
            ended, _ = await asyncio.wait([task], timeout=5)
            task.cancel()
            assert ended, f"the task goes on after it was cancelled at step {steps}"


async def test_another_event_loop_has_its_own_client(redis_url: str) -> None:
    async with connected(redis_url) as connections:
        await connections.call("SET", "name", "value")
        answer = await asyncio.to_thread(lambda: asyncio.run(connections.call("GET", "name")))
        assert answer == "value"


async def test_errors_of_the_server_are_store_errors() -> None:
    with RedisServer(in_memory=True) as server:
        async with connected(server.url) as connections:
            await connections.call("SET", "name", "value")
            with pytest.raises(StoreError, match="WRONGTYPE"):
                await connections.call("HGET", "name", "field")
            server.ask("CONFIG", "SET", "maxmemory", "1")
            with pytest.raises(StoreFull):
                await connections.call("SET", "name", "other")
            with pytest.raises(StoreFull):
                await write(connections, "text")
            server.ask("CONFIG", "SET", "maxmemory", "0")
            assert await connections.call("EXISTS", KEYS.commits, KEYS.task("one")) == 0
            server.ask("REPLICAOF", HOST, "1")
            with pytest.raises(StoreReadOnly):
                await connections.call("SET", "name", "other")
            server.ask("REPLICAOF", "NO", "ONE")
            assert await connections.call("GET", "name") == "value"


async def test_cluster_of_one_server() -> None:
    with RedisServer(settings={"cluster-enabled": "yes", "databases": "1"}, in_memory=True) as server:
        server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        for _ in range(1_000):
            if "cluster_state:ok" in server.ask("CLUSTER", "INFO"):
                break
        async with connected(server.url.replace("redis://", "redis+cluster://")) as connections:
            assert await connections.call("SET", "{h}:a", "1")
            assert await connections.call_all([("GET", "{h}:a"), ("GET", "{h}:b")]) == ["1", None]
            assert await write(connections, "text") == 1
            assert await connections.call("GET", KEYS.task("one")) == "0000000000000001text"
            facts = await read_server(connections)
            assert (facts.policy, facts.possible_loss) == ("noeviction", PossibleLoss.NOTHING)
        store = RedisStore(server.url.replace("redis://", "redis+cluster://") + "?prefix=other")
        await store.open()
        await store.write_metadata("name", "value")
        assert await store.read_metadata("name") == "value"
        assert await store.check() == ()
        await store.close()


async def test_sentinel_leads_to_the_primary(redis_server: RedisServer) -> None:
    with SentinelServer(redis_server) as sentinel:
        store = RedisStore(f"{sentinel.url}?prefix=by_sentinel")
        await store.open()
        await store.write_metadata("name", "value")
        assert redis_server.ask("HGET", "{by_sentinel}:metadata", "name") == "value"
        await store.close()
        other = RedisStore(sentinel.url.replace("primary", "unknown"))
        with pytest.raises(UnusableStore) as refusal:
            await other.open()
        await other.close()
        assert refusal.value.code == "store_unreachable"
