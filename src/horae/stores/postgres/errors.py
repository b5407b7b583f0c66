"""What PostgreSQL's own errors mean to whoever called the store."""

from __future__ import annotations

import asyncio
from typing import Final

import asyncpg

from ...errors import Refusal, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from ..refusals import refuse
from .address import Address

_AGAIN: Final = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    # Two who wrote one name at the same moment: the second one sees it the next time.
    asyncpg.UniqueViolationError,
    # The tables were changed by a newer version since the statement was prepared.
    asyncpg.InvalidCachedStatementError,
)
_LOST: Final = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
    asyncpg.TooManyConnectionsError,
    OSError,
    TimeoutError,
    asyncio.IncompleteReadError,
)
_NOT_NOW: Final = (
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    # Whoever administers the server has changed something, and may change it back.
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
_MISUNDERSTOOD: Final = (
    asyncpg.ClientConfigurationError,
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
    ValueError,
)
"""The driver takes what it does not know in an address for a setting of the server."""
_NAMED_SO: Final = (asyncpg.PostgresSyntaxError, asyncpg.ReservedNameError)
"""A word of the server's own: nothing else that is said before the tables are there could be misunderstood."""
_POOLER: Final = "unsupported startup parameter"


def is_worth_another_try(error: BaseException) -> bool:
    return isinstance(error, _AGAIN)


def translated(error: BaseException) -> StoreError | None:
    """The error of the store that says the same; the caller raises it from the original."""
    if isinstance(error, asyncpg.DiskFullError):
        return StoreFull(f"There is no space left for another write: {said(error)}.")
    if isinstance(error, asyncpg.DataCorruptedError | asyncpg.IndexCorruptedError):
        return StoreDamaged(f"The database is damaged: {said(error)}.")
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return StoreReadOnly("The server takes no writes: it is read-only, or has become a standby.")
    if isinstance(error, asyncpg.DataError) or (
        isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError)
    ):
        # The connection is sound; only what was to be written cannot be.
        return StoreError(f"A value cannot be stored, and nothing was written: {said(error)}.")
    if isinstance(error, _LOST):
        # The server may have done what it then failed to confirm.
        return StoreUnavailable(f"The server cannot be reached, and a last write may have been kept: {said(error)}.")
    if isinstance(error, _NOT_NOW):
        return StoreUnavailable(f"The server cannot do it now: {said(error)}.")
    if isinstance(error, asyncpg.PostgresError):
        return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {said(error)}.")
    return None


def at_the_door(error: BaseException, address: Address) -> Refusal | None:
    """Why a first connection could not be made, or the tables could not be."""
    place = address.shown
    if isinstance(error, Refusal):
        return None
    if _POOLER in str(error):
        problem = (
            "a pooler stands before the server: add ?statement_cache=0, and &direct= with the server's own address"
        )
        return refuse("bad_store_address", url=place, problem=problem)
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return refuse("store_login_refused", place=place, problem=said(error))
    if isinstance(error, _NAMED_SO):
        problem = f"the server takes no schema of the name {address.schema!r}"
        return refuse("bad_store_address", url=place, problem=problem)
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return refuse("store_database_missing", place=place, problem=said(error))
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return refuse("store_read_only", place=place)
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return refuse("store_not_allowed", place=place, problem=said(error), schema=address.schema)
    if isinstance(error, _MISUNDERSTOOD):
        return refuse("bad_store_address", url=place, problem=said(error))
    if isinstance(error, (*_LOST, *_NOT_NOW)):
        return refuse("store_unreachable", place=place, problem=said(error))
    return None


def said(error: BaseException) -> str:
    """The first line of what it says; the rest are details, which may hold values."""
    if isinstance(error, TimeoutError) and not str(error):
        return "it took the connection, and then said nothing"
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text.splitlines()[0].rstrip(".")
