"""Feed port of the SQL stores: the event log in the order of event numbers."""

from __future__ import annotations

from collections.abc import Collection

from ...model.events.event import NumberedEvent
from ..codec.rows import Row, decode_event
from .connection import Transactions


class SQLFeed:
    _database: Transactions

    async def _number_events(self) -> None:
        """Assign numbers to committed events. Overridden where numbers are assigned at reading, not at writing."""

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[NumberedEvent, ...]:
        await self._number_events()
        if owner is None:
            return await self._database.fetch(_decode_events, "events", after, limit)
        return await self._database.fetch(_decode_events, "events_of_owner", after, limit, owner)

    async def last_event(self) -> int:
        await self._number_events()
        ((number,),) = await self._database.query("last_event")
        return int(number)

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        await self._number_events()
        rows = await self._database.query("owner_event_counts", list(owners), until) if owners else []
        counts: dict[str, int] = dict.fromkeys(owners, 0)
        for owner, number in rows:
            counts[owner] += int(number)
        return counts


def _decode_events(rows: list[Row]) -> tuple[NumberedEvent, ...]:
    return tuple(map(decode_event, rows))
