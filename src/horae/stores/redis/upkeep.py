"""Upkeep port of the Redis store: retention, integrity check and deployment metadata."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ...clock import Clock
from ...ports.store import TrimResult
from ..retention_cursor import RetentionCursor
from .connections.address import Address
from .connections.backup import write_snapshot
from .integrity_check import check_store
from .layout.document_cache import DocumentCache
from .retention import Retention, drop_unused_lanes, has_nothing_to_remove, sweep
from .transactions.runner import RedisTransactions


class RedisUpkeep:
    address: Address
    _clock: Clock
    _database: RedisTransactions
    _cache: DocumentCache

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        now = self._clock.now()
        if after is not None and await has_nothing_to_remove(self._database, before, RetentionCursor.parse(after), now):
            return TrimResult(after=after)
        result = await Retention(self._database, self._cache, before, keep_runs, limit).trim(after)
        if not result.more:
            await drop_unused_lanes(self._database)
            await sweep(self._database, now)
        return result

    async def check(self) -> tuple[str, ...]:
        return await check_store(self._database)

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        await write_snapshot(self.address, path, progress)

    async def read_metadata(self, name: str) -> str | None:
        value = await self._database.client.call("HGET", self._database.keys.metadata, name)
        return None if value is None else str(value)

    async def write_metadata(self, name: str, value: str) -> None:
        await self._database.client.call("HSET", self._database.keys.metadata, name, value)
