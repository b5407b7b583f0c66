"""Feed port on a database server: reads the event log by number, of one owner or of all."""

from __future__ import annotations

from collections.abc import Collection

from ...model.events.event import NumberedEvent
from ..codec.rows import decode_event
from .transactions import Session


class SQLFeed:
    _session: Session

    async def _number_events(self) -> None:
        """Assign numbers to committed events. Overridden where numbers are assigned at reading, not at writing."""

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[NumberedEvent, ...]:
        await self._number_events()
        if owner is None:
            rows = await self._session.query("events", after, limit)
        else:
            rows = await self._session.query("events_of_owner", after, limit, owner)
        return tuple(map(decode_event, rows))

    async def last_event(self) -> int:
        await self._number_events()
        number: int = (await self._session.query("last_event"))[0][0]
        return number

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        await self._number_events()
        rows = await self._session.query("owner_event_counts", list(owners), until) if owners else []
        counts: dict[str, int] = dict.fromkeys(owners, 0)
        for owner, number in rows:
            counts[owner] += int(number)
        return counts
