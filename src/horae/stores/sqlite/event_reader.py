"""What readers of the event log ask of the store in SQLite."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from ...model.events.event import Numbered
from ..codec.rows import event_from
from .connection import Link
from .readers import Readers
from .statements import sql

_EVENTS: Final = sql("events")
_EVENTS_OF_OWNER: Final = sql("events_of_owner")
_LAST_EVENT: Final = sql("last_event")
_OWNER_EVENT_COUNTS: Final = sql("owner_event_counts")


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

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        bindings = {"owners": json.dumps(list(owners)), "until": until}
        return dict(await self._readers.do(lambda link: link.query(_OWNER_EVENT_COUNTS, bindings)))
