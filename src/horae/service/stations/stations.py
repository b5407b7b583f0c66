"""Stations: allow and remove keys, list stations with what nodes report of them."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.page import Page
from ...model.record import Record, RecordWrite
from ...model.stations.presence import PRESENCE_KIND, StationPresence, presence_from
from ...model.stations.station import (
    MAX_KEYS,
    MAX_STATIONS,
    NAME_CHARACTERS,
    STATION_KEY_KIND,
    STATION_KIND,
    Station,
    StationKey,
    StationKind,
    is_station_key,
    is_station_name,
    key_record,
    station_from,
    station_key,
    station_record,
)
from ...model.text.field_checks import check_choice
from ...ports.full_store import FullStore
from ..accounts.audit import Audit
from ..accounts.rights import refuse_agent
from ..events.webhook_checks import check_owner
from ..query.argument_checks import check_page
from .refusals import refuse

_COUNTER_KIND: Final = "station.seat"
_TRIES: Final = 20
_MAX_KEY_CHARACTERS: Final = 400
_MAX_PRESENCES: Final = 1_000


class StationStatus(NamedTuple):
    """A station, and what each node reports that it has joined."""

    station: Station
    presences: tuple[StationPresence, ...]


class Stations:
    def __init__(self, store: FullStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def allow(
        self,
        principal: Principal,
        name: str,
        key: str,
        *,
        kind: StationKind | str | None = None,
        worker: str | None = None,
        owner: str | None = None,
    ) -> Station:
        """Allow a key to join as this station, which is made with its first key; `kind` is `api` by default."""
        _check_scope(principal, Scope.WRITE)
        owner_name = check_owner(principal, owner)
        _check_names(name, key, worker)
        if kind is not None:
            check_choice("kind", kind, tuple(StationKind))
        chosen = None if kind is None else StationKind(kind)
        for _ in range(_TRIES):
            record = await self._store.get_record(STATION_KIND, station_key(owner_name, name))
            before = None if record is None else station_from(record)
            after = self._with_key(before, owner_name, name, chosen, StationKey(key, worker))
            if before is not None and before.keys == after.keys:
                return before
            if await self._store.get_record(STATION_KEY_KIND, key) is not None:
                raise refuse("station_key_taken")
            seat = [] if before is not None else [await self._seat(owner_name)]
            row = self._audit.row(principal, "station.allow", name, {"key": key, "worker": worker}, owner=owner_name)
            changed = RecordWrite(station_record(after), None if before is None else before.version)
            if await self._store.write_records([changed, RecordWrite(key_record(after, key)), *seat, *row]):
                return after if before is None else after._replace(version=before.version + 1)
        raise refuse("station_contested", name=name)

    async def remove(
        self, principal: Principal, name: str, key: str | None = None, owner: str | None = None
    ) -> Station | None:
        """Remove one key, or the station with all its keys; return the remaining station. Connections with the key are closed."""
        _check_scope(principal, Scope.WRITE)
        for _ in range(_TRIES):
            known = await self._get(principal, name, owner)
            if key is not None and known.worker_of(key) is None:
                raise refuse("no_such_station_key", name=name)
            gone = [each.key for each in known.keys if key in (None, each.key)]
            left = known._replace(keys=tuple(each for each in known.keys if each.key not in gone))
            is_last = not left.keys
            writes = [RecordWrite(station_record(left), known.version, dropped=is_last)]
            for each in gone:
                stored = await self._store.get_record(STATION_KEY_KIND, each)
                if stored is not None:
                    writes.append(RecordWrite(stored, stored.version, dropped=True))
            row = self._audit.row(principal, "station.remove", name, {"keys": gone}, owner=known.owner)
            if await self._store.write_records([*writes, *row]):
                return None if is_last else left._replace(version=known.version + 1)
        raise refuse("station_contested", name=name)

    async def get(self, principal: Principal, name: str, owner: str | None = None) -> StationStatus:
        _check_scope(principal, Scope.READ)
        station = await self._get(principal, name, owner)
        return (await self._with_presences([station]))[0]

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[StationStatus]:
        """Return stations by owner and name."""
        _check_scope(principal, Scope.READ)
        check_page(after, limit, _MAX_KEY_CHARACTERS)
        page = await self._store.records(STATION_KIND, principal.owner_filter, after, limit)
        stations = [station_from(record) for record in page.items]
        return Page(tuple(await self._with_presences(stations)), page.after)

    async def _with_presences(self, stations: list[Station]) -> list[StationStatus]:
        now = self._clock.now()
        by_station: dict[tuple[str, str], list[StationPresence]] = {}
        for owner in {each.owner for each in stations}:
            page = await self._store.records(PRESENCE_KIND, owner, limit=_MAX_PRESENCES)
            for record in page.items:
                if record.expires is None or record.expires > now:
                    found = presence_from(record)
                    by_station.setdefault((owner, found.station), []).append(found)
        return [StationStatus(each, tuple(by_station.get((each.owner, each.name), ()))) for each in stations]

    def _with_key(
        self, before: Station | None, owner: str, name: str, kind: StationKind | None, key: StationKey
    ) -> Station:
        if before is None:
            before = Station(owner, name, kind or StationKind.API, (), self._clock.now())
        elif kind not in (None, before.kind):
            raise refuse("station_kind_differs", name=name, kind=before.kind.value)
        if key in before.keys:
            return before
        if before.kind is StationKind.VOTE:
            if key.worker is None:
                raise refuse("voter_without_name", name=name)
            if key.worker in before.voters:
                raise refuse("voter_has_key", name=name, worker=key.worker)
        if len(before.keys) >= MAX_KEYS:
            raise refuse("too_many_station_keys", name=name, most=MAX_KEYS)
        return before._replace(keys=(*before.keys, key))

    async def _seat(self, owner: str) -> RecordWrite:
        """Return the write that orders concurrent creations, so that they cannot exceed the limit."""
        counter = await self._store.get_record(_COUNTER_KIND, owner)
        known = await self._store.records(STATION_KIND, owner, limit=MAX_STATIONS)
        if len(known.items) >= MAX_STATIONS:
            raise refuse("too_many_stations", owner=owner, most=MAX_STATIONS)
        return RecordWrite(Record(_COUNTER_KIND, owner, owner, "{}"), None if counter is None else counter.version)

    async def _get(self, principal: Principal, name: str, owner: str | None) -> Station:
        owner_name = principal.owner if owner is None else owner
        is_foreign = owner_name != principal.owner and principal.owner_filter is not None
        record = (
            await self._store.get_record(STATION_KIND, station_key(owner_name, name))
            if is_station_name(name) and not is_foreign
            else None
        )
        if record is None:
            raise refuse("no_such_station", name=name)
        return station_from(record)


def _check_scope(principal: Principal, scope: Scope) -> None:
    refuse_agent(principal, "stations")
    principal.require_scope(scope)


def _check_names(name: str, key: str, worker: str | None) -> None:
    if not is_station_name(name):
        raise refuse("bad_station_name", value=name, what="station", most=NAME_CHARACTERS)
    if worker is not None and not is_station_name(worker):
        raise refuse("bad_station_name", value=worker, what="worker", most=NAME_CHARACTERS)
    if not is_station_key(key):
        raise refuse("bad_station_key")
