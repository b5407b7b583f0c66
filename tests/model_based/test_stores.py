"""Every store against the store in memory. `HORAE_EXAMPLES=2000` looks longer than a build can."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from horae.testing.contracts.model_based.message_machine import MessageMachine
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.sizes import sized

from . import mariadb_machine, postgres_machine, redis_machine
from .sqlite_machine import SQLiteMachine, SQLiteMessageMachine

WANTED: Final = os.environ.get("HORAE_EXAMPLES")
"""A build repeats the same lives; whoever asks for a number of them gets others every time."""


def lives(most: int) -> settings:
    return settings(
        max_examples=int(WANTED or most),
        derandomize=WANTED is None,
        stateful_step_count=50,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def test_sqlite_answers_as_memory_does() -> None:
    run_state_machine_as_test(SQLiteMachine, settings=lives(sized(16, soak=200)))


def test_postgres_answers_as_memory_does(postgres_server: PostgresServer) -> None:
    run_state_machine_as_test(postgres_machine.machine_on(postgres_server), settings=lives(sized(6, soak=100)))


def test_mariadb_answers_as_memory_does(mariadb_server: MariaDBServer) -> None:
    run_state_machine_as_test(mariadb_machine.machine_on(mariadb_server), settings=lives(sized(6, soak=100)))


def test_redis_answers_as_memory_does(redis_server: RedisServer) -> None:
    run_state_machine_as_test(redis_machine.machine_on(redis_server), settings=lives(sized(4, soak=100)))


def test_messages_in_sqlite_are_as_in_memory() -> None:
    run_state_machine_as_test(SQLiteMessageMachine, settings=lives(sized(8, soak=200)))


def test_messages_in_postgres_are_as_in_memory(postgres_server: PostgresServer) -> None:
    machine = postgres_machine.machine_on(postgres_server, MessageMachine)
    run_state_machine_as_test(machine, settings=lives(sized(3, soak=100)))


def test_messages_in_mariadb_are_as_in_memory(mariadb_server: MariaDBServer) -> None:
    machine = mariadb_machine.machine_on(mariadb_server, MessageMachine)
    run_state_machine_as_test(machine, settings=lives(sized(3, soak=100)))


def test_messages_in_redis_are_as_in_memory(redis_server: RedisServer) -> None:
    machine = redis_machine.machine_on(redis_server, MessageMachine)
    run_state_machine_as_test(machine, settings=lives(sized(2, soak=100)))
