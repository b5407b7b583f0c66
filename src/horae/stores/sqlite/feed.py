"""What readers of the event log ask of the store in SQLite."""

from __future__ import annotations

from typing import Final

from ...model.event import Numbered
from ..rows import event_from
from .link import Link
from .readers import Readers
from .statements import sql

_EVENTS: Final = sql("events")
_EVENTS_OF_OWNER: Final = sql("events_of_owner")
_LAST_EVENT: Final = sql("last_event")


class SQLiteFeed:
    _readers: Readers

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[Numbered, ...]:
        def work(link: Link) -> tuple[Numbered, ...]:
            if owner is None:
                rows = link.query(_EVENTS, (after, limit))
            else:
                rows = link.query(_EVENTS_OF_OWNER, (after, owner, limit))
            return tuple(map(event_from, rows))

        return await self._readers.do(work)

    async def last_event(self) -> int:
        number: int = (await self._readers.do(lambda link: link.query(_LAST_EVENT)))[0][0]
        return number
