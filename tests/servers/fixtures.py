"""Fixtures imported by conftest.py files: one server of each kind per test process, a fresh database per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer(in_memory=True) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDBServer]:
    with MariaDBServer(in_memory=True) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer(in_memory=True) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def mariadb_url(mariadb_server: MariaDBServer) -> Iterator[str]:
    url = mariadb_server.new_database()
    yield url
    mariadb_server.drop_database(url)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> Iterator[str]:
    url = redis_server.new_database()
    yield url
    redis_server.drop_database(url)
