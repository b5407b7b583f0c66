"""Upkeep port of the SQLite store: retention, integrity check, backup and deployment metadata."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ...ports.store import TrimResult
from .backup import write_backup
from .integrity_check import find_problems
from .readers import Readers
from .retention import RetentionScan, remove_rows
from .statements import sql
from .writer import Writer

_READ_METADATA: Final = sql("read_metadata")
_WRITE_METADATA: Final = sql("write_metadata")


class SQLiteUpkeep:
    _writer: Writer
    _readers: Readers

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        expired = await RetentionScan(self._readers, before, keep_runs, limit).find(after)
        if not expired.has_rows:
            return TrimResult(more=expired.more, after=expired.cursor.encoded)
        return await self._writer.submit(lambda connection: remove_rows(connection, expired, before), urgent=False)

    async def check(self) -> tuple[str, ...]:
        return await self._readers.run_long(lambda connection: tuple(find_problems(connection)))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        await self._readers.run_long(lambda connection: write_backup(path, connection, progress))

    async def read_metadata(self, name: str) -> str | None:
        rows = await self._readers.query(_READ_METADATA, (name,))
        return rows[0][0] if rows else None

    async def write_metadata(self, name: str, value: str) -> None:
        await self._writer.submit(lambda connection: connection.query(_WRITE_METADATA, (name, value)))
