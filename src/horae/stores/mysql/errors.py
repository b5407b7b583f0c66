"""What the errors of MySQL and MariaDB mean to whoever called the store."""

from __future__ import annotations

import asyncio
from typing import Final

from ...errors import Refusal, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from ..refusals import refuse
from .address import Address

DUPLICATE: Final = 1062
_IN_THE_WAY: Final = frozenset({1205, 1213, 1020})
"""A lock was waited for too long, a circle of those who wait, a row that has changed."""
_AGAIN: Final = _IN_THE_WAY | {DUPLICATE}
"""Of two who write one name at the same moment, the second one sees it the next time."""
_LOST: Final = frozenset(
    {
        0,  # the driver's own: not connected, or what came makes no sense
        *(1040, 1203, 1226, 1129),  # too many connections, in total or of this user, or errors from this host
        *(1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 3169, 4031),  # ended by the server
        *(1969, 3024),  # took too long
        *(2002, 2003, 2006, 2013, 2014, 2055),  # the driver's own: no connection, or it broke
    }
)
_FULL: Final = frozenset({1021, 1114, 1041, 3675})
_DAMAGED: Final = frozenset({126, 1034, 1035, 1194, 1195, 1712, 1877})
_READ_ONLY: Final = frozenset({1290, 1792, 1836, 1874})
_NO_LOGIN: Final = frozenset({1045, 1130, 1131, 1132, 1251, 1698, 1820, 1862, 2059, 2061, 3118, 3159, 4151})
_NO_RIGHT: Final = frozenset({1044, 1142, 1143, 1227, 1370})
_NO_DATABASE: Final = 1049
_NOT_NOW: Final = _NO_LOGIN | _NO_RIGHT | {_NO_DATABASE, 1037, 1038}
"""Whoever administers the server has changed something, and may change it back; or it has no memory left."""


def code_of(error: BaseException) -> int | None:
    """The number by which the server, or the driver, tells what is wrong; None if it is neither's error."""
    from asyncmy.errors import MySQLError  # noqa: PLC0415 - only who has such a store needs it

    if not isinstance(error, MySQLError):
        return None
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def is_worth_another_try(error: BaseException) -> bool:
    return code_of(error) in _AGAIN


def translated(error: BaseException) -> StoreError | None:
    """The error of the store that says the same; the caller raises it from the original."""
    code = code_of(error)
    if code is None:
        return _lost(error) if isinstance(error, OSError | TimeoutError | asyncio.IncompleteReadError) else None
    if code in _FULL or "No space left" in str(error) or "error 28" in str(error):
        return StoreFull(f"There is no space left for another write: {said(error)}.")
    if code in _DAMAGED:
        return StoreDamaged(f"The database is damaged: {said(error)}.")
    if code in _READ_ONLY:
        return StoreReadOnly("The server takes no writes: it is read-only, or has become a replica.")
    if code in _IN_THE_WAY:
        return StoreError(f"Others were in the way again and again, and nothing was kept: {said(error)}.")
    if code in _LOST:
        return _lost(error)
    if code in _NOT_NOW:
        return StoreUnavailable(f"The server cannot do it now: {said(error)}.")
    return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {said(error)}.")


def _lost(error: BaseException) -> StoreUnavailable:
    # The server may have done what it then failed to confirm.
    return StoreUnavailable(f"The server cannot be reached, and a last write may have been kept: {said(error)}.")


def at_the_door(error: BaseException, address: Address) -> Refusal | None:
    """Why a first connection could not be made, or the tables could not be."""
    place, problem, code = address.shown, said(error), code_of(error)
    if code in _NO_LOGIN or isinstance(error, RuntimeError):
        # A plugin of the server's that the driver has no library for comes as a RuntimeError.
        return refuse("store_login_refused", place=place, problem=problem)
    if code == _NO_DATABASE:
        return refuse("store_database_missing", place=place, problem=problem)
    if code in _READ_ONLY:
        return refuse("store_read_only", place=place)
    if code in _NO_RIGHT:
        return refuse("store_not_allowed", place=place, problem=problem, schema=address.database)
    if code is None and isinstance(error, ValueError | FileNotFoundError):
        return refuse("bad_store_address", url=place, problem=problem)
    if isinstance(translated(error), StoreUnavailable):
        return refuse("store_unreachable", place=place, problem=problem)
    return None


def said(error: BaseException) -> str:
    """The sentence without the number; further lines are details, which may hold values."""
    if isinstance(error, TimeoutError) and not str(error):
        return "it took the connection, and then said nothing"
    text = str(error.args[-1] if code_of(error) is not None and error.args else error)
    return (text.strip().rstrip(".") or type(error).__name__).splitlines()[0]
