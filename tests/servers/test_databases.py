"""Temporary database servers: durability, kill, freeze, and cleanup."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import process_tree
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.server import PATIENCE, ROOT

Database = PostgresServer | MariaDBServer
KINDS = pytest.mark.parametrize("kind", [PostgresServer, MariaDBServer])
OWNER = """
import sys
from {module} import {kind}
server = {kind}().start()
server.freeze()
print(server.pid, server._watcher.pid, server.folder, flush=True)
sys.stdin.read()
"""


def states(pid: int) -> set[str]:
    family = (pid, *process_tree.children(pid))
    return {Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] for one in family}


def ended(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], PATIENCE)[0])
    finally:
        os.close(handle)


@pytest.mark.parametrize("server", ["postgres_server", "mariadb_server"])
def test_databases_are_separate_and_removed_when_dropped(server: str, request: pytest.FixtureRequest) -> None:
    database: Database = request.getfixturevalue(server)
    names = [database.new_database().rpartition("/")[2] for _ in range(2)]
    for name in names:
        database.ask("CREATE TABLE mine (n int)", database=name)
        database.drop_database(database.url_of(name))
    with pytest.raises(AssertionError, match=names[0]):
        database.ask("SELECT 1", database=names[0])


@KINDS
def test_committed_rows_survive_a_kill_and_a_restart(kind: type[Database]) -> None:
    with kind() as server:
        name = server.new_database().rpartition("/")[2]
        first, port = server.pid, server.port
        server.ask("CREATE TABLE numbers (n int)", database=name)
        server.ask("INSERT INTO numbers VALUES (1)", database=name)
        server.kill()
        assert not server.running
        assert ended(first)
        server.restart()
        server.ask("INSERT INTO numbers VALUES (2)", database=name)
        server.shut_down()
        assert not server.running
        server.start()
        assert server.ask("SELECT n FROM numbers ORDER BY n", database=name) == "1\n2"
        assert server.port == port


@KINDS
def test_frozen_server_answers_after_thaw(kind: type[Database]) -> None:
    with kind() as server:
        server.freeze()
        assert states(server.pid) == {"T"}
        server.thaw()
        assert server.ask("SELECT 1") == "1"
        server.freeze()
        server.restart()
        assert server.ask("SELECT 1") == "1"


@KINDS
def test_stop_is_idempotent_and_leaves_no_trace(kind: type[Database]) -> None:
    with kind() as server:
        folder, pid = server.folder, server.pid
        server.freeze()
        server.stop()
        assert not folder.exists()
        assert ended(pid)


@KINDS
def test_server_is_removed_when_its_owner_is_killed(kind: type[Database]) -> None:
    code = OWNER.format(module=kind.__module__, kind=kind.__name__)
    command = (sys.executable, "-c", code)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout is not None
        server, watcher, folder = owner.stdout.readline().split()
        assert Path(folder).exists()
        owner.send_signal(signal.SIGKILL)
    assert ended(int(watcher))
    assert ended(int(server))
    assert not Path(folder).exists()


@KINDS
def test_failed_start_is_explained_and_cleaned_up(kind: type[Database]) -> None:
    server = kind(settings={"no_such_setting_here": "1"})
    with pytest.raises(AssertionError, match=r"no.such.setting.here"):
        server.start()
    assert not server.running
    assert server._folder is None


@KINDS
def test_server_has_default_durability(kind: type[Database], request: pytest.FixtureRequest) -> None:
    server: Database = request.getfixturevalue("postgres_server" if kind is PostgresServer else "mariadb_server")
    if isinstance(server, PostgresServer):
        assert [server.ask(f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")] == [
            "on"
        ] * 3
    else:
        assert server.ask("SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite") == "1\t1"
