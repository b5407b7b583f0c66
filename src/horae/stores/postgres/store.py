"""One schema in a PostgreSQL database, shared by as many nodes as there are."""

from __future__ import annotations

from typing import Final

from ..sql.connection import Link
from ..sql.store import ServedStore
from .address import Address
from .connection_factory import PostgresDoor
from .fast_claims import FewClaimer
from .fast_settlements import FewCarrier
from .migrate import bring_up_to_date
from .shared_transactions import PostgresUsing

SLICE: Final = 480
"""Of so many, what a transaction costs beside them is little."""


class PostgresStore(PostgresUsing, ServedStore):
    def __init__(self, url: str) -> None:
        self.url = url
        self.address = Address.parsed(url)
        self._postgres = PostgresDoor(self.address)
        super().__init__(self._postgres, self.address.connections, SLICE)
        self._claimer = FewClaimer(self._session, self._task_cache, SLICE)
        self._run_transitions = FewCarrier(self._session, self._task_cache)

    async def _prepare(self) -> None:
        async with self._postgres.first() as connection:
            await bring_up_to_date(connection, self.address)

    async def _number_events(self) -> None:
        if (await self._session.ask("unnumbered"))[0][0]:
            await self._session.transact(_number)


async def _number(link: Link) -> None:
    """One at a time: whoever had to wait finds less to do."""
    (last,) = (await link.query("hold_numbering"))[0]
    await link.query("number_events", last)
