"""MySQL and MariaDB store: tables with a common prefix in one database, shared by any number of nodes."""

from __future__ import annotations

from ..no_shared_transactions import Unshared
from ..sql.store import ServedStore
from .address import Address
from .connection_factory import MySQLDoor, library_or_refusal
from .migrate import bring_up_to_date


class MySQLStore(ServedStore, Unshared):
    def __init__(self, url: str) -> None:
        library_or_refusal()
        self.url = url
        self.address = Address.parse(url)
        self._mysql = MySQLDoor(self.address)
        super().__init__(self._mysql, self.address.connections)

    async def _prepare(self) -> None:
        async with self._mysql.open_first() as connection:
            await bring_up_to_date(connection, await self._mysql.read_server_version(connection), self.address)
