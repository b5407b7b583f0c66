"""What the janitor and an operator ask of the store in SQLite."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ...ports.store import Trimmed
from .backup import copy_to
from .integrity_check import doubts
from .readers import Readers
from .retention import Search, remove
from .statements import sql
from .writer import Writer

_RECALL: Final = sql("recall")
_REMEMBER: Final = sql("remember")


class SQLiteUpkeep:
    _writer: Writer
    _readers: Readers

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> Trimmed:
        found = await Search(self._readers, before, keep_runs, limit).look(after)
        if not found.anything:
            return Trimmed(more=found.more, after=found.place.text)
        return await self._writer.do(lambda link: remove(link, found, before), urgent=False)

    async def check(self) -> tuple[str, ...]:
        return await self._readers.do_at_length(lambda link: tuple(doubts(link)))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        await self._readers.do_at_length(lambda link: copy_to(path, link, progress))

    async def recall(self, name: str) -> str | None:
        rows = await self._readers.ask(_RECALL, (name,))
        return rows[0][0] if rows else None

    async def remember(self, name: str, value: str) -> None:
        await self._writer.do(lambda link: link.query(_REMEMBER, (name, value)))
