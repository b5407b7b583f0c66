"""Outages of the engine: records of the spans between the last node that left and the next one that joined."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.ids import EPOCH, to_microseconds
from ...ports.full_store import FullStore
from ...ports.records import Record
from ...ports.store import DEFAULT_TERMS

_KIND: Final = "outage"
_STOPPED_AT: Final = "stopped_at"
_UNREQUESTED_STOP_AT: Final = "stopped_unrequested_at"
"""The same instant again if the stop was not requested: the process that supervises the node was killed."""
_SHORTEST: Final = timedelta(seconds=2)
_MAX_RECORDS: Final = 200
_EVENT_WINDOW: Final = 100


class Outage(NamedTuple):
    """No engine ran from `since` to `until`.

    `clean`: the last node shut down; otherwise it died, and `since` is its last sign of life.
    """

    since: datetime
    until: datetime
    clean: bool

    def covers(self, at: datetime) -> bool:
        return self.since <= at <= self.until


class Outages:
    def __init__(self, store: FullStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record_start(
        self, is_gone: Callable[[str], bool] = lambda _home: False, lease: timedelta = DEFAULT_TERMS.lease
    ) -> Outage | None:
        """Record the outage that ends now, if the joining node is the first one; call it before a node joins.

        A node whose last renewal is less than a lease ago may be alive, unless `is_gone` knows better.
        """
        now = self._clock.now()
        nodes = await self._store.nodes()
        if any(now - node.renewed < lease and not is_gone(node.home) for node in nodes):
            return None
        stopped_at = await self._store.read_metadata(_STOPPED_AT)
        clean_stop = None if stopped_at is None else datetime.fromisoformat(stopped_at)
        last = max([node.renewed for node in nodes], default=None)
        if last is not None:
            # After its last renewal the node may have executed runs, and written events of them.
            last = max([last, *await self._last_run_events()])
        since = max([each for each in (clean_stop, last) if each is not None], default=None)
        if since is None or now - since < _SHORTEST:
            return None
        outage = Outage(
            since,
            now,
            clean=since == clean_stop and stopped_at != await self._store.read_metadata(_UNREQUESTED_STOP_AT),
        )
        body = json.dumps({"since": since.isoformat(), "until": now.isoformat(), "clean": outage.clean})
        # Keys rise with time; another node that starts at the same moment writes the same key.
        key = f"{to_microseconds(since) - to_microseconds(EPOCH):020d}"
        await self._store.put_record(Record(_KIND, key, "", body), replacing=None)
        await self._trim()
        return outage

    async def _last_run_events(self) -> list[datetime]:
        """Return the times of events of runs among the newest events."""
        number = await self._store.last_event()
        newest = await self._store.events(max(0, number - _EVENT_WINDOW), _EVENT_WINDOW)
        return [event.at for _, event in newest if event.run_id is not None]

    async def record_stop(self, *, requested: bool = True) -> None:
        """Record the time if no node is left; call it after a node has left. `requested` False: its supervisor was killed."""
        if not await self._store.nodes():
            now = self._clock.now().isoformat()
            if not requested:
                await self._store.write_metadata(_UNREQUESTED_STOP_AT, now)
            await self._store.write_metadata(_STOPPED_AT, now)

    async def all(self) -> tuple[Outage, ...]:
        """Return the recorded outages, oldest first."""
        page = await self._store.records(_KIND, limit=_MAX_RECORDS + 1)
        return tuple(_parse(record.body) for record in page.items)

    async def at(self, instant: datetime) -> Outage | None:
        for outage in await self.all():
            if outage.covers(instant):
                return outage
        return None

    async def _trim(self) -> None:
        page = await self._store.records(_KIND, limit=_MAX_RECORDS + 1)
        for record in page.items[: max(0, len(page.items) - _MAX_RECORDS)]:
            await self._store.drop_record(record.kind, record.key, record.version)


def _parse(body: str) -> Outage:
    value = json.loads(body)
    return Outage(datetime.fromisoformat(value["since"]), datetime.fromisoformat(value["until"]), value["clean"])
