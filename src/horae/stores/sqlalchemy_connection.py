"""Unwrap a SQLAlchemy connection or session to the driver's connection, without importing SQLAlchemy."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from .shared_transaction_refusals import refuse


class DriverConnection(NamedTuple):
    """The driver's connection under the argument `using=` of a caller.

    `name` describes the argument, for refusals. `begin` begins the transaction that SQLAlchemy would begin with its
    first statement; None for a connection that SQLAlchemy does not manage.
    """

    connection: object
    name: str
    begin: Callable[[str], Awaitable[None]] | None = None


async def find_driver_connection(using: object) -> DriverConnection:
    """Return the driver's connection under `using`; an object that is not from SQLAlchemy is returned as it is.

    Raises a refusal for an engine, a closed connection, a failed transaction, and a sync view of an async connection.
    """
    if _is_instance(using, "sqlalchemy.orm", "scoped_session") or _is_instance(
        using, "sqlalchemy.ext.asyncio", "async_scoped_session"
    ):
        using = using.registry()  # type: ignore[attr-defined]
    try:
        return await _unwrap(using)
    except Exception as error:
        if _is_instance(error, "sqlalchemy.exc", "PendingRollbackError"):
            raise refuse("failed_transaction") from error
        raise


async def _unwrap(using: object) -> DriverConnection:
    if _is_instance(using, "sqlalchemy.ext.asyncio", "AsyncSession"):
        return await _unwrap_async(await using.connection(), "AsyncSession")  # type: ignore[attr-defined]
    if _is_instance(using, "sqlalchemy.ext.asyncio", "AsyncConnection"):
        return await _unwrap_async(using, "AsyncConnection")
    if _is_instance(using, "sqlalchemy.orm", "Session"):
        return _unwrap_sync(using, "Session")
    if _is_instance(using, "sqlalchemy.engine", "Connection"):
        return _unwrap_sync(using, "Connection")
    if _is_instance(using, "sqlalchemy.engine", "Engine") or _is_instance(
        using, "sqlalchemy.ext.asyncio", "AsyncEngine"
    ):
        raise refuse(
            "wrong_connection", came=f"A SQLAlchemy {type(using).__name__}", wanted="a connection or session of it"
        )
    return DriverConnection(using, f"A {type(using).__name__}")


def _is_instance(value: object, module: str, name: str) -> bool:
    """Return whether `value` is of that class; False if the module was never imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


async def _unwrap_async(connection: Any, class_name: str) -> DriverConnection:
    name = f"A SQLAlchemy {class_name} over {connection.dialect.driver}"
    if connection.closed:
        raise refuse("wrong_connection", came=f"{name} that is closed", wanted="an open one")

    async def begin(statement: str) -> None:
        await connection.exec_driver_sql(statement)

    return DriverConnection((await connection.get_raw_connection()).driver_connection, name, begin)


def _unwrap_sync(using: Any, class_name: str) -> DriverConnection:
    dialect = (using.get_bind() if class_name == "Session" else using).dialect
    name = f"A SQLAlchemy {class_name} over {dialect.driver}"
    if dialect.is_async:
        raise refuse("wrong_connection", came=name, wanted=f"the Async{class_name} itself")
    connection = using.connection() if class_name == "Session" else using
    if connection.closed:
        raise refuse("wrong_connection", came=f"{name} that is closed", wanted="an open one")

    async def begin(statement: str) -> None:
        connection.exec_driver_sql(statement)

    return DriverConnection(connection.connection.driver_connection, name, begin)
