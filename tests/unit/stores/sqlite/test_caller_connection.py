"""Caller connections (`add_using`): which are accepted or refused, and that their settings stay unchanged."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import apsw
import pytest

from horae.clock import SystemClock
from horae.errors import Conflict, Refusal, StoreUnavailable
from horae.model.task import Task
from horae.ports.store import TaskFilter
from horae.stores.run_to_end import run_to_end
from horae.stores.sql.reads.queries import add_tasks
from horae.stores.sqlite import SQLiteStore, shared_transactions
from horae.stores.sqlite.session import SqliteStatements
from horae.testing.factories import a_new_task, a_task
from tests.unit.stores.sqlite.store_setup import TIMEOUT_SECONDS, open_store

SETTINGS = (
    "busy_timeout", "cache_size", "synchronous", "temp_store", "foreign_keys", "journal_mode", "wal_autocheckpoint",
    "query_only", "locking_mode", "recursive_triggers", "defer_foreign_keys", "automatic_index",
)  # fmt: skip


async def add(store: SQLiteStore, connection: object, *tasks: Task) -> None:
    await store.add_using(connection, [a_new_task(task) for task in tasks], lambda: None)


async def refusal_code(store: SQLiteStore, connection: object) -> str:
    with pytest.raises(Refusal) as refusal:
        await add(store, connection, a_task())
    assert refusal.value.hint
    assert refusal.value.in_language("zh").hint
    return refusal.value.code


async def stored_tasks(store: SQLiteStore) -> list[Task]:
    return [facts.task for facts in (await store.tasks(TaskFilter())).items]


async def test_caller_connection_settings_are_unchanged(tmp_path: Path) -> None:
    def settings(connection: apsw.Connection) -> list[object]:
        return [connection.execute(f"PRAGMA {name}").fetchall() for name in SETTINGS]

    async with open_store(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path)) as connection:
            rows = connection.row_trace = lambda _cursor, row: {"row": row}
            connection.set_busy_timeout(1234)
            connection.execute("PRAGMA synchronous = NORMAL")
            before = settings(connection)
            connection.execute("BEGIN IMMEDIATE")
            await add(store, connection, a_task())
            assert connection.in_transaction
            connection.execute("COMMIT")
            assert settings(connection) == before
            assert connection.row_trace is rows
            rows_of_theirs: list[object] = [*connection.execute("SELECT 1")]
            assert rows_of_theirs == [{"row": (1,)}]


async def test_file_is_recognised_by_any_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "horae.db")

    monkeypatch.chdir(tmp_path)
    async with open_store(Path("link.db")) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        for name in ("horae.db", "link.db"):
            with closing(apsw.Connection(f"../{name}")) as connection, connection:
                await add(store, connection, a_task())
        assert len(await stored_tasks(store)) == 2


async def test_in_memory_database_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(":memory:")) as connection:
            connection.execute("BEGIN")
            assert await refusal_code(store, connection) == "another_database"


async def test_transaction_with_a_stale_snapshot_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path)) as connection:
            connection.execute("BEGIN")
            count = connection.execute("SELECT count(*) FROM tasks").get
            await store.add([a_new_task(a_task())])
            assert await refusal_code(store, connection) == "busy_transaction"
            assert connection.in_transaction
            assert connection.execute("SELECT count(*) FROM tasks").get == count == 0
            connection.execute("ROLLBACK")


async def test_caller_transaction_is_refused_while_another_writes(tmp_path: Path) -> None:
    async with open_store(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path)) as other, closing(apsw.Connection(store.path)) as connection:
            other.execute("BEGIN IMMEDIATE")
            connection.execute("BEGIN")
            assert await refusal_code(store, connection) == "busy_transaction"
            other.execute("ROLLBACK")
            await add(store, connection, a_task())
            connection.execute("COMMIT")
        assert len(await stored_tasks(store)) == 1


async def test_read_only_connection_is_refused(tmp_path: Path) -> None:
    async with open_store(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.execute("BEGIN")
            with pytest.raises(StoreUnavailable, match="readonly"):
                await add(store, connection, a_task())
            assert connection.in_transaction


async def test_closed_store_refuses_a_caller_connection(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    await store.close()
    with closing(apsw.Connection(store.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            await add(store, connection, a_task())
        assert connection.execute("SELECT count(*) FROM tasks").get == 0


async def test_open_caller_transaction_does_not_block_close(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    with closing(apsw.Connection(store.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        await add(store, connection, a_task())
        await asyncio.wait_for(store.close(), TIMEOUT_SECONDS)
        connection.execute("COMMIT")
    async with open_store(Path(store.path)) as again:
        assert len(await stored_tasks(again)) == 1


# --- sqlite3 -----------------------------------------------------------------------------------------------------------


def test_second_sqlite_library_ignores_the_locks(tmp_path: Path) -> None:
    """Why sqlite3 with its own copy of SQLite is refused: both libraries would write at once."""
    path = str(tmp_path / "any.db")
    with closing(apsw.Connection(path)) as ours, closing(sqlite3.connect(path, timeout=0)) as theirs:
        ours.execute("PRAGMA journal_mode = WAL").fetchall()
        ours.execute("BEGIN IMMEDIATE")
        try:
            theirs.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            assert shared_transactions.shares_library()
        else:
            assert not shared_transactions.shares_library()


async def test_connection_of_another_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(tmp_path / "horae.db") as store:
        monkeypatch.setattr(shared_transactions, "shares_library", lambda: False)
        # Another file: opening the store's file with a second library could damage it.
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute("BEGIN")
            assert await refusal_code(store, connection) == "another_library"


async def open_sqlite3(path: Path) -> sqlite3.Connection:
    """Connect to a file that only sqlite3 has open, so that any library is safe."""
    async with open_store(path):
        pass
    return sqlite3.connect(path)


@pytest.fixture
def shared_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_transactions, "shares_library", lambda: True)


@pytest.mark.usefixtures("shared_library")
async def test_sqlite3_connection_of_the_same_library_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    task, other = a_task(key="report"), a_task()
    with closing(await open_sqlite3(path)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes
        connection.execute("CREATE TABLE notes (note TEXT)")
        connection.execute("INSERT INTO notes VALUES ('7')")
        with shared_transactions.join_transaction(connection, str(path), SystemClock()) as link:
            run_to_end(add_tasks(SqliteStatements(link), [a_new_task(task)]))
            with pytest.raises(Conflict) as refusal, link.savepoint():
                run_to_end(add_tasks(SqliteStatements(link), [a_new_task(a_task()), a_new_task(a_task(key="report"))]))
            run_to_end(add_tasks(SqliteStatements(link), [a_new_task(other)]))
        assert refusal.value.code == "key_taken"
        connection.commit()
        assert [tuple(row) for row in connection.execute("SELECT note FROM notes")] == [(b"7",)]

    async with open_store(path) as store:
        assert await stored_tasks(store) == [task, other]
        assert await store.check() == ()


@pytest.mark.usefixtures("shared_library")
async def test_sqlite3_connection_without_a_transaction_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    with (
        closing(await open_sqlite3(path)) as connection,
        pytest.raises(Refusal) as refusal,
        shared_transactions.join_transaction(connection, str(path), SystemClock()),
    ):
        pytest.fail("it has not begun any")
    assert refusal.value.code == "no_transaction"


@pytest.mark.usefixtures("shared_library")
async def test_sqlite3_connection_that_is_closed_or_of_another_thread_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    found: list[str] = []

    def add_in_thread() -> None:
        with (
            pytest.raises(Refusal) as refusal,
            shared_transactions.join_transaction(connection, str(path), SystemClock()),
        ):
            pytest.fail("it cannot be used")
        found.append(refusal.value.code)

    connection = await open_sqlite3(path)
    connection.execute("BEGIN IMMEDIATE")
    thread = Thread(target=add_in_thread)
    thread.start()
    thread.join()
    connection.close()
    add_in_thread()
    assert found == ["another_thread", "wrong_connection"]
