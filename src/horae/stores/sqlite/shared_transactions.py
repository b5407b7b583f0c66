"""Tasks added in the caller's transaction (`using=`), and a watcher that reports when that transaction has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import apsw

from ...errors import StoreError, StoreUnavailable
from ...model.change import Change
from ..shared_transaction_refusals import refuse
from ..sqlalchemy_connection import find_driver_connection
from ..task_cache import TaskCache
from .connection import SqliteConnection
from .errors import translate_error
from .queries import add_tasks
from .writer import Writer

_PROBE_SECONDS: Final = 0.25
"""Longest time that one probe occupies the writer, which could write nothing during it anyway."""


class TransactionWatcher:
    """Runs callbacks when the callers' transactions in which tasks were added have ended.

    Only one connection at a time can write to the file, and a caller that added tasks holds the write lock until its
    transaction ends. So once the writer gets the lock, the transaction has ended, committed or not.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._callbacks: list[Callable[[], None]] = []
        self._watcher: asyncio.Task[None] | None = None

    def on_end(self, over: Callable[[], None]) -> None:
        self._callbacks.append(over)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self._callbacks:
            try:
                over = await self._writer.submit(self._take_callbacks, peek=self._probe, urgent=False)
            except StoreError:
                # The store is closed or unavailable: the engines find added tasks by polling.
                return
            for callback in over:
                callback()

    def _probe(self, connection: SqliteConnection) -> list[Callable[[], None]]:
        """Try to get the write lock, on the writer's thread; returns no callbacks while another connection has it."""
        with connection.busy_timeout(_PROBE_SECONDS):
            try:
                connection.query("BEGIN IMMEDIATE")
            except apsw.BusyError:
                return []
        over = self._take_callbacks(connection)
        connection.query("COMMIT")
        return over

    def _take_callbacks(self, _connection: SqliteConnection) -> list[Callable[[], None]]:
        """Return all waiting callbacks; the writer's transaction is open, so no caller's transaction is."""
        over, self._callbacks = self._callbacks, []
        return over


class SQLiteSharedTransactions:
    _absolute_path: str
    """Path of the file that stays valid when the working directory changes."""
    _watch: TransactionWatcher
    _opened: bool
    _closed: bool

    @property
    def shares_transactions(self) -> bool:
        return True

    async def add_using(self, connection: object, changes: Sequence[Change], on_end: Callable[[], None]) -> None:
        """Add tasks in the transaction of `connection`, on the calling thread; `over` is called after it has ended."""
        if self._closed or not self._opened:
            raise StoreUnavailable("The store is closed.")
        from .caller_connection import begin_if_needed, join_transaction  # noqa: PLC0415 - it imports sqlite3, which is rarely needed

        driver = await find_driver_connection(connection)
        try:
            await begin_if_needed(driver)
            with join_transaction(driver.connection, self._absolute_path, driver.name) as joined:
                if not changes:
                    return
                with joined.savepoint():
                    add_tasks(joined, TaskCache(), changes)
        except apsw.BusyError as error:
            raise refuse("busy_transaction") from error
        except apsw.Error as error:
            raise translate_error(error) from error
        self._watch.on_end(on_end)
