"""Directory of stations in the store: which station a key belongs to; cached for a short time, so that a call reads nothing."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..clock import Clock
from ..model.accounts.principal import LOCAL_OWNER
from ..model.stations.station import (
    STATION_KEY_KIND,
    STATION_KIND,
    Station,
    is_station_key,
    is_station_name,
    key_owner_from,
    station_from,
    station_key,
)
from ..ports.records import Records
from .hub import Hub, Identity, Worker

_CACHE_SECONDS: Final = 1.0
_REVIEW_SECONDS: Final = 10.0
"""Keys that were removed are noticed within this time, and at once by a call."""
_MAX_CACHED: Final = 10_000


class _Cached(NamedTuple):
    station: Station | None
    at: float


class StationDirectory:
    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._stations: dict[tuple[str, str], _Cached] = {}
        self._reviewed = clock.steady()
        self._has_changes = False
        """Whether a station was read that differs from the one that was read before."""

    async def find(self, key: str | None, name: str | None) -> Identity | None:
        """Return the station of a key; without keys, the station of the owner `local` with this name."""
        if key is None:
            station = await self.station(LOCAL_OWNER, name) if is_station_name(name) and name is not None else None
            return None if station is None else Identity(station)
        record = await self._records.get_record(STATION_KEY_KIND, key) if is_station_key(key) else None
        if record is None:
            return None
        owner, station_name = key_owner_from(record)
        station = await self._load(owner, station_name)
        known = None if station is None else station.worker_of(key)
        return None if station is None or known is None else Identity(station, known.worker)

    async def station(self, owner: str, name: str) -> Station | None:
        """Return a station, at most a second old."""
        cached = self._stations.get((owner, name))
        if cached is not None and self._clock.steady() - cached.at < _CACHE_SECONDS:
            return cached.station
        return await self._load(owner, name)

    async def review(self, hub: Hub) -> None:
        """Remove workers whose key was removed from the store, or whose station; reads each station once in ten seconds."""
        now = self._clock.steady()
        if now - self._reviewed < _REVIEW_SECONDS:
            return
        self._reviewed = now
        for owner, name in {(each.station.owner, each.station.name) for each in hub.workers}:
            await self._load(owner, name)
        hub.revoke(self.is_allowed)

    def apply_changes(self, hub: Hub) -> None:
        """Remove workers that may not stay, after a station has changed: it looks at all workers, and a call needs it rarely."""
        if self._has_changes:
            self._has_changes = False
            hub.revoke(self.is_allowed)

    def is_allowed(self, worker: Worker) -> bool:
        """Whether a worker may stay, by the last read of the directory."""
        cached = self._stations.get((worker.station.owner, worker.station.name))
        if cached is None:
            return True
        return cached.station is not None and (worker.key is None or cached.station.worker_of(worker.key) is not None)

    async def _load(self, owner: str, name: str) -> Station | None:
        record = await self._records.get_record(STATION_KIND, station_key(owner, name))
        station = None if record is None else station_from(record)
        if len(self._stations) >= _MAX_CACHED:
            self._stations.clear()
        before = self._stations.get((owner, name))
        self._has_changes = self._has_changes or before is None or before.station != station
        self._stations[owner, name] = _Cached(station, self._clock.steady())
        return station
