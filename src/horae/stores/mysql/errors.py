"""Translation of MySQL and MariaDB error codes into store errors, and into refusals at the first connection."""

from __future__ import annotations

import asyncio
from typing import Final

from ...errors import Refusal, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from ..addresses.server_choice import NoServerError
from ..refusals import refuse
from .address import Address

DUPLICATE_KEY: Final = 1062
_CONFLICT: Final = frozenset({1205, 1213, 1020})
"""Lock wait timeout, deadlock, and a row that changed since it was read."""
_RETRYABLE: Final = _CONFLICT | {DUPLICATE_KEY}
"""Two transactions that write one key concurrently collide at the unique index: a retry sees the committed one."""
_CONNECTION_LOST: Final = frozenset(
    {
        0,  # of the driver: not connected, or an invalid packet
        *(1040, 1203, 1226, 1129),  # too many connections, in total or of this user, or errors from this host
        *(1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 3169, 4031),  # ended by the server
        *(1047, 1180),  # a member that has left its Galera cluster, or left it during a commit
        *(1969, 3024),  # took too long
        *(2002, 2003, 2006, 2013, 2014, 2055),  # of the driver: no connection, or it broke
    }
)
_FULL: Final = frozenset({1021, 1114, 1041, 3675})
_DAMAGED: Final = frozenset({126, 1034, 1035, 1194, 1195, 1712, 1877})
_READ_ONLY: Final = frozenset({1290, 1792, 1836, 1874})
_LOGIN_REFUSED: Final = frozenset({1045, 1130, 1131, 1132, 1251, 1698, 1820, 1862, 2059, 2061, 3118, 3159, 4151})
_NOT_PERMITTED: Final = frozenset({1044, 1142, 1143, 1227, 1370})
_NO_DATABASE: Final = 1049
_TEMPORARY: Final = _LOGIN_REFUSED | _NOT_PERMITTED | {_NO_DATABASE, 1037, 1038}
"""An administrator changed the configuration, and may change it back; or the server is out of memory."""


def code_of(error: BaseException) -> int | None:
    """Return the error code of the server or the driver; None for an error of another origin."""
    from asyncmy.errors import MySQLError  # noqa: PLC0415 - an optional dependency

    if not isinstance(error, MySQLError):
        return None
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def is_retryable(error: BaseException) -> bool:
    return code_of(error) in _RETRYABLE


def is_connection_error(error: BaseException) -> bool:
    """Whether the server cannot be used now, so that another one may be tried; not for a refused login."""
    code = code_of(error)
    return code in _CONNECTION_LOST if code is not None else translate_error(error) is not None


def translate_error(error: BaseException) -> StoreError | None:
    """Return the matching store error, to be raised from the original; None for an error of another origin."""
    code = code_of(error)
    if code is None:
        return (
            _connection_lost(error) if isinstance(error, OSError | TimeoutError | asyncio.IncompleteReadError) else None
        )
    if code in _FULL or "No space left" in str(error) or "error 28" in str(error):
        return StoreFull(f"There is no space left for another write: {first_line(error)}.")
    if code in _DAMAGED:
        return StoreDamaged(f"The database is damaged: {first_line(error)}.")
    if code in _READ_ONLY:
        return StoreReadOnly("The server takes no writes: it is read-only, or has become a replica.")
    if code in _CONFLICT:
        return StoreError(
            f"Concurrent transactions conflicted on every try, and nothing was kept: {first_line(error)}."
        )
    if code in _CONNECTION_LOST:
        return _connection_lost(error)
    if code in _TEMPORARY:
        return StoreUnavailable(f"The server cannot do it now: {first_line(error)}.")
    return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {first_line(error)}.")


def _connection_lost(error: BaseException) -> StoreUnavailable:
    # The server may have committed before the confirmation was lost.
    return StoreUnavailable(f"The server cannot be reached, and a last write may have been kept: {first_line(error)}.")


def refusal_for_first_connection(error: BaseException, address: Address) -> Refusal | None:
    """Return the refusal for an error of the first connection or of the migrations; None if there is none."""
    place, problem, code = address.display_url, first_line(error), code_of(error)
    if code in _LOGIN_REFUSED or isinstance(error, RuntimeError):
        # The driver raises RuntimeError for an authentication plugin that needs a missing library.
        return refuse("store_login_refused", place=place, problem=problem)
    if code == _NO_DATABASE:
        return refuse("store_database_missing", place=place, problem=problem)
    if code in _READ_ONLY or (isinstance(error, NoServerError) and error.are_read_only):
        return refuse("store_read_only", place=place)
    if code in _NOT_PERMITTED:
        return refuse("store_not_allowed", place=place, problem=problem, schema=address.database)
    if code is None and isinstance(error, ValueError | FileNotFoundError):
        return refuse("bad_store_address", url=place, problem=problem)
    if isinstance(translate_error(error), StoreUnavailable):
        return refuse("store_unreachable", place=place, problem=problem)
    return None


def first_line(error: BaseException) -> str:
    """Return the first line of the message, without the code; further lines may contain stored values."""
    if isinstance(error, TimeoutError) and not str(error):
        return "it accepted the connection but did not respond"
    text = str(error.args[-1] if code_of(error) is not None and error.args else error)
    return (text.strip().rstrip(".") or type(error).__name__).splitlines()[0]
