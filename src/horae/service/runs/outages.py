"""When nothing ran: the stretches between the last node that went and the next one that came."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.ids import EPOCH, microseconds
from ...ports.records import Record, Records
from ...ports.store import STANDARD_TERMS, Store

_KIND: Final = "outage"
_STOPPED: Final = "stopped_at"
_UNREQUESTED: Final = "stopped_unrequested_at"
"""The same instant again, where nobody asked for the stop: the process that supervises the node was killed."""
_WORTH_TELLING: Final = timedelta(seconds=2)
_KEPT: Final = 200
_LAST_WORDS: Final = 100


class Outage(NamedTuple):
    """No engine ran from `since` to `until`. `clean` tells a stop in good order from a death: then `since` is the last
    sign of life."""

    since: datetime
    until: datetime
    clean: bool

    def covers(self, at: datetime) -> bool:
        return self.since <= at <= self.until


class Outages:
    def __init__(self, store: Store, records: Records, clock: Clock) -> None:
        self._store = store
        self._records = records
        self._clock = clock

    async def starting(
        self, is_gone: Callable[[str], bool] = lambda _home: False, lease: timedelta = STANDARD_TERMS.lease
    ) -> Outage | None:
        """Called before a node joins: if it is the first one, what lies behind is written down.

        Of a node that has not renewed for less than a lease nobody can say that it is dead, unless `is_gone` can.
        """
        now = self._clock.now()
        nodes = await self._store.nodes()
        if any(now - node.renewed < lease and not is_gone(node.home) for node in nodes):
            return None
        stopped = await self._store.recall(_STOPPED)
        clean = None if stopped is None else datetime.fromisoformat(stopped)
        last = max([node.renewed for node in nodes], default=None)
        if last is not None:
            # Between two renewals it still ran things, and told of them.
            last = max([last, *await self._last_words()])
        since = max([each for each in (clean, last) if each is not None], default=None)
        if since is None or now - since < _WORTH_TELLING:
            return None
        outage = Outage(since, now, clean=since == clean and stopped != await self._store.recall(_UNREQUESTED))
        body = json.dumps({"since": since.isoformat(), "until": now.isoformat(), "clean": outage.clean})
        # Keys rise with time; whoever else starts at the same moment writes the same one, and that is as good.
        key = f"{microseconds(since) - microseconds(EPOCH):020d}"
        await self._records.put_record(Record(_KIND, key, "", body), replacing=None)
        await self._trim()
        return outage

    async def _last_words(self) -> list[datetime]:
        """When a run was told of for the last time, as far as that is among the newest events."""
        number = await self._store.last_event()
        newest = await self._store.events(max(0, number - _LAST_WORDS), _LAST_WORDS)
        return [event.at for _, event in newest if event.run_id is not None]

    async def stopped(self, *, requested: bool = True) -> None:
        """Called after a node has left: if it was the last one, this is when. `requested` False: its supervisor was killed."""
        if not await self._store.nodes():
            now = self._clock.now().isoformat()
            if not requested:
                await self._store.remember(_UNREQUESTED, now)
            await self._store.remember(_STOPPED, now)

    async def all(self) -> tuple[Outage, ...]:
        """Oldest first, as far as they are kept."""
        page = await self._records.records(_KIND, limit=_KEPT + 1)
        return tuple(_read(record.body) for record in page.items)

    async def at(self, instant: datetime) -> Outage | None:
        for outage in await self.all():
            if outage.covers(instant):
                return outage
        return None

    async def _trim(self) -> None:
        page = await self._records.records(_KIND, limit=_KEPT + 1)
        for record in page.items[: max(0, len(page.items) - _KEPT)]:
            await self._records.drop_record(record.kind, record.key, record.version)


def _read(body: str) -> Outage:
    value = json.loads(body)
    return Outage(datetime.fromisoformat(value["since"]), datetime.fromisoformat(value["until"]), value["clean"])
