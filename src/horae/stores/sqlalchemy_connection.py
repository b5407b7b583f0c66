"""The driver's own connection under a SQLAlchemy connection or session. SQLAlchemy is never imported from here."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from .shared_transaction_refusals import refuse


class Lent(NamedTuple):
    """A driver's connection as a caller lends it for `using=`.

    `name` is what the caller passed, for refusals. `begin` begins the transaction that SQLAlchemy would begin with its
    first statement; None for a connection that SQLAlchemy does not manage.
    """

    connection: object
    name: str
    begin: Callable[[str], Awaitable[None]] | None = None


async def driver_connection(using: object) -> Lent:
    """The driver's connection under `using`; anything that is not from SQLAlchemy is returned as it is."""
    if _is(using, "sqlalchemy.orm", "scoped_session") or _is(using, "sqlalchemy.ext.asyncio", "async_scoped_session"):
        using = using.registry()  # type: ignore[attr-defined]
    try:
        return await _lent(using)
    except Exception as error:
        if _is(error, "sqlalchemy.exc", "PendingRollbackError"):
            raise refuse("failed_transaction") from error
        raise


async def _lent(using: object) -> Lent:
    if _is(using, "sqlalchemy.ext.asyncio", "AsyncSession"):
        return await _asynchronous(await using.connection(), "AsyncSession")  # type: ignore[attr-defined]
    if _is(using, "sqlalchemy.ext.asyncio", "AsyncConnection"):
        return await _asynchronous(using, "AsyncConnection")
    if _is(using, "sqlalchemy.orm", "Session"):
        return _synchronous(using, "Session")
    if _is(using, "sqlalchemy.engine", "Connection"):
        return _synchronous(using, "Connection")
    if _is(using, "sqlalchemy.engine", "Engine") or _is(using, "sqlalchemy.ext.asyncio", "AsyncEngine"):
        raise refuse(
            "wrong_connection", came=f"A SQLAlchemy {type(using).__name__}", wanted="a connection or session of it"
        )
    return Lent(using, f"A {type(using).__name__}")


def _is(value: object, module: str, name: str) -> bool:
    """Whether `value` is of that class; False where the module was never imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


async def _asynchronous(connection: Any, kind: str) -> Lent:
    name = f"A SQLAlchemy {kind} over {connection.dialect.driver}"
    if connection.closed:
        raise refuse("wrong_connection", came=f"{name} that is closed", wanted="an open one")

    async def begin(statement: str) -> None:
        await connection.exec_driver_sql(statement)

    return Lent((await connection.get_raw_connection()).driver_connection, name, begin)


def _synchronous(using: Any, kind: str) -> Lent:
    dialect = (using.get_bind() if kind == "Session" else using).dialect
    name = f"A SQLAlchemy {kind} over {dialect.driver}"
    if dialect.is_async:
        raise refuse("wrong_connection", came=name, wanted=f"the Async{kind} itself")
    connection = using.connection() if kind == "Session" else using
    if connection.closed:
        raise refuse("wrong_connection", came=f"{name} that is closed", wanted="an open one")

    async def begin(statement: str) -> None:
        connection.exec_driver_sql(statement)

    return Lent(connection.connection.driver_connection, name, begin)
