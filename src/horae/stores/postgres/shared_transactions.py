"""Adds tasks within a transaction of the caller, on the caller's own asyncpg or SQLAlchemy connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from ...errors import StoreUnavailable
from ...model.change import Change
from ...model.refusals import refuse as refuse_task
from ..shared_transaction_refusals import refuse
from ..sql.reads.queries import add_tasks
from ..sql.transactions import Session
from ..sqlalchemy_connection import DriverConnection, find_driver_connection
from .connection import PostgresConnection
from .connection_factory import PostgresConnectionFactory
from .errors import is_retryable, translate_error

_MAX_TRIES: Final = 3
_ACCEPTED: Final = "an open asyncpg connection, or a SQLAlchemy AsyncSession over asyncpg"


class PostgresSharedTransactions:
    _postgres: PostgresConnectionFactory
    _session: Session

    @property
    def shares_transactions(self) -> bool:
        return True

    async def add_using(
        self,
        connection: object,
        changes: Sequence[Change],
        on_end: Callable[[], None],  # noqa: ARG002 - NOTIFY takes effect at the commit
    ) -> None:
        if not self._session.is_open:
            raise StoreUnavailable("The store is closed.")
        lent = await find_driver_connection(connection)
        caller_connection = check_caller_connection(lent.connection, lent.name)
        try:
            if not caller_connection.is_in_transaction():
                await _begin(caller_connection, lent)
            store_connection = self._postgres.wrap(caller_connection)
            await self._refuse_another_database(store_connection)
            if changes:
                await _add(caller_connection, store_connection, tuple(changes))
                await store_connection.query("notify", notification_channel(self._postgres.address.schema))
        except Exception as error:
            translated_error = _translate(error, changes)
            if translated_error is None:
                raise
            raise translated_error from error

    async def _refuse_another_database(self, store_connection: PostgresConnection) -> None:
        """Refuse a connection to another database than the store's. Checked each time: a failover may change the server."""
        (caller_database,) = await store_connection.query("database_identity")
        (own_database,) = await self._session.query("database_identity")
        if tuple(caller_database) != tuple(own_database):
            raise refuse("another_database", place=self._postgres.address.display_url)


def notification_channel(schema: str) -> str:
    """Return the NOTIFY channel of a schema."""
    return f"horae_{schema}"


def check_caller_connection(connection: object, name: str) -> asyncpg.Connection[Any]:
    """Check type, state and event loop of a connection without a query; `name` describes it in refusals."""
    if not isinstance(connection, asyncpg.Connection | PoolConnectionProxy):
        raise refuse("wrong_connection", came=name, wanted=_ACCEPTED)
    try:
        closed = connection.is_closed()
    except asyncpg.InterfaceError:
        # The connection was returned to its pool.
        closed = True
    if closed:
        raise refuse("wrong_connection", came="A connection that is closed", wanted=_ACCEPTED)
    if getattr(connection, "_loop", None) is not asyncio.get_running_loop():
        raise refuse(
            "another_thread",
            how="Open it where the app is awaited; with app.sync(), by way of horae.call(…)",
            how_zh="请在等待应用的事件循环中打开它；使用 app.sync() 时请通过 horae.call(…)",
        )
    # A pooled connection has the same interface.
    return cast("asyncpg.Connection[Any]", connection)


async def _begin(connection: asyncpg.Connection[Any], lent: DriverConnection) -> None:
    """Refuse a connection without a transaction. SQLAlchemy begins one with the first statement, except in autocommit."""
    if lent.begin is not None:
        await lent.begin("SELECT 1")
    if not connection.is_in_transaction():
        begin = "async with connection.transaction()" if lent.begin is None else "async with session.begin()"
        raise refuse("no_transaction", begin=begin)


async def _add(
    connection: asyncpg.Connection[Any], store_connection: PostgresConnection, changes: Sequence[Change]
) -> None:
    """Add the tasks. Two transactions that take one key concurrently collide at the unique index: a retry sees the key."""
    for tries_left in range(_MAX_TRIES - 1, -1, -1):
        try:
            async with _savepoint(connection):
                await store_connection.join_transaction()
                await add_tasks(store_connection, changes)
        except asyncpg.PostgresError as error:
            if tries_left and is_retryable(error):
                continue
            raise
        return


@asynccontextmanager
async def _savepoint(connection: asyncpg.Connection[Any]) -> AsyncIterator[None]:
    """Run the block in a savepoint, so that the caller's transaction stays usable after a failure. The driver's own
    savepoints work only in transactions that it has begun itself."""
    await connection.execute("SAVEPOINT horae_adds")
    try:
        yield
    except BaseException:
        if not connection.is_closed() and connection.is_in_transaction():
            await connection.execute("ROLLBACK TO SAVEPOINT horae_adds; RELEASE SAVEPOINT horae_adds")
        raise
    await connection.execute("RELEASE SAVEPOINT horae_adds")


def _translate(error: BaseException, changes: Sequence[Change]) -> BaseException | None:
    if isinstance(error, asyncpg.UniqueViolationError) and error.constraint_name == "tasks_by_key":
        # Another process committed the key after the snapshot of this transaction.
        keys = [change.task.key for change in changes if change.task is not None and change.task.key is not None]
        return refuse_task("key_taken", key=keys[0])
    if isinstance(error, asyncpg.InFailedSQLTransactionError):
        return refuse("failed_transaction")
    if isinstance(error, asyncpg.SerializationError | asyncpg.DeadlockDetectedError | asyncpg.LockNotAvailableError):
        return refuse("busy_transaction")
    return translate_error(error)
