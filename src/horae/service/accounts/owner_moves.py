"""Moves of owners between deployments: one record in each of both says where the owner lives, and fences its writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Final, NamedTuple

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.system_owner import account_of
from ...model.page import MAX_PAGE_SIZE
from ...ports.records import Record, Records
from .refusals import refuse

MOVE_KIND: Final = "owner.move"
"""Kind of the records of moves that are under way."""
MOVED_KIND: Final = "owner.moved"
"""Kind of the records that say where owners live that have left this deployment for good."""
HELD_KIND: Final = "owner.move.record"
"""Kind of the records of an owner that has not arrived yet."""
MOVE_CACHE_SECONDS: Final = 0.25
"""A process notices so late that a move has begun; the move waits longer before it relies on that."""
_MOVED_CACHE_SECONDS: Final = 10.0


class MovePhase(StrEnum):
    LEAVING = "leaving"
    """At the source: nothing of the owner starts, and its writes are refused. The move may still be given up."""
    LEFT = "left"
    """At the source: the owner lives in the other deployment."""
    ARRIVING = "arriving"
    """At the target: nothing of the owner starts yet, and its writes are refused."""


class OwnerMove(NamedTuple):
    """State of a move in one of its two deployments. `place` is the new address that callers are given, `other` the name of the other store.

    `since` is the instant at which the source was fenced.
    """

    owner: str
    phase: MovePhase
    place: str
    other: str
    since: datetime
    version: int | None = None

    def to_record(self, kind: str = MOVE_KIND, expires: datetime | None = None) -> Record:
        body = {"phase": self.phase, "place": self.place, "other": self.other, "since": self.since.isoformat()}
        return Record(kind, self.owner, self.owner, json.dumps(body, ensure_ascii=False), expires=expires)

    @classmethod
    def from_record(cls, record: Record) -> OwnerMove:
        body = json.loads(record.body)
        since = datetime.fromisoformat(body["since"])
        return cls(record.key, MovePhase(body["phase"]), body["place"], body["other"], since, record.version)

    def refusal(self) -> Refusal:
        """Return the refusal of a write for this owner."""
        match self.phase:
            case MovePhase.LEAVING:
                return refuse("owner_moving", owner=self.owner, place=self.place)
            case MovePhase.ARRIVING:
                return refuse("owner_arriving", owner=self.owner)
            case MovePhase.LEFT:
                return refuse("owner_moved", owner=self.owner, place=self.place)


def held_key(owner: str, kind: str, key: str) -> str:
    """Return the key under which a record of this kind and key is held until its owner has arrived."""
    return f"{owner}/{blake2b(f'{kind}/{key}'.encode(), digest_size=16).hexdigest()}"


def encode_held(owner: str, copy: Record) -> Record:
    """Return the held record of the copy of a record."""
    body = [copy.kind, copy.key, copy.owner, copy.body, None if copy.expires is None else str(copy.expires)]
    return Record(HELD_KIND, held_key(owner, copy.kind, copy.key), owner, json.dumps(body, ensure_ascii=False))


def decode_held(held: Record) -> Record:
    kind, key, owner, body, expires = json.loads(held.body)
    return Record(kind, key, owner, body, expires=None if expires is None else datetime.fromisoformat(expires))


class _Cached(NamedTuple):
    moves: dict[str, OwnerMove]
    until: float


class OwnerMoves:
    """Reads the moves of this deployment, cached: few owners move at once, and most deployments have no move at all."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._cache: dict[str, _Cached] = {}

    def forget(self) -> None:
        """Read the moves again at the next use."""
        self._cache.clear()

    async def under_way(self) -> dict[str, OwnerMove]:
        """Return the moves that are under way here, by owner."""
        return await self._load(MOVE_KIND, MOVE_CACHE_SECONDS)

    async def moved(self) -> dict[str, OwnerMove]:
        """Return the owners that live elsewhere now, by name."""
        return await self._load(MOVED_KIND, _MOVED_CACHE_SECONDS)

    async def check_writes(self, owners: Iterable[str]) -> None:
        """Refuse writes for an owner that moves, or that has moved."""
        under_way = await self.under_way()
        moves = await self.moved() | under_way
        if not moves:
            return
        for owner in owners:
            refuse_moving(moves, owner)

    async def check_owner(self, owner: str) -> None:
        """Refuse a write for this owner if it moves, or has moved."""
        await self.check_writes((owner,))

    async def check_access(self, owner: str) -> None:
        """Refuse every request of an owner that lives elsewhere."""
        under_way = await self.under_way()
        move = under_way.get(owner) or (await self.moved()).get(owner)
        if move is not None and move.phase is MovePhase.LEFT:
            raise move.refusal()

    async def _load(self, kind: str, lifetime: float) -> dict[str, OwnerMove]:
        now = self._clock.steady()
        cached = self._cache.get(kind)
        if cached is not None and now < cached.until:
            return cached.moves
        moves: dict[str, OwnerMove] = {}
        after: str | None = None
        while True:
            page = await self._records.records(kind, after=after, limit=MAX_PAGE_SIZE)
            moves.update((record.key, OwnerMove.from_record(record)) for record in page.items)
            after = page.after
            if after is None:
                break
        # The lifetime counts from before the read, so that a move that begins after it is seen in time.
        self._cache[kind] = _Cached(moves, now + lifetime)
        if kind == MOVE_KIND and cached is not None and cached.moves.keys() != moves.keys():
            # One that has arrived may have left from here before.
            self._cache.pop(MOVED_KIND, None)
        return moves


def refuse_moving(moves: dict[str, OwnerMove], owner: str) -> None:
    """Refuse a write for this owner, or for a system task on its behalf, if it moves."""
    move = moves.get(account_of(owner))
    if move is not None:
        raise move.refusal()
