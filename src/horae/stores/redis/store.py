"""Store on Redis: combines the ports."""

from __future__ import annotations

from ...clock import Clock, SystemClock
from ..chains import ignore_links
from ..shared_transaction_refusals import NoSharedTransactions
from .agenda import RedisAgenda
from .claims.claim import Claimer
from .claims.settle import RunUpdater
from .connections.connection import RedisConnections
from .connections.schema import prepare_schema
from .connections.server import open_first
from .feed import RedisFeed
from .journal import RedisJournal
from .layout.document_cache import DocumentCache
from .layout.keys import Keys
from .messages import RedisMessages
from .plan_layout import RedisPlanLayout, read_layout_state
from .reads.queries import RedisBookReads
from .records import RedisRecords
from .transactions.book_writes import RedisBookWrites
from .transactions.runner import RedisTransactions
from .transfer import RedisTransfer
from .upkeep import RedisUpkeep


class RedisStore(
    RedisAgenda,
    RedisBookWrites,
    RedisBookReads,
    RedisFeed,
    RedisUpkeep,
    RedisRecords,
    RedisJournal,
    RedisMessages,
    RedisTransfer,
    RedisPlanLayout,
    NoSharedTransactions,
):
    """Can be shared by any number of processes on any number of machines. All keys begin with the prefix of the address.

    `clock` decides which counters are old; the default is the system clock.
    """

    def __init__(self, url: str, *, clock: Clock | None = None) -> None:
        self.url = url
        self._clock = SystemClock() if clock is None else clock
        self._connections = RedisConnections(url)
        self.address = self._connections.address
        self._keys = Keys(self.address.prefix)
        self._database = RedisTransactions(self._connections, self._keys)
        self._cache = DocumentCache()
        self._claimer = Claimer(self._database, self._cache)
        self._run_updater = RunUpdater(self._database, self._cache)
        self._on_linked = ignore_links
        self._is_open = False

    @property
    def kind(self) -> str:
        return "redis"

    @property
    def transactions(self) -> int:
        """Number of commits since the store was opened."""
        return self._database.commits

    async def open(self) -> None:
        """Connect, and check the server and the layout of its keys."""
        if self._is_open:
            return
        await open_first(self._connections, self._clock)
        await prepare_schema(self._database, self.address)
        self._keys.has_plan_layout = await read_layout_state(self._connections, self.address) == "on"
        self._is_open = True

    async def close(self) -> None:
        await self._connections.close()
