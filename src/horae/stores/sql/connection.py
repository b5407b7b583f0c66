"""Protocols of a database connection and of the factory that opens it: named statements, values in, rows out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..codec.rows import Row

if TYPE_CHECKING:
    from ...model.record import RecordWrite
    from .ordinary_batch import OrdinaryBatch


class DuplicateRunError(Exception):
    """The ledger already has one of the new runs; the claim is decided again with every new run looked up first."""


class Connection(Protocol):
    """A connection for one caller at a time. A list among the values of a statement is passed as an array."""

    async def query(self, name: str, *values: Any) -> list[Row]:
        """Run a named statement and return all its rows."""

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        """Run a bulk statement; `values` holds the values of all rows, `width` per row, one row after the other."""

    async def write_events(self, rows: Sequence[Row]) -> None:
        """Append to the event log. No event gets a number below one that a reader may have seen already."""

    async def write_ordinary(self, decisions: OrdinaryBatch) -> bool:
        """Write an ordinary claim or settlement by one statement; return False if this server has no such statement."""

    async def write_records(self, writings: Sequence[RecordWrite]) -> RecordWrite | None:
        """Write in this order; return the first record whose version has changed since it was read (None: all written).
        If one is returned, the transaction must not be committed."""

    async def begin(self) -> None: ...

    async def begin_read_only(self) -> None:
        """Begin a read-only transaction on one snapshot."""

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...

    async def close(self) -> None:
        """Close the connection in an orderly way."""

    def abandon(self) -> None:
        """Drop the connection without waiting; the server rolls back its open transaction."""

    @property
    def is_usable(self) -> bool:
        """Whether the connection is open and outside a transaction, so that it can be reused."""


class ConnectionFactory(Protocol):
    """Opens connections and translates the driver's errors."""

    async def connect(self) -> Connection: ...

    def translate_error(self, error: BaseException) -> BaseException | None:
        """Return the matching store error; None for an error that does not come from the server."""

    def is_retryable(self, error: BaseException) -> bool:
        """Whether the transaction failed only because of concurrent ones (deadlock, serialization): retry it."""
