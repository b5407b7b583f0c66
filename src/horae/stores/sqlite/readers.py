"""Pool of read connections and reader threads, so that reads do not wait for the writer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

import apsw

from ...errors import StoreUnavailable
from .connection import SqliteConnection, translate_error

_T = TypeVar("_T")

_THREAD_COUNT: Final = 2


class Readers:
    """Every call reads a snapshot of one instant."""

    def __init__(self, connect: Callable[[], SqliteConnection]) -> None:
        self._connect = connect
        self._idle: SimpleQueue[SqliteConnection] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None
        self._long_threads: ThreadPoolExecutor | None = None
        self.statements = 0

    def start(self) -> None:
        self._threads = ThreadPoolExecutor(_THREAD_COUNT, thread_name_prefix="horae-sqlite-reader")
        self._long_threads = ThreadPoolExecutor(1, thread_name_prefix="horae-sqlite-long-reader")

    async def run(self, work: Callable[[SqliteConnection], _T]) -> _T:
        return await self._run_on(self._threads, work)

    async def run_statement(self, work: Callable[[SqliteConnection], _T]) -> _T:
        """Run work of one statement; it needs no transaction to read one snapshot."""
        return await self._run_on(self._threads, work, single_statement=True)

    async def run_inline(self, work: Callable[[SqliteConnection], _T], *, single_statement: bool = False) -> _T:
        """Read a few index rows on the event loop: handing the work to a thread would cost more than the read.

        A reader waits only while the file is being opened or recovered; then a reader thread does the work.
        """
        if self._threads is None:
            raise StoreUnavailable("The store is closed.")
        try:
            return self._run(work, single_statement, busy_seconds=0)
        except StoreUnavailable:
            return await self._run_on(self._threads, work, single_statement=single_statement)

    async def run_long(self, work: Callable[[SqliteConnection], _T]) -> _T:
        """Run work that takes seconds or minutes on a thread of its own, so that other reads do not wait."""
        return await self._run_on(self._long_threads, work)

    async def compute(self, work: Callable[[], _T]) -> _T:
        """Run CPU-bound work without a connection on a reader thread."""
        if self._threads is None:
            raise StoreUnavailable("The store is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _run_on(
        self, pool: ThreadPoolExecutor | None, work: Callable[[SqliteConnection], _T], *, single_statement: bool = False
    ) -> _T:
        if pool is None:
            raise StoreUnavailable("The store is closed.")
        return await asyncio.get_running_loop().run_in_executor(pool, self._run, work, single_statement)

    def _run(
        self,
        work: Callable[[SqliteConnection], _T],
        single_statement: bool,  # noqa: FBT001 - an executor takes no names
        busy_seconds: float | None = None,
    ) -> _T:
        try:
            connection = self._take_connection()
            try:
                if busy_seconds is not None:
                    connection.set_busy_timeout(busy_seconds)
                return work(connection) if single_statement else _in_read_transaction(connection, work)
            finally:
                if busy_seconds is not None:
                    connection.set_busy_timeout(None)
                self.statements += connection.reset_statement_count()
                if connection.in_transaction:
                    # A connection that could not end its transaction is closed, not reused.
                    connection.close()
                else:
                    self._idle.put(connection)
        except apsw.Error as error:
            raise translate_error(error) from error

    def _take_connection(self) -> SqliteConnection:
        try:
            return self._idle.get_nowait()
        except Empty:
            return self._connect()

    async def stop(self) -> None:
        pools, self._threads, self._long_threads = (self._threads, self._long_threads), None, None
        for pool in pools:
            if pool is not None:
                await asyncio.get_running_loop().run_in_executor(None, pool.shutdown)
        while not self._idle.empty():
            self._idle.get().close()


def _in_read_transaction(connection: SqliteConnection, work: Callable[[SqliteConnection], _T]) -> _T:
    connection.query("BEGIN")
    try:
        return work(connection)
    finally:
        with suppress(apsw.Error):
            connection.query("COMMIT")
