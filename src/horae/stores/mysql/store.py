"""MySQL and MariaDB store: tables with a common prefix in one database, shared by any number of nodes."""

from __future__ import annotations

from ..no_shared_transactions import NoSharedTransactions
from ..sql.store import SQLStore
from .address import Address
from .connection_factory import MySQLConnectionFactory, require_driver
from .migrate import migrate


class MySQLStore(SQLStore, NoSharedTransactions):
    def __init__(self, url: str) -> None:
        require_driver()
        self.url = url
        self.address = Address.parse(url)
        self._mysql = MySQLConnectionFactory(self.address)
        super().__init__(self._mysql, self.address.connections)

    async def _prepare(self) -> None:
        async with self._mysql.open_first() as connection:
            await migrate(connection, await self._mysql.read_server_version(connection), self.address)
