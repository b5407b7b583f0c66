"""Tasks that are added within a transaction of somebody else, on their own connection."""

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
from ..sql.queries import add_to
from ..sql.transactions import Session
from ..sqlalchemy_connection import Lent, driver_connection
from .connection import PostgresLink
from .connection_factory import PostgresDoor
from .errors import is_worth_another_try, translated

_TRIES: Final = 3
_WANTED: Final = "an open asyncpg connection, or a SQLAlchemy AsyncSession over asyncpg"


class PostgresUsing:
    _postgres: PostgresDoor
    _session: Session

    @property
    def shares_transactions(self) -> bool:
        return True

    async def add_using(
        self,
        connection: object,
        changes: Sequence[Change],
        over: Callable[[], None],  # noqa: ARG002 - the server rings when it is committed
    ) -> None:
        if not self._session.is_open:
            raise StoreUnavailable("The store is closed.")
        lent = await driver_connection(connection)
        theirs = vetted(lent.connection, lent.name)
        try:
            if not theirs.is_in_transaction():
                await _begin(theirs, lent)
            link = self._postgres.linked(theirs)
            await self._refuse_another_database(link)
            if changes:
                await _add(theirs, link, tuple(changes))
                await link.query("ring", channel(self._postgres.address.schema))
        except Exception as error:
            told = _in_our_words(error, changes)
            if told is None:
                raise
            raise told from error

    async def _refuse_another_database(self, link: PostgresLink) -> None:
        """Asked anew each time: a server may have been started again, or another one have taken its place."""
        (theirs,) = await link.query("where_this_is")
        (ours,) = await self._session.ask("where_this_is")
        if tuple(theirs) != tuple(ours):
            raise refuse("another_database", place=self._postgres.address.shown)


def channel(schema: str) -> str:
    """On which all who share a schema are rung."""
    return f"horae_{schema}"


def vetted(connection: object, name: str) -> asyncpg.Connection[Any]:
    """What can be told of a connection without asking the server anything; `name` is how a refusal calls it."""
    if not isinstance(connection, asyncpg.Connection | PoolConnectionProxy):
        raise refuse("wrong_connection", came=name, wanted=_WANTED)
    try:
        closed = connection.is_closed()
    except asyncpg.InterfaceError:
        # It was given back to its pool.
        closed = True
    if closed:
        raise refuse("wrong_connection", came="A connection that is closed", wanted=_WANTED)
    if getattr(connection, "_loop", None) is not asyncio.get_running_loop():
        raise refuse(
            "another_thread",
            how="Open it where the app is awaited; with app.sync(), by way of horae.call(…)",
            how_zh="请在等待应用的事件循环中打开它；使用 app.sync() 时请通过 horae.call(…)",
        )
    # One from a pool has all that a connection has.
    return cast("asyncpg.Connection[Any]", connection)


async def _begin(connection: asyncpg.Connection[Any], lent: Lent) -> None:
    """SQLAlchemy begins a transaction with its first statement, except in autocommit mode."""
    if lent.begin is not None:
        await lent.begin("SELECT 1")
    if not connection.is_in_transaction():
        begin = "async with connection.transaction()" if lent.begin is None else "async with session.begin()"
        raise refuse("no_transaction", begin=begin)


async def _add(connection: asyncpg.Connection[Any], link: PostgresLink, changes: Sequence[Change]) -> None:
    """Two who take one key at the same moment meet at the index; whoever waited there sees it the next time."""
    for tries_left in range(_TRIES - 1, -1, -1):
        try:
            async with _all_or_nothing(connection):
                await link.join()
                await add_to(link, changes)
        except asyncpg.PostgresError as error:
            if tries_left and is_worth_another_try(error):
                continue
            raise
        return


@asynccontextmanager
async def _all_or_nothing(connection: asyncpg.Connection[Any]) -> AsyncIterator[None]:
    """Within their transaction, which stays usable when this fails. The driver's own savepoints are only for transactions
    that it has begun itself."""
    await connection.execute("SAVEPOINT horae_adds")
    try:
        yield
    except BaseException:
        if not connection.is_closed() and connection.is_in_transaction():
            await connection.execute("ROLLBACK TO SAVEPOINT horae_adds; RELEASE SAVEPOINT horae_adds")
        raise
    await connection.execute("RELEASE SAVEPOINT horae_adds")


def _in_our_words(error: BaseException, changes: Sequence[Change]) -> BaseException | None:
    if isinstance(error, asyncpg.UniqueViolationError) and error.constraint_name == "tasks_by_key":
        # Committed by somebody else after the instant that this transaction sees.
        keys = [change.task.key for change in changes if change.task is not None and change.task.key is not None]
        return refuse_task("key_taken", key=keys[0])
    if isinstance(error, asyncpg.InFailedSQLTransactionError):
        return refuse("failed_transaction")
    if isinstance(error, asyncpg.SerializationError | asyncpg.DeadlockDetectedError | asyncpg.LockNotAvailableError):
        return refuse("busy_transaction")
    return translated(error)
