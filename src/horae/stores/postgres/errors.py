"""Translation of asyncpg errors into store errors, and into refusals at the first connection."""

from __future__ import annotations

import asyncio
from typing import Final

import asyncpg

from ...errors import Refusal, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from ..addresses.server_choice import NoServerError
from ..refusals import refuse
from .address import Address

_RETRYABLE: Final = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    # Two transactions wrote the same key concurrently: a retry sees the committed one.
    asyncpg.UniqueViolationError,
    # A newer version migrated the tables after the statement was prepared.
    asyncpg.InvalidCachedStatementError,
)
_CONNECTION_LOST: Final = (
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
_TEMPORARY: Final = (
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    # An administrator changed the configuration, and may change it back.
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
_BAD_URL: Final = (
    asyncpg.ClientConfigurationError,
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
    ValueError,
)
"""Errors of a bad URL: the driver passes unknown URL parameters on as server settings."""
_BAD_SCHEMA_NAME: Final = (asyncpg.PostgresSyntaxError, asyncpg.ReservedNameError)
"""Errors of a schema name that is a reserved word: no other statement before the migrations can cause them."""
_POOLER_MESSAGE: Final = "unsupported startup parameter"


def is_retryable(error: BaseException) -> bool:
    return isinstance(error, _RETRYABLE)


def is_connection_error(error: BaseException) -> bool:
    """Whether the server cannot be used now, so that another one may be tried; not for a refused login."""
    return isinstance(error, _CONNECTION_LOST)


def translate_error(error: BaseException) -> StoreError | None:
    """Return the matching store error, to be raised from the original; None for an error of another origin."""
    if isinstance(error, asyncpg.DiskFullError):
        return StoreFull(f"There is no space left for another write: {first_line(error)}.")
    if isinstance(error, asyncpg.DataCorruptedError | asyncpg.IndexCorruptedError):
        return StoreDamaged(f"The database is damaged: {first_line(error)}.")
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return StoreReadOnly("The server takes no writes: it is read-only, or has become a standby.")
    if isinstance(error, asyncpg.DataError) or (
        isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError)
    ):
        # The connection is intact; only the value is invalid.
        return StoreError(f"A value cannot be stored, and nothing was written: {first_line(error)}.")
    if isinstance(error, _CONNECTION_LOST):
        # The server may have committed before the confirmation was lost.
        return StoreUnavailable(
            f"The server cannot be reached, and a last write may have been kept: {first_line(error)}."
        )
    if isinstance(error, _TEMPORARY):
        return StoreUnavailable(f"The server cannot do it now: {first_line(error)}.")
    if isinstance(error, asyncpg.PostgresError):
        return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {first_line(error)}.")
    return None


def refusal_for_first_connection(error: BaseException, address: Address) -> Refusal | None:
    """Return the refusal for an error of the first connection or of the migrations; None if there is none."""
    place = address.display_url
    if isinstance(error, Refusal):
        return None
    if _POOLER_MESSAGE in str(error):
        problem = "a connection pooler is in front of the server: add ?statement_cache=0, and &direct= with the server's own address"
        return refuse("bad_store_address", url=place, problem=problem)
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return refuse("store_login_refused", place=place, problem=first_line(error))
    if isinstance(error, _BAD_SCHEMA_NAME):
        problem = f"the server accepts no schema with the name {address.schema!r}"
        return refuse("bad_store_address", url=place, problem=problem)
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return refuse("store_database_missing", place=place, problem=first_line(error))
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError) or _are_all_read_only(error):
        return refuse("store_read_only", place=place)
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return refuse("store_not_allowed", place=place, problem=first_line(error), schema=address.schema)
    if isinstance(error, _BAD_URL):
        return refuse("bad_store_address", url=place, problem=first_line(error))
    if isinstance(error, (*_CONNECTION_LOST, *_TEMPORARY)):
        return refuse("store_unreachable", place=place, problem=first_line(error))
    return None


def _are_all_read_only(error: BaseException) -> bool:
    return isinstance(error, NoServerError) and error.are_read_only


def first_line(error: BaseException) -> str:
    """Return the first line of the message; further lines are details, which may contain stored values."""
    if isinstance(error, TimeoutError) and not str(error):
        return "it accepted the connection but did not respond"
    text = str(error).strip().rstrip(".") or type(error).__name__
    return text.splitlines()[0].rstrip(".")
