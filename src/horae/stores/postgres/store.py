"""PostgreSQL store: one schema in a database, shared by any number of nodes."""

from __future__ import annotations

from ...clock import Clock, SystemClock
from ..sql.connection import Connection
from ..sql.store import SQLStore
from .address import Address
from .connection import DIALECT
from .connection_factory import PostgresConnectionFactory
from .fast_path import FastClaimer, FastRunUpdater
from .migrate import migrate
from .shared_transactions import PostgresSharedTransactions
from .upkeep import PostgresUpkeep


class PostgresStore(PostgresSharedTransactions, PostgresUpkeep, SQLStore):
    """`clock` decides which counters are old; the default is the system clock."""

    kind = "postgres"

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        clock = SystemClock() if clock is None else clock
        self.url = url
        self.address = Address.parse(url)
        self._postgres = PostgresConnectionFactory(self.address, clock)
        super().__init__(self._postgres, self.address.connections, clock, DIALECT)
        self._claimer = FastClaimer(self._session, self._task_cache, DIALECT)
        self._run_updater = FastRunUpdater(self._session, self._task_cache)

    async def _prepare(self) -> None:
        async with self._postgres.open_first() as connection:
            await migrate(connection, self.address)

    async def _number_events(self) -> None:
        ((has_unnumbered,),) = await self._session.query("has_unnumbered_events")
        if has_unnumbered:
            await self._session.transact(_number_committed_events)


async def _number_committed_events(connection: Connection) -> None:
    """Number committed events under a lock; a transaction that waited for it finds fewer events left."""
    ((last,),) = await connection.query("lock_numbering")
    await connection.query("number_events", last)
