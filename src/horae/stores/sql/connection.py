"""Protocols of SQL connections, transactions and the connection factory: named statements, values in, rows out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from ...errors import StoreError
from ..codec.rows import Row
from ..counter_deltas import Deltas
from .dialect import Dialect

if TYPE_CHECKING:
    from ...model.record import RecordWrite
    from .claims.ordinary_batch import OrdinaryBatch


_T = TypeVar("_T")

ReadExtent: TypeAlias = Literal["few", "page", "all"]
"""How much a read reads: a few rows by an index, rows of a page, or all rows, which may take seconds or minutes."""


class DuplicateRunError(StoreError):
    """The ledger already has one of the new runs; the claim is decided again with every new run looked up first."""

    def __init__(self) -> None:
        super().__init__("The ledger already has one of the new runs; nothing was written.")


class DuplicateTaskError(StoreError):
    """A new or edited task has the id or the key of another one; raised only if the transaction can go on."""

    def __init__(self) -> None:
        super().__init__("A task with this id is there already; nothing was written.")


class Statements(Protocol):
    """Named statements of one transaction, in SQLite and on servers. A list among the values is passed as an array.

    In SQLite the coroutines never suspend, so that its threads run them to the end without an event loop.
    """

    dialect: Dialect

    async def query(self, name: str, *values: Any) -> list[Row]:
        """Run a named statement and return all its rows."""

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        """Run a bulk statement; `values` holds the values of all rows, `width` per row, one row after the other."""

    async def new_task_numbers(self, count: int) -> Sequence[int]:
        """Return numbers for new tasks, ascending; no task has had one of them."""

    async def write_events(self, rows: Sequence[Row]) -> None:
        """Append to the event log. No event gets a number below one that a reader may have seen already."""

    @property
    def write_ordinary(self) -> Callable[[OrdinaryBatch], Awaitable[bool]] | None:
        """Writes an ordinary claim or settlement by one statement, or returns False; None if there is no such statement."""

    async def write_counts(self, deltas: Deltas) -> None:
        """Add to the counters of owners, and of all owners together; `deltas` by owner, hour and name."""

    async def write_records(self, writings: Sequence[RecordWrite]) -> RecordWrite | None:
        """Write in this order; return the first record whose version has changed since it was read (None: all written).
        If one is returned, the transaction must not be committed."""


class Transactions(Protocol):
    """Runs work in transactions: the session of a server, or the writer and the readers of a SQLite file."""

    async def transact(
        self,
        work: Callable[[Statements], Awaitable[_T]],
        *,
        urgent: bool = True,
        peek: Callable[[Statements], Awaitable[_T | None]] | None = None,
    ) -> _T:
        """Run `work` in one transaction and commit it. Work that is not urgent may wait for urgent work.

        `peek` reads by one statement before the transaction; its result, if not None, is returned without a transaction.
        """

    async def read(self, work: Callable[[Statements], Awaitable[_T]], *, extent: ReadExtent = "page") -> _T:
        """Run `work` on one snapshot."""

    async def query(self, name: str, *values: Any) -> list[Row]:
        """Run one statement that only reads."""

    async def fetch(self, build: Callable[[list[Row]], _T], name: str, *values: Any) -> _T:
        """Run one statement that only reads, and build the result from its rows; SQLite does both on a reader thread."""

    async def lookup(self, name: str, *values: Any) -> list[Row]:
        """Run one statement that reads a few rows by an index."""

    async def run_statement(self, work: Callable[[Statements], Awaitable[_T]]) -> _T:
        """Run `work` that executes a single writing statement."""


class Connection(Statements, Protocol):
    """A connection to a server, for one caller at a time."""

    server: int
    """Index of the server among the hosts of the URL."""

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

    @property
    def stalled_seconds(self) -> float | None:
        """Seconds of use after which the server of a connection is probed; None where there is only one server."""

    async def is_serving(self, connection: Connection) -> bool:
        """Probe, on a new connection, whether the server of this one still accepts connections and takes writes."""
