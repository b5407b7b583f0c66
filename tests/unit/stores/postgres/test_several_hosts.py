"""Store URLs with several hosts: the server that takes writes is found, and refusals name what each host said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from horae.errors import Refusal, StoreUnavailable, UnusableStore
from horae.runtime.durability import require_durable_store, warn_about_possible_loss
from horae.runtime.plain_connection import plain_connection
from horae.runtime.store_status import read_server_status
from horae.stores.postgres import PostgresStore
from horae.stores.postgres.notify import PostgresNotifier
from horae.stores.sql.connection_pool import ConnectionPool
from horae.stores.sql.reads.status import PossibleLoss
from tests.servers.ports import HOST, ReservedPort
from tests.servers.postgres import PostgresServer

CLOCK: Final = SystemClock()


@pytest.fixture(scope="module")
def read_only_server() -> Iterator[PostgresServer]:
    with PostgresServer(settings={"default_transaction_read_only": "on"}, in_memory=True) as server:
        yield server


@pytest.fixture
def dead_port() -> Iterator[int]:
    port = ReservedPort()
    yield port.number
    port.release()


def url_of(database: str, *ports: int, options: str = "") -> str:
    return f"postgresql://postgres@{','.join(f'{HOST}:{port}' for port in ports)}/{database}{options}"


async def refusal_of(url: str) -> Refusal:
    store = PostgresStore(url)
    with pytest.raises(Refusal) as refused:
        await store.open()
    return refused.value


async def test_hosts_that_are_dead_or_take_no_writes_are_passed_over(
    postgres_server: PostgresServer, read_only_server: PostgresServer, postgres_url: str, dead_port: int
) -> None:
    database = postgres_url.rpartition("/")[2]
    for ports in (
        (dead_port, read_only_server.port, postgres_server.port),
        (postgres_server.port, dead_port, read_only_server.port),
    ):
        store = PostgresStore(url_of(database, *ports))
        await store.open()
        assert await store.check() == ()
        await store.close()


async def test_notifications_are_sent_and_received_past_a_dead_host(
    postgres_server: PostgresServer, postgres_url: str, dead_port: int
) -> None:
    url = url_of(postgres_url.rpartition("/")[2], dead_port, postgres_server.port)
    listener, sender = PostgresNotifier(url, CLOCK), PostgresNotifier(url, CLOCK)
    is_woken = asyncio.Event()
    listener.listen(is_woken.set)
    async with asyncio.timeout(20):
        # The first wake-up says that it listens.
        await is_woken.wait()
        is_woken.clear()
        sender.notify()
        await is_woken.wait()
    for each in (listener, sender):
        each.close()
        await each.finish()


async def test_refusal_names_what_each_host_said(
    read_only_server: PostgresServer, postgres_server: PostgresServer, dead_port: int
) -> None:
    refused = await refusal_of(url_of("postgres", dead_port, read_only_server.port))
    assert refused.code == "store_unreachable"
    sentence = refused.in_language("en").message
    assert f"{HOST}:{dead_port}" in sentence
    assert "it is read-only" in sentence
    refused = await refusal_of(url_of("postgres", read_only_server.port, options="?target_session_attrs=read-write"))
    assert refused.code == "store_read_only"
    refused = await refusal_of(url_of("no_such_database", dead_port, postgres_server.port))
    assert refused.code == "store_database_missing"


SETTINGS: Final[list[tuple[dict[str, str], int, PossibleLoss]]] = [
    ({}, 1, PossibleLoss.NOTHING),
    ({}, 2, PossibleLoss.FAILOVER),
    ({"synchronous_standby_names": "*"}, 1, PossibleLoss.NOTHING),
    ({"synchronous_standby_names": "*"}, 2, PossibleLoss.NOTHING),
    ({"synchronous_standby_names": "*", "synchronous_commit": "remote_apply"}, 2, PossibleLoss.NOTHING),
    ({"synchronous_standby_names": "*", "synchronous_commit": "remote_write"}, 2, PossibleLoss.FAILOVER),
    ({"synchronous_standby_names": "*", "synchronous_commit": "local"}, 1, PossibleLoss.FAILOVER),
]


async def test_loss_at_a_failover_follows_the_settings_of_the_server(
    dead_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "horae")
    with PostgresServer(in_memory=True) as server:
        for settings, hosts, loss in SETTINGS:
            for name in ("synchronous_standby_names", "synchronous_commit"):
                value = settings.get(name)
                server.ask(f"ALTER SYSTEM RESET {name}" if value is None else f"ALTER SYSTEM SET {name} = '{value}'")
            server.ask("SELECT pg_reload_conf()")
            url = url_of("postgres", *(server.port, dead_port)[:hosts])
            status = await read_server_status(url, CLOCK)
            assert status is not None
            assert status.possible_loss is loss, (settings, hosts)
            caplog.clear()
            await warn_about_possible_loss(url, CLOCK)
            assert ("when a standby" in caplog.text) is (loss is not PossibleLoss.NOTHING and hosts > 1)
            if loss is not PossibleLoss.NOTHING:
                with pytest.raises(UnusableStore) as refused:
                    await require_durable_store(url, CLOCK)
                assert refused.value.code == "store_not_durable"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("postgresql://127.0.0.1:1,db.example:2/d?sslmode=disable", "db.example"),
        ("postgresql://[::1]:1,127.0.0.1:2/d?sslmode=disable", None),
        ("postgresql://a,b/d", None),
        ("mysql://a:1,b:2/d", "a"),
    ],
)
def test_plain_connection_to_any_of_the_hosts_is_found(url: str, host: str | None) -> None:
    found = plain_connection(url, {})
    assert (None if found is None else found.host) == host


class StalledFactory:
    """Factory whose server answers no probe once `is_alive` is False."""

    stalled_seconds = 0.01

    def __init__(self) -> None:
        self.is_alive = True
        self.probes = 0
        self.connection = StalledConnection()

    async def connect(self) -> Any:
        return self.connection

    async def is_serving(self, connection: object) -> bool:
        assert connection is self.connection
        self.probes += 1
        return self.is_alive


class StalledConnection:
    def __init__(self) -> None:
        self.is_lost = asyncio.Event()

    def abandon(self) -> None:
        self.is_lost.set()

    @property
    def is_usable(self) -> bool:
        return not self.is_lost.is_set()

    async def wait_for_answer(self) -> None:
        await self.is_lost.wait()
        raise StoreUnavailable("lost")


async def test_connection_is_abandoned_only_when_its_server_answers_no_probe() -> None:
    factory = StalledFactory()
    pool = ConnectionPool(factory, 2, lambda: None)  # type: ignore[arg-type]

    async def use() -> None:
        async with pool.acquire() as connection:
            await connection.wait_for_answer()  # type: ignore[attr-defined]

    async with asyncio.timeout(20):
        user = asyncio.create_task(use())
        while factory.probes < 3:
            await CLOCK.pause(0)
        assert factory.connection.is_usable
        factory.is_alive = False
        with pytest.raises(StoreUnavailable):
            await user
    await pool.close()
