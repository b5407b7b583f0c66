"""At the door, by the real command line: whatever is wrong is said in one sentence, soon, and without the password."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from horae.errors import UnusableStore
from horae.stores.mysql import MySQLStore, server_version
from tests.cli.command_line import Cli
from tests.servers.mariadb import MariaDBServer
from tests.servers.ports import HOST, ReservedPort
from tests.servers.proxy import Proxy
from tests.unit.stores.postgres.test_doors import PATIENCE, QUOTED, SECRET, another_server, refused


@pytest.fixture(scope="module")
def guarded() -> Iterator[MariaDBServer]:
    with MariaDBServer(password=SECRET) as server:
        server.ask("CREATE DATABASE app")
        yield server


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@contextmanager
def told(server: MariaDBServer, setting: str, value: str, usual: str) -> Iterator[None]:
    server.ask(f"SET GLOBAL {setting} = {value}")
    yield
    server.ask(f"SET GLOBAL {setting} = {usual}")


async def open_and_close(url: str) -> None:
    async with asyncio.timeout(PATIENCE):
        store = MySQLStore(url)
        await store.open()
        await store.close()


def test_a_bad_address(cli: Cli) -> None:
    refused(cli, f"mysql://ada:{QUOTED}@h:port/d", "bad_store_address")


def test_an_unknown_host(cli: Cli) -> None:
    refused(cli, f"mysql://ada:{QUOTED}@host.invalid/d", "store_unreachable")


def test_a_closed_port(cli: Cli) -> None:
    port = ReservedPort()
    refused(cli, f"mariadb://ada:{QUOTED}@{HOST}:{port.number}/d", "store_unreachable")
    port.release()


def test_a_wrong_password(cli: Cli, guarded: MariaDBServer) -> None:
    refused(cli, guarded.url_of("app").replace(QUOTED, f"{QUOTED}x"), "store_login_refused")


def test_a_missing_database(cli: Cli, guarded: MariaDBServer) -> None:
    refused(cli, guarded.url_of("nowhere"), "store_database_missing")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_of_another_kind(cli: Cli, answer: bytes) -> None:
    with another_server(answer) as port:
        refused(cli, f"mysql://ada:{QUOTED}@{HOST}:{port}/d", "store_unreachable")


def test_a_port_that_takes_connections_and_never_answers(cli: Cli, guarded: MariaDBServer) -> None:
    with Proxy(guarded.port) as proxy:
        proxy.half_open()
        refused(cli, proxy.through(guarded.url_of("app")), "store_unreachable")


def test_encryption_that_the_server_does_not_have(cli: Cli, guarded: MariaDBServer) -> None:
    refused(cli, f"{guarded.url_of('app')}?ssl-mode=required", "store_unreachable")


def test_a_certificate_that_is_not_there(cli: Cli, guarded: MariaDBServer) -> None:
    refused(cli, f"{guarded.url_of('app')}?ssl-mode=verify-ca&ssl-ca=/nowhere.pem", "bad_store_address")


def test_a_user_who_may_not_make_tables(cli: Cli, guarded: MariaDBServer) -> None:
    guarded.ask(f"CREATE USER guest@'{HOST}' IDENTIFIED BY '{SECRET}'; GRANT SELECT ON app.* TO guest@'{HOST}'")
    refused(cli, guarded.url_of("app").replace("root:", "guest:"), "store_not_allowed")


async def test_a_user_who_may_write_but_not_change_the_tables_is_let_in(guarded: MariaDBServer) -> None:
    guarded.ask("CREATE DATABASE lent")
    await open_and_close(guarded.url_of("lent"))
    rights = f"GRANT SELECT, INSERT, UPDATE, DELETE ON lent.* TO worker@'{HOST}'"
    guarded.ask(f"CREATE USER worker@'{HOST}' IDENTIFIED BY '{SECRET}'; {rights}")
    await open_and_close(guarded.url_of("lent").replace("root:", "worker:"))


def test_a_server_that_takes_no_writes(cli: Cli, guarded: MariaDBServer) -> None:
    with told(guarded, "read_only", "1", "0"):
        refused(cli, guarded.url_of("app"), "store_read_only")


@pytest.mark.parametrize("value", ["0", "2"])
def test_a_server_that_would_lose_what_it_has_acknowledged(cli: Cli, guarded: MariaDBServer, value: str) -> None:
    with told(guarded, "innodb_flush_log_at_trx_commit", value, "1"):
        english = refused(cli, guarded.url_of("app"), "store_not_durable")
    assert "innodb_flush_log_at_trx_commit" in english


def test_a_server_whose_log_cannot_tell_what_we_do(cli: Cli) -> None:
    settings = {"log-bin": "log", "server-id": "1", "binlog-format": "STATEMENT"}
    with MariaDBServer(settings=settings, password=SECRET) as server:
        server.ask("CREATE DATABASE app")
        english = refused(cli, server.url_of("app"), "store_server_too_old")
        assert "binlog_format" in english


async def test_a_server_that_is_too_old(guarded: MariaDBServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is only one version on a machine: the bar is raised instead."""
    monkeypatch.setitem(server_version._MIN_VERSIONS, "MariaDB", (99, 0, 0))
    with pytest.raises(UnusableStore) as refusal:
        await open_and_close(guarded.url_of("app"))
    assert refusal.value.code == "store_server_too_old"
    assert "MariaDB 99.0.0" in refusal.value.message


def test_without_the_library(cli: Cli, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "asyncmy.py").write_text("raise ModuleNotFoundError(\"No module named 'asyncmy'\", name='asyncmy')\n")
    url = f"mysql://ada:{QUOTED}@{HOST}/d"
    assert "pip install 'horae[mysql]'" in refused(cli, url, "store_library_missing", PYTHONPATH=str(blocked))
