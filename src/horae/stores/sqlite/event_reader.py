"""Feed port of the SQLite store: reads of the event log by number and owner."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from ...model.events.event import NumberedEvent
from ..codec.rows import decode_event
from .connection import SqliteConnection
from .readers import Readers
from .statements import sql

_EVENTS: Final = sql("events")
_EVENTS_OF_OWNER: Final = sql("events_of_owner")
_LAST_EVENT: Final = sql("last_event")
_OWNER_EVENT_COUNTS: Final = sql("owner_event_counts")


class SQLiteFeed:
    _readers: Readers

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[NumberedEvent, ...]:
        def work(connection: SqliteConnection) -> tuple[NumberedEvent, ...]:
            if owner is None:
                rows = connection.query(_EVENTS, (after, limit))
            else:
                rows = connection.query(_EVENTS_OF_OWNER, (after, owner, limit))
            return tuple(map(decode_event, rows))

        return await self._readers.run(work)

    async def last_event(self) -> int:
        last_number: int = (await self._readers.run(lambda connection: connection.query(_LAST_EVENT)))[0][0]
        return last_number

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        bindings = {"owners": json.dumps(list(owners)), "until": until}
        return dict(await self._readers.run(lambda connection: connection.query(_OWNER_EVENT_COUNTS, bindings)))
