"""Connections that others bring: which are taken, which are refused, and that nothing of them is changed."""

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
from horae.stores.sqlite import SQLiteStore, shared_transactions
from horae.stores.sqlite.queries import add_tasks
from horae.stores.task_cache import TaskCache
from horae.testing.factories import a_new_task, a_task
from tests.unit.stores.sqlite.opening import PATIENCE, opened

SETTINGS = (
    "busy_timeout", "cache_size", "synchronous", "temp_store", "foreign_keys", "journal_mode", "wal_autocheckpoint",
    "query_only", "locking_mode", "recursive_triggers", "defer_foreign_keys", "automatic_index",
)  # fmt: skip


async def add(store: SQLiteStore, connection: object, *tasks: Task) -> None:
    await store.add_using(connection, [a_new_task(task) for task in tasks], lambda: None)


async def refused(store: SQLiteStore, connection: object) -> str:
    with pytest.raises(Refusal) as refusal:
        await add(store, connection, a_task())
    assert refusal.value.hint
    assert refusal.value.in_language("zh").hint
    return refusal.value.code


async def kept(store: SQLiteStore) -> list[Task]:
    return [facts.task for facts in (await store.tasks(TaskFilter())).items]


async def test_nothing_of_the_connection_is_changed(tmp_path: Path) -> None:
    def settings(connection: apsw.Connection) -> list[object]:
        return [connection.execute(f"PRAGMA {name}").fetchall() for name in SETTINGS]

    async with opened(tmp_path / "horae.db") as store:
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


async def test_the_file_is_known_by_what_it_is_and_not_by_how_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "horae.db")

    monkeypatch.chdir(tmp_path)
    async with opened(Path("link.db")) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        for name in ("horae.db", "link.db"):
            with closing(apsw.Connection(f"../{name}")) as connection, connection:
                await add(store, connection, a_task())
        assert len(await kept(store)) == 2


async def test_a_database_in_memory_is_another_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(":memory:")) as connection:
            connection.execute("BEGIN")
            assert await refused(store, connection) == "another_database"


async def test_a_transaction_that_has_read_before_others_wrote_is_refused_and_still_reads(tmp_path: Path) -> None:
    async with opened(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path)) as connection:
            connection.execute("BEGIN")
            count = connection.execute("SELECT count(*) FROM tasks").get
            await store.add([a_new_task(a_task())])
            assert await refused(store, connection) == "busy_transaction"
            assert connection.in_transaction
            assert connection.execute("SELECT count(*) FROM tasks").get == count == 0
            connection.execute("ROLLBACK")


async def test_somebody_else_who_writes_is_in_the_way(tmp_path: Path) -> None:
    async with opened(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path)) as other, closing(apsw.Connection(store.path)) as connection:
            other.execute("BEGIN IMMEDIATE")
            connection.execute("BEGIN")
            assert await refused(store, connection) == "busy_transaction"
            other.execute("ROLLBACK")
            await add(store, connection, a_task())
            connection.execute("COMMIT")
        assert len(await kept(store)) == 1


async def test_a_connection_that_may_not_write_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path / "horae.db") as store:
        with closing(apsw.Connection(store.path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.execute("BEGIN")
            with pytest.raises(StoreUnavailable, match="readonly"):
                await add(store, connection, a_task())
            assert connection.in_transaction


async def test_a_store_that_is_closed_joins_nothing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    await store.close()
    with closing(apsw.Connection(store.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            await add(store, connection, a_task())
        assert connection.execute("SELECT count(*) FROM tasks").get == 0


async def test_a_transaction_that_never_ends_does_not_keep_the_store_from_closing(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    with closing(apsw.Connection(store.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        await add(store, connection, a_task())
        await asyncio.wait_for(store.close(), PATIENCE)
        connection.execute("COMMIT")
    async with opened(Path(store.path)) as again:
        assert len(await kept(again)) == 1


# --- sqlite3 -----------------------------------------------------------------------------------------------------------


def test_what_is_said_of_the_libraries_is_what_the_locks_do(tmp_path: Path) -> None:
    """Why sqlite3 is refused where it has a SQLite of its own: both would write at once."""
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


async def test_a_connection_of_another_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path / "horae.db") as store:
        monkeypatch.setattr(shared_transactions, "shares_library", lambda: False)
        # To something else: even to open the file with it would be a danger.
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute("BEGIN")
            assert await refused(store, connection) == "another_library"


async def theirs_alone(path: Path) -> sqlite3.Connection:
    """To a file that nothing but sqlite3 has open, so that it may be tried with any library."""
    async with opened(path):
        pass
    return sqlite3.connect(path)


@pytest.fixture
def one_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_transactions, "shares_library", lambda: True)


@pytest.mark.usefixtures("one_library")
async def test_a_connection_of_sqlite3_is_as_good_where_the_library_is_one(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    task, other = a_task(key="report"), a_task()
    with closing(await theirs_alone(path)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes
        connection.execute("CREATE TABLE notes (note TEXT)")
        connection.execute("INSERT INTO notes VALUES ('7')")
        with shared_transactions.join_transaction(connection, str(path), SystemClock()) as link:
            add_tasks(link, TaskCache(), [a_new_task(task)])
            with pytest.raises(Conflict) as refusal, link.savepoint():
                add_tasks(link, TaskCache(), [a_new_task(a_task()), a_new_task(a_task(key="report"))])
            add_tasks(link, TaskCache(), [a_new_task(other)])
        assert refusal.value.code == "key_taken"
        connection.commit()
        assert [tuple(row) for row in connection.execute("SELECT note FROM notes")] == [(b"7",)]

    async with opened(path) as store:
        assert await kept(store) == [task, other]
        assert await store.check() == ()


@pytest.mark.usefixtures("one_library")
async def test_a_connection_of_sqlite3_without_a_transaction_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    with (
        closing(await theirs_alone(path)) as connection,
        pytest.raises(Refusal) as refusal,
        shared_transactions.join_transaction(connection, str(path), SystemClock()),
    ):
        pytest.fail("it has not begun any")
    assert refusal.value.code == "no_transaction"


@pytest.mark.usefixtures("one_library")
async def test_a_connection_of_sqlite3_that_is_closed_or_of_another_thread_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    found: list[str] = []

    def look() -> None:
        with (
            pytest.raises(Refusal) as refusal,
            shared_transactions.join_transaction(connection, str(path), SystemClock()),
        ):
            pytest.fail("it cannot be used")
        found.append(refusal.value.code)

    connection = await theirs_alone(path)
    connection.execute("BEGIN IMMEDIATE")
    thread = Thread(target=look)
    thread.start()
    thread.join()
    connection.close()
    look()
    assert found == ["another_thread", "wrong_connection"]
