"""MySQL and MariaDB store: tables with a common prefix in one database, shared by any number of nodes."""

from __future__ import annotations

from ...clock import Clock, SystemClock
from ..shared_transaction_refusals import NoSharedTransactions
from ..sql.store import SQLStore
from .address import Address
from .connection import DIALECT
from .connection_factory import MySQLConnectionFactory, require_driver
from .migrate import migrate


class MySQLStore(SQLStore, NoSharedTransactions):
    """`clock` decides which counters are old; the default is the system clock."""

    kind = "mysql"

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        require_driver()
        clock = SystemClock() if clock is None else clock
        self.url = url
        self.address = Address.parse(url)
        self._mysql = MySQLConnectionFactory(self.address, clock)
        super().__init__(self._mysql, self.address.connections, clock, DIALECT)

    async def _prepare(self) -> None:
        async with self._mysql.open_first() as connection:
            await migrate(connection, await self._mysql.read_server_version(connection), self.address)
