"""Connection errors on the command line: one sentence with a hint, soon, and without the password."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from horae.clock import SystemClock
from horae.errors import UnusableStore
from horae.stores.postgres import PostgresStore, migrate
from horae.stores.postgres.address import Servers
from horae.stores.postgres.connection_factory import PostgresConnectionFactory
from tests.cli.command_line import Cli
from tests.servers.pgbouncer import PgBouncer
from tests.servers.ports import HOST, ReservedPort
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy
from tests.unit.stores.connection_errors import (
    QUOTED,
    SECRET,
    TIMEOUT_SECONDS,
    assert_refused,
    serve_reply,
)


@pytest.fixture(scope="module")
def password_server() -> Iterator[PostgresServer]:
    with PostgresServer(auth="scram-sha-256", password=SECRET) as server:
        yield server


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def start_command(cli: Cli, *arguments: str, url: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "horae", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=cli.directory,
        env=cli.environment(**{"HORAE_STORE": url, **environment}),
    )


def test_bad_address_is_refused(cli: Cli) -> None:
    assert_refused(cli, f"postgresql://ada:{QUOTED}@h:port/d", "bad_store_address")


def test_unquoted_password_is_refused(cli: Cli) -> None:
    assert_refused(cli, f"postgresql://ada:{SECRET}@h/d", "bad_store_address")


def test_unknown_option_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    english = assert_refused(cli, f"{password_server.url}?conections=5", "bad_store_address")
    assert "conections" in english


def test_unknown_host_is_refused(cli: Cli) -> None:
    assert_refused(cli, f"postgresql://ada:{QUOTED}@host.invalid/d", "store_unreachable")


def test_closed_port_is_refused(cli: Cli) -> None:
    with ReservedPort() as port:
        assert_refused(cli, f"postgresql://ada:{QUOTED}@{HOST}:{port.number}/d", "store_unreachable")


def test_wrong_password_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    assert_refused(cli, password_server.url.replace(QUOTED, f"{QUOTED}x"), "store_login_refused")


def test_missing_database_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    assert_refused(cli, password_server.url_of("nowhere"), "store_database_missing")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"J\0\0\0\n10.11.6-MariaDB\0"])
def test_server_of_another_kind_is_refused(cli: Cli, answer: bytes) -> None:
    with serve_reply(answer) as port:
        assert_refused(cli, f"postgresql://ada:{QUOTED}@{HOST}:{port}/d", "store_unreachable")


def test_port_that_never_answers_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    with Proxy(password_server.port) as proxy:
        proxy.half_open()
        assert_refused(cli, proxy.through(password_server.url), "store_unreachable")


def test_frozen_server_is_refused(cli: Cli) -> None:
    with PostgresServer(auth="scram-sha-256", password=SECRET) as server:
        server.freeze()
        assert_refused(cli, server.url, "store_unreachable")
        server.thaw()


def as_user(server: PostgresServer, name: str, *rights: str, settings: str = "") -> str:
    server.ask(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'")
    for right in rights:
        server.ask(right)
    if settings:
        server.ask(f"ALTER ROLE {name} SET {settings}")
    return server.url.replace("postgresql://postgres:", f"postgresql://{name}:")


def test_user_without_schema_creation_right_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    english = assert_refused(cli, f"{as_user(password_server, 'guest')}?schema=guests", "store_not_allowed")
    assert "permission denied for database" in english


async def test_user_without_schema_usage_right_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    await open_and_close(f"{password_server.url}?schema=hidden")
    assert_refused(cli, f"{as_user(password_server, 'stranger')}?schema=hidden", "store_not_allowed")


async def test_user_with_schema_usage_only_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    await open_and_close(f"{password_server.url}?schema=shown")
    url = as_user(password_server, "onlooker", "GRANT USAGE ON SCHEMA shown TO onlooker")
    assert_refused(cli, f"{url}?schema=shown", "store_not_allowed")


async def test_user_with_write_rights_only_is_accepted(password_server: PostgresServer) -> None:
    await open_and_close(f"{password_server.url}?schema=lent")
    rights = (
        "GRANT USAGE ON SCHEMA lent TO worker",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lent TO worker",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA lent TO worker",
    )
    await open_and_close(f"{as_user(password_server, 'worker', *rights)}?schema=lent")


async def test_schema_of_a_newer_version_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    await open_and_close(f"{password_server.url}?schema=newer")
    password_server.ask("INSERT INTO newer.migrations VALUES (999)")
    english = assert_refused(cli, f"{password_server.url}?schema=newer", "store_newer")
    assert "999" in english


@pytest.mark.parametrize(
    ("schema", "table"),
    [
        ("theirs", "tasks (id integer)"),
        ("framework", "migrations (id integer, migration text, batch integer)"),
        ("lookalike", "migrations (number integer)"),
    ],
)
def test_schema_with_tables_of_another_program_is_refused(
    cli: Cli, password_server: PostgresServer, schema: str, table: str
) -> None:
    password_server.ask(f"CREATE SCHEMA {schema}")
    password_server.ask(f"CREATE TABLE {schema}.{table}")
    assert_refused(cli, f"{password_server.url}?schema={schema}", "store_not_ours")
    assert password_server.ask(f"SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace") == "1"  # noqa: S608


def test_read_only_server_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    assert_refused(
        cli, as_user(password_server, "reader", settings="default_transaction_read_only = on"), "store_read_only"
    )


async def test_standby_is_refused(cli: Cli) -> None:
    with PostgresServer(auth="scram-sha-256", password=SECRET) as server:
        await open_and_close(server.url)
        server.shut_down()
        (server.folder / "data" / "standby.signal").touch()
        server.ready = "ready to accept read-only connections"  # type: ignore[misc]  # of this one alone
        server.start()
        assert_refused(cli, server.url, "store_read_only")


def test_role_without_synchronous_commit_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    english = assert_refused(
        cli, as_user(password_server, "hasty", settings="synchronous_commit = off"), "store_not_durable"
    )
    assert "synchronous_commit" in english


def test_server_without_durable_commits_is_refused(cli: Cli) -> None:
    with PostgresServer(settings={"fsync": "off"}, auth="scram-sha-256", password=SECRET) as server:
        english = assert_refused(cli, server.url, "store_not_durable")
        assert "fsync" in english


def test_database_without_utf8_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    password_server.ask("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert_refused(cli, password_server.url_of("latin"), "store_server_too_old")


async def test_too_old_server_is_refused(password_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has only one version: the test raises the minimum instead."""
    monkeypatch.setattr(migrate, "MIN_VERSION", 99)
    with pytest.raises(UnusableStore) as refusal:
        await open_and_close(password_server.url)
    assert refusal.value.code == "store_server_too_old"
    assert "PostgreSQL 99" in refusal.value.message


def test_missing_driver_is_refused(cli: Cli, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "asyncpg.py").write_text("raise ModuleNotFoundError(\"No module named 'asyncpg'\", name='asyncpg')\n")
    url = f"postgresql://ada:{QUOTED}@{HOST}/d"
    assert "pip install 'horae[postgres]'" in assert_refused(cli, url, "store_library_missing", PYTHONPATH=str(blocked))


def test_pooler_without_statement_cache_option_is_refused(cli: Cli, password_server: PostgresServer) -> None:
    with PgBouncer(password_server) as pooler:
        english = assert_refused(cli, pooler.through(password_server.url), "bad_store_address")
        assert "statement_cache=0" in english


def test_password_is_not_in_the_process_list(cli: Cli, password_server: PostgresServer) -> None:
    with node_with_password(cli, password_server) as node:
        assert node.stdout is not None
        line = node.stdout.readline()
        assert json.loads(line)
        for pid in (node.pid, *children(node.pid)):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
            assert words
            assert SECRET not in words
            assert QUOTED not in words
        assert children(node.pid)
        assert SECRET not in line
        assert QUOTED not in line


@contextmanager
def node_with_password(cli: Cli, server: PostgresServer) -> Iterator[subprocess.Popen[str]]:
    node = start_command(cli, "up", "--json", url=f"{server.url}?schema=listed")
    try:
        yield node
    finally:
        node.terminate()
        out, err = node.communicate(timeout=TIMEOUT_SECONDS)
        assert SECRET not in out + err
        assert QUOTED not in out + err


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def open_and_close(url: str) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        store = PostgresStore(url)
        await store.open()
        await store.close()


async def test_starting_server_is_waited_for(password_server: PostgresServer) -> None:
    """A server that is starting up refuses connections and says so; the store tries again."""
    tries: list[Servers] = []

    class Starting(PostgresConnectionFactory):
        async def open_raw(self, servers: Servers, **settings: str) -> asyncpg.Connection:
            tries.append(servers)
            if len(tries) < 3:
                raise asyncpg.CannotConnectNowError("the database system is starting up")
            return await super().open_raw(servers, **settings)

    async with asyncio.timeout(TIMEOUT_SECONDS):
        store = PostgresStore(f"{password_server.url}?schema=starting")
        store._postgres = Starting(store.address, SystemClock())
        await store.open()
        await store.close()
    assert len(tries) == 3
