"""Translation of errors of Redis and its driver into store errors, and into refusals at the first connection."""

from __future__ import annotations

import asyncio
from typing import Final

from ....errors import Refusal, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from ...refusals import refuse
from .address import Address

_NO_DATABASE: Final = ("DB index is out of range", "invalid DB index", "SELECT is not allowed")
_DISK_FAILED: Final = ("MISCONF", "Errors writing to the AOF file")
_TEMPORARY: Final = ("MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "UNBLOCKED", "UNKILLABLE")
"""Answers of a server that starts, stands behind, or is busy: the same request may succeed later."""


def is_from_redis(error: BaseException) -> bool:
    from redis.exceptions import RedisError  # noqa: PLC0415 - an optional dependency

    return isinstance(error, RedisError)


def translate_error(error: BaseException) -> StoreError | None:
    """Return the matching store error, to be raised from the original; None for an error of another origin."""
    if isinstance(error, StoreError):
        return None
    if _is_connection_lost(error):
        # The server may have committed before the confirmation was lost.
        return StoreUnavailable(
            f"The server cannot be reached, and a last write may have been kept: {first_line(error)}."
        )
    if not is_from_redis(error):
        return None
    from redis import exceptions  # noqa: PLC0415 - an optional dependency

    text = str(error)
    if isinstance(error, exceptions.OutOfMemoryError):
        return StoreFull(f"There is no memory left for another write: {first_line(error)}.")
    if isinstance(error, exceptions.ReadOnlyError):
        return StoreReadOnly("The server takes no writes: it is read-only, or has become a replica.")
    if _mentions(text, _DISK_FAILED):
        return StoreReadOnly(f"The server takes no writes, because it cannot save them: {first_line(error)}.")
    denied = exceptions.AuthenticationError | exceptions.NoPermissionError | exceptions.BusyLoadingError
    if isinstance(error, denied | exceptions.MasterDownError) or _mentions(text, (*_TEMPORARY, *_NO_DATABASE)):
        return StoreUnavailable(f"The server cannot do it now: {first_line(error)}.")
    return StoreError(f"The change contradicts what is stored: {first_line(error)}.")


def _is_connection_lost(error: BaseException) -> bool:
    from redis import exceptions  # noqa: PLC0415 - an optional dependency

    if isinstance(error, exceptions.AuthenticationError | exceptions.AuthorizationError | exceptions.BusyLoadingError):
        return False
    lost = OSError | TimeoutError | asyncio.IncompleteReadError
    broken = exceptions.ConnectionError | exceptions.TimeoutError
    return isinstance(error, lost | broken | exceptions.ClusterError | exceptions.RedisClusterException)


def refusal_for_first_connection(error: BaseException, address: Address) -> Refusal | None:
    """Return the refusal for an error of the first connection; None if there is none."""
    place, problem = address.display_url, first_line(error)
    if isinstance(error, Refusal):
        return None
    if isinstance(error, FileNotFoundError | ValueError) and not is_from_redis(error):
        return refuse("bad_store_address", url=place, problem=problem)
    if is_from_redis(error):
        from redis import exceptions  # noqa: PLC0415 - an optional dependency

        if isinstance(error, exceptions.AuthenticationError):
            return refuse("store_login_refused", place=place, problem=problem)
        if isinstance(error, exceptions.NoPermissionError):
            return refuse("store_commands_denied", place=place, problem=problem)
        if isinstance(error, exceptions.ReadOnlyError):
            return refuse("store_read_only", place=place)
        if _mentions(str(error), _NO_DATABASE):
            return refuse("store_database_missing", place=place, problem=problem)
    translated = error if isinstance(error, StoreError) else translate_error(error)
    if isinstance(translated, StoreUnavailable):
        return refuse("store_unreachable", place=place, problem=problem)
    return None


def first_line(error: BaseException) -> str:
    """Return the first line of the message; further lines may contain stored values."""
    if isinstance(error, TimeoutError) and not str(error):
        return "it accepted the connection but did not respond"
    return (str(error).strip().rstrip(".") or type(error).__name__).splitlines()[0]


def _mentions(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)
