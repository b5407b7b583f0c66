"""Addresses of MySQL and MariaDB with several hosts: the first server that takes writes, and errors of a Galera member."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from asyncmy.errors import OperationalError

from horae.clock import SystemClock
from horae.errors import Refusal, StoreUnavailable
from horae.stores.mysql.address import Address
from horae.stores.mysql.connection_factory import MySQLConnectionFactory
from horae.stores.mysql.errors import is_connection_error, is_retryable, translate_error
from horae.stores.mysql.galera import NOT_THE_WRITER
from horae.stores.mysql.store import MySQLStore
from tests.servers.mariadb import MariaDBServer
from tests.servers.ports import HOST, ReservedPort


@pytest.fixture(scope="module")
def read_only_server() -> Iterator[MariaDBServer]:
    with MariaDBServer(in_memory=True, settings={"read-only": "ON"}) as server:
        yield server


async def test_host_that_refuses_connections_is_passed_over(mariadb_url: str) -> None:
    absent = ReservedPort()
    try:
        url = mariadb_url.replace(f"@{HOST}:", f"@{HOST}:{absent.number},{HOST}:")
        store = MySQLStore(url)
        await store.open()
        assert await store.next_due() is None
        await store.close()
        connection = await MySQLConnectionFactory(Address.parse(url), SystemClock()).connect()
        assert connection.server == 1
        await connection.close()
    finally:
        absent.release()


async def test_read_only_server_is_passed_over(read_only_server: MariaDBServer, mariadb_url: str) -> None:
    url = mariadb_url.replace(f"@{HOST}:", f"@{HOST}:{read_only_server.port},{HOST}:")
    connection = await MySQLConnectionFactory(Address.parse(url), SystemClock()).connect()
    assert connection.server == 1
    await connection.close()


async def test_only_read_only_servers_are_refused_with_the_reason(read_only_server: MariaDBServer) -> None:
    url = f"mysql://root@{HOST}:{read_only_server.port},localhost:{read_only_server.port}/mysql"
    with pytest.raises(Refusal) as refused:
        await MySQLStore(url).open()
    assert refused.value.code == "store_read_only"


@pytest.mark.parametrize("code", [1047, 1180, NOT_THE_WRITER])
def test_member_outside_of_its_cluster_is_a_lost_connection(code: int) -> None:
    error = OperationalError(code, "WSREP has not yet prepared node for application use")
    assert is_connection_error(error)
    assert not is_retryable(error)
    assert isinstance(translate_error(error), StoreUnavailable)


@pytest.mark.parametrize("code", [1205, 1213])
def test_conflict_with_another_member_is_tried_again(code: int) -> None:
    error = OperationalError(code, "Deadlock found when trying to get lock; try restarting transaction")
    assert is_retryable(error)
    assert not is_connection_error(error)
