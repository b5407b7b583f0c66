"""Tasks in the caller's own transaction, on SQLite: with a connection to the file, and with the file attached to another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from horae.ports.full_store import FullStore
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts import CallerConnection, SharedTransactionContract

PATIENCE_MILLISECONDS = 30_000


class SQLiteGuest:
    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        connection.set_busy_timeout(PATIENCE_MILLISECONDS)

    async def run(self, statement: str) -> None:
        self.connection.execute("BEGIN IMMEDIATE" if statement == "BEGIN" else statement)

    async def notes(self) -> list[str]:
        return [note for (note,) in self.connection.execute("SELECT note FROM notes ORDER BY rowid")]


class TestSQLiteUsing(SharedTransactionContract):
    kind = SQLiteStore

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        with TemporaryDirectory() as folder:
            store = self.kind(Path(folder, "horae.db"))
            await store.open()
            try:
                yield store
            finally:
                await store.close()

    @asynccontextmanager
    async def connect_as_caller(self, store: FullStore) -> AsyncIterator[CallerConnection]:
        assert isinstance(store, SQLiteStore)
        with closing(apsw.Connection(store.path)) as connection:
            guest = SQLiteGuest(connection)
            connection.execute("CREATE TABLE IF NOT EXISTS notes (note TEXT)")
            yield guest


class TestAttached(TestSQLiteUsing):
    """The caller has its own file with tables of the same names, and attaches the file of the store."""

    @asynccontextmanager
    async def connect_as_caller(self, store: FullStore) -> AsyncIterator[CallerConnection]:
        assert isinstance(store, SQLiteStore)
        with closing(apsw.Connection(str(Path(store.path).with_name("theirs.db")))) as connection:
            guest = SQLiteGuest(connection)
            connection.execute('ATTACH ? AS "the \' "" store"', (store.path,))
            connection.execute("CREATE TABLE IF NOT EXISTS notes (note TEXT)")
            for name in ("tasks", "task_state", "agenda", "events", "counters", "runs", "lane_slots"):
                connection.execute(f"CREATE TABLE IF NOT EXISTS main.{name} (theirs TEXT)")
                connection.execute(f"CREATE TEMPORARY TABLE {name} (theirs TEXT)")
            yield guest
