"""At the door, by the real command line: whatever is wrong is said in one sentence, soon, and without the password."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Final
from urllib.parse import quote

import asyncpg
import pytest

from horae.clock import SystemClock
from horae.errors import UnusableStore
from horae.stores.postgres import PostgresStore, migrate
from horae.stores.postgres.connection_factory import PostgresConnectionFactory
from tests.cli.driving import Cli, Done
from tests.servers.pgbouncer import PgBouncer
from tests.servers.ports import HOST, ReservedPort
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy

SECRET: Final = "hunter2 p@ss/w%rd"  # noqa: S105 - it guards nothing
QUOTED: Final = quote(SECRET, safe="")
PATIENCE: Final = 60
UNREACHABLE: Final = 7
LINES: Final = 4
"""A sentence and a hint, each of which may be broken once."""


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    with PostgresServer(auth="scram-sha-256", password=SECRET) as server:
        yield server


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def spoken(cli: Cli, *arguments: str, url: str, **environment: str) -> subprocess.Popen[str]:
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


def refused(cli: Cli, url: str, code: str, **environment: str) -> str:
    """What `up` says in English; `ls` tells the same in Chinese, as a document."""
    plain = heard(cli.process("up", "--seconds", "1", "--lang", "en", **{"HORAE_STORE": url, **environment}))
    document = heard(cli.process("ls", "--json", "--lang", "zh", **{"HORAE_STORE": url, **environment}))
    told = json.loads(document.splitlines()[-1])
    assert told["code"] == code
    assert any("\u4e00" <= letter <= "\u9fff" for letter in told["detail"])
    return plain


def heard(done: Done) -> str:
    """What it said before it ended: a sentence and what would help, and nothing that is secret."""
    code, out, err = done
    assert code == UNREACHABLE, err
    assert SECRET not in out + err
    assert QUOTED not in out + err
    assert "Traceback" not in err
    assert 0 < len(err.splitlines()) <= LINES
    return err


def test_a_bad_address(cli: Cli) -> None:
    refused(cli, f"postgresql://ada:{QUOTED}@h:port/d", "bad_store_address")


def test_a_password_that_was_not_written_as_an_address_wants_it(cli: Cli) -> None:
    refused(cli, f"postgresql://ada:{SECRET}@h/d", "bad_store_address")


def test_a_word_that_is_neither_ours_nor_the_servers(cli: Cli, guarded: PostgresServer) -> None:
    english = refused(cli, f"{guarded.url}?conections=5", "bad_store_address")
    assert "conections" in english


def test_an_unknown_host(cli: Cli) -> None:
    refused(cli, f"postgresql://ada:{QUOTED}@host.invalid/d", "store_unreachable")


def test_a_closed_port(cli: Cli) -> None:
    port = ReservedPort()
    refused(cli, f"postgresql://ada:{QUOTED}@{HOST}:{port.number}/d", "store_unreachable")
    port.release()


def test_a_wrong_password(cli: Cli, guarded: PostgresServer) -> None:
    refused(cli, guarded.url.replace(QUOTED, f"{QUOTED}x"), "store_login_refused")


def test_a_missing_database(cli: Cli, guarded: PostgresServer) -> None:
    refused(cli, guarded.url_of("nowhere"), "store_database_missing")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"J\0\0\0\n10.11.6-MariaDB\0"])
def test_a_server_of_another_kind(cli: Cli, answer: bytes) -> None:
    with another_server(answer) as port:
        refused(cli, f"postgresql://ada:{QUOTED}@{HOST}:{port}/d", "store_unreachable")


@contextmanager
def another_server(answer: bytes) -> Iterator[int]:
    """Says one thing to whoever comes, and hangs up."""
    loop = asyncio.new_event_loop()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(asyncio.start_server(greet, HOST, 0), loop).result()
    yield server.sockets[0].getsockname()[1]
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_port_that_takes_connections_and_never_answers(cli: Cli, guarded: PostgresServer) -> None:
    with Proxy(guarded.port) as proxy:
        proxy.half_open()
        refused(cli, proxy.through(guarded.url), "store_unreachable")


def test_a_frozen_server(cli: Cli) -> None:
    with PostgresServer(auth="scram-sha-256", password=SECRET) as server:
        server.freeze()
        refused(cli, server.url, "store_unreachable")
        server.thaw()


def as_user(server: PostgresServer, name: str, *rights: str, settings: str = "") -> str:
    server.ask(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'")
    for right in rights:
        server.ask(right)
    if settings:
        server.ask(f"ALTER ROLE {name} SET {settings}")
    return server.url.replace("postgresql://postgres:", f"postgresql://{name}:")


def test_a_user_who_may_not_make_the_schema(cli: Cli, guarded: PostgresServer) -> None:
    english = refused(cli, f"{as_user(guarded, 'guest')}?schema=guests", "store_not_allowed")
    assert "permission denied for database" in english


async def test_a_user_who_may_not_see_the_schema(cli: Cli, guarded: PostgresServer) -> None:
    await open_and_close(f"{guarded.url}?schema=hidden")
    refused(cli, f"{as_user(guarded, 'stranger')}?schema=hidden", "store_not_allowed")


async def test_a_user_who_may_see_the_schema_and_no_more(cli: Cli, guarded: PostgresServer) -> None:
    await open_and_close(f"{guarded.url}?schema=shown")
    url = as_user(guarded, "onlooker", "GRANT USAGE ON SCHEMA shown TO onlooker")
    refused(cli, f"{url}?schema=shown", "store_not_allowed")


async def test_a_user_who_may_write_but_not_change_the_tables_is_let_in(guarded: PostgresServer) -> None:
    await open_and_close(f"{guarded.url}?schema=lent")
    rights = (
        "GRANT USAGE ON SCHEMA lent TO worker",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lent TO worker",
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA lent TO worker",
    )
    await open_and_close(f"{as_user(guarded, 'worker', *rights)}?schema=lent")


async def test_a_schema_of_a_newer_version(cli: Cli, guarded: PostgresServer) -> None:
    await open_and_close(f"{guarded.url}?schema=newer")
    guarded.ask("INSERT INTO newer.migrations VALUES (999)")
    english = refused(cli, f"{guarded.url}?schema=newer", "store_newer")
    assert "999" in english


@pytest.mark.parametrize(
    ("schema", "table"),
    [
        ("theirs", "tasks (id integer)"),
        ("framework", "migrations (id integer, migration text, batch integer)"),
        ("lookalike", "migrations (number integer)"),
    ],
)
def test_a_schema_with_tables_of_another_program(cli: Cli, guarded: PostgresServer, schema: str, table: str) -> None:
    guarded.ask(f"CREATE SCHEMA {schema}")
    guarded.ask(f"CREATE TABLE {schema}.{table}")
    refused(cli, f"{guarded.url}?schema={schema}", "store_not_ours")
    assert guarded.ask(f"SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace") == "1"  # noqa: S608


def test_a_server_that_takes_no_writes(cli: Cli, guarded: PostgresServer) -> None:
    refused(cli, as_user(guarded, "reader", settings="default_transaction_read_only = on"), "store_read_only")


async def test_a_standby(cli: Cli) -> None:
    with PostgresServer(auth="scram-sha-256", password=SECRET) as server:
        await open_and_close(server.url)
        server.shut_down()
        (server.folder / "data" / "standby.signal").touch()
        server.ready = "ready to accept read-only connections"  # type: ignore[misc]  # of this one alone
        server.start()
        refused(cli, server.url, "store_read_only")


def test_a_session_that_would_lose_what_it_has_acknowledged(cli: Cli, guarded: PostgresServer) -> None:
    english = refused(cli, as_user(guarded, "hasty", settings="synchronous_commit = off"), "store_not_durable")
    assert "synchronous_commit" in english


def test_a_server_that_would_lose_what_it_has_acknowledged(cli: Cli) -> None:
    with PostgresServer(settings={"fsync": "off"}, auth="scram-sha-256", password=SECRET) as server:
        english = refused(cli, server.url, "store_not_durable")
        assert "fsync" in english


def test_a_database_that_cannot_hold_every_text(cli: Cli, guarded: PostgresServer) -> None:
    guarded.ask("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    refused(cli, guarded.url_of("latin"), "store_server_too_old")


async def test_a_server_that_is_too_old(guarded: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is only one version on a machine: the bar is raised instead."""
    monkeypatch.setattr(migrate, "MIN_VERSION", 99)
    with pytest.raises(UnusableStore) as refusal:
        await open_and_close(guarded.url)
    assert refusal.value.code == "store_server_too_old"
    assert "PostgreSQL 99" in refusal.value.message


def test_without_the_library(cli: Cli, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "asyncpg.py").write_text("raise ModuleNotFoundError(\"No module named 'asyncpg'\", name='asyncpg')\n")
    url = f"postgresql://ada:{QUOTED}@{HOST}/d"
    assert "pip install 'horae[postgres]'" in refused(cli, url, "store_library_missing", PYTHONPATH=str(blocked))


def test_a_pooler_that_was_not_announced_is_told_apart(cli: Cli, guarded: PostgresServer) -> None:
    with PgBouncer(guarded) as pooler:
        english = refused(cli, pooler.through(guarded.url), "bad_store_address")
        assert "statement_cache=0" in english


def test_nobody_reads_the_password_in_the_list_of_processes(cli: Cli, guarded: PostgresServer) -> None:
    with guarded_node(cli, guarded) as node:
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
def guarded_node(cli: Cli, server: PostgresServer) -> Iterator[subprocess.Popen[str]]:
    node = spoken(cli, "up", "--json", url=f"{server.url}?schema=listed")
    try:
        yield node
    finally:
        node.terminate()
        out, err = node.communicate(timeout=PATIENCE)
        assert SECRET not in out + err
        assert QUOTED not in out + err


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def open_and_close(url: str) -> None:
    async with asyncio.timeout(PATIENCE):
        store = PostgresStore(url)
        await store.open()
        await store.close()


async def test_a_server_that_is_just_starting_is_waited_for(guarded: PostgresServer) -> None:
    """Refusals of the first moment are no refusals: it says itself that it will be there soon."""
    tries: list[str] = []

    class Starting(PostgresConnectionFactory):
        async def open_raw(self, dsn: str, **settings: str) -> asyncpg.Connection:
            tries.append(dsn)
            if len(tries) < 3:
                raise asyncpg.CannotConnectNowError("the database system is starting up")
            return await super().open_raw(dsn, **settings)

    async with asyncio.timeout(PATIENCE):
        store = PostgresStore(f"{guarded.url}?schema=starting")
        store._postgres = Starting(store.address, SystemClock())
        await store.open()
        await store.close()
    assert len(tries) == 3
