"""Connection errors on the command line: one sentence with a hint, soon, and without the password."""

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
from tests.unit.stores.connection_errors import QUOTED, SECRET, TIMEOUT_SECONDS, assert_refused, serve_reply


@pytest.fixture(scope="module")
def password_server() -> Iterator[MariaDBServer]:
    with MariaDBServer(password=SECRET) as server:
        server.ask("CREATE DATABASE app")
        yield server


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@contextmanager
def setting(server: MariaDBServer, setting: str, value: str, usual: str) -> Iterator[None]:
    server.ask(f"SET GLOBAL {setting} = {value}")
    yield
    server.ask(f"SET GLOBAL {setting} = {usual}")


async def open_and_close(url: str) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        store = MySQLStore(url)
        await store.open()
        await store.close()


def test_bad_address_is_refused(cli: Cli) -> None:
    assert_refused(cli, f"mysql://ada:{QUOTED}@h:port/d", "bad_store_address")


def test_unknown_host_is_refused(cli: Cli) -> None:
    assert_refused(cli, f"mysql://ada:{QUOTED}@host.invalid/d", "store_unreachable")


def test_closed_port_is_refused(cli: Cli) -> None:
    with ReservedPort() as port:
        assert_refused(cli, f"mariadb://ada:{QUOTED}@{HOST}:{port.number}/d", "store_unreachable")


def test_wrong_password_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    assert_refused(cli, password_server.url_of("app").replace(QUOTED, f"{QUOTED}x"), "store_login_refused")


def test_missing_database_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    assert_refused(cli, password_server.url_of("nowhere"), "store_database_missing")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_server_of_another_kind_is_refused(cli: Cli, answer: bytes) -> None:
    with serve_reply(answer) as port:
        assert_refused(cli, f"mysql://ada:{QUOTED}@{HOST}:{port}/d", "store_unreachable")


def test_port_that_never_answers_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    with Proxy(password_server.port) as proxy:
        proxy.half_open()
        assert_refused(cli, proxy.through(password_server.url_of("app")), "store_unreachable")


def test_missing_tls_support_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    assert_refused(cli, f"{password_server.url_of('app')}?ssl-mode=required", "store_unreachable")


def test_missing_certificate_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    assert_refused(cli, f"{password_server.url_of('app')}?ssl-mode=verify-ca&ssl-ca=/nowhere.pem", "bad_store_address")


def test_user_without_create_rights_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    password_server.ask(f"CREATE USER guest@'{HOST}' IDENTIFIED BY '{SECRET}'; GRANT SELECT ON app.* TO guest@'{HOST}'")
    assert_refused(cli, password_server.url_of("app").replace("root:", "guest:"), "store_not_allowed")


async def test_user_with_write_rights_only_is_accepted(password_server: MariaDBServer) -> None:
    password_server.ask("CREATE DATABASE lent")
    await open_and_close(password_server.url_of("lent"))
    rights = f"GRANT SELECT, INSERT, UPDATE, DELETE ON lent.* TO worker@'{HOST}'"
    password_server.ask(f"CREATE USER worker@'{HOST}' IDENTIFIED BY '{SECRET}'; {rights}")
    await open_and_close(password_server.url_of("lent").replace("root:", "worker:"))


def test_read_only_server_is_refused(cli: Cli, password_server: MariaDBServer) -> None:
    with setting(password_server, "read_only", "1", "0"):
        assert_refused(cli, password_server.url_of("app"), "store_read_only")


@pytest.mark.parametrize("value", ["0", "2"])
def test_server_without_durable_commits_is_refused(cli: Cli, password_server: MariaDBServer, value: str) -> None:
    with setting(password_server, "innodb_flush_log_at_trx_commit", value, "1"):
        english = assert_refused(cli, password_server.url_of("app"), "store_not_durable")
    assert "innodb_flush_log_at_trx_commit" in english


def test_statement_based_binary_log_is_refused(cli: Cli) -> None:
    settings = {"log-bin": "log", "server-id": "1", "binlog-format": "STATEMENT"}
    with MariaDBServer(settings=settings, password=SECRET) as server:
        server.ask("CREATE DATABASE app")
        english = assert_refused(cli, server.url_of("app"), "store_server_too_old")
        assert "binlog_format" in english


async def test_too_old_server_is_refused(password_server: MariaDBServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has only one version: the test raises the minimum instead."""
    monkeypatch.setitem(server_version._MIN_VERSIONS, "MariaDB", (99, 0, 0))
    with pytest.raises(UnusableStore) as refusal:
        await open_and_close(password_server.url_of("app"))
    assert refusal.value.code == "store_server_too_old"
    assert "MariaDB 99.0.0" in refusal.value.message


def test_missing_driver_is_refused(cli: Cli, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "asyncmy.py").write_text("raise ModuleNotFoundError(\"No module named 'asyncmy'\", name='asyncmy')\n")
    url = f"mysql://ada:{QUOTED}@{HOST}/d"
    assert "pip install 'horae[mysql]'" in assert_refused(cli, url, "store_library_missing", PYTHONPATH=str(blocked))
