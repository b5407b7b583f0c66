"""Moves one owner from one running deployment to another: fence, stop, copy, compare, switch, clear, start.

Each step may be repeated, and the records of both deployments say where an interrupted move goes on. Until the switch the
owner belongs to the source, and the move can be given up; from then on it belongs to the target. Between fence and start
it runs nowhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from ...clock import Clock
from ...model.accounts.account import OWNER_KIND, is_owner_name
from ...model.accounts.principal import LOCAL
from ...model.agents.group import GROUP_OWNER_PREFIX
from ...ports.full_store import FullStore
from ...ports.records import RecordWrite
from ...ports.transfer import Part
from ...service.accounts.audit import Audit
from ...service.accounts.owner_moves import (
    MOVE_CACHE_SECONDS,
    MOVE_KIND,
    MOVED_KIND,
    MovePhase,
    OwnerMove,
    OwnerMoves,
)
from ..digest import PartDigest
from ..refusals import refuse
from .content import COMPARED_PARTS
from .records import Deployment, OwnerRecords
from .source import OwnerSource
from .target import OwnerTarget


class OwnerMoveStep(StrEnum):
    FENCING = "fencing"
    STOPPING = "stopping"
    COPYING = "copying"
    COMPARING = "comparing"
    SWITCHING = "switching"
    CLEARING = "clearing"
    STARTING = "starting"
    DONE = "done"


StepCallback: TypeAlias = Callable[[OwnerMoveStep], None]
DEFAULT_PATIENCE: Final = timedelta(minutes=5)
_TRIES: Final = 3
_FORGOTTEN_AFTER: Final = timedelta(hours=1)
"""The record of a finished move is removed so long after it; the record of where the owner lives stays."""


class OwnerMoveResult(NamedTuple):
    """Result of a move: digests by part, empty where the comparison was made before the interruption."""

    parts: dict[Part, PartDigest]
    resumed: bool = False
    moved_before: bool = False


class OwnerMover:
    """`place` is the new address that callers of the source are given. `patience` bounds the wait for live runs."""

    def __init__(  # noqa: PLR0913 - the parts of a move, each by its name
        self,
        source: Deployment,
        target: Deployment,
        owner: str,
        clock: Clock,
        *,
        place: str | None = None,
        patience: timedelta = DEFAULT_PATIENCE,
        on_step: StepCallback = lambda _step: None,
    ) -> None:
        self._from = source
        self._to = target
        self._owner = owner
        self._clock = clock
        self._place = place or target.name
        self._on_step = on_step
        self._source = OwnerSource(source.store, owner, clock, patience)
        self._target = OwnerTarget(target.store, owner, clock)
        self._records = OwnerRecords(source, target, owner)

    async def check(self) -> OwnerMove | None:
        """Refuse what the move would refuse before it begins; return the state of an earlier one at the source."""
        owner = self._owner
        if self._from.name == self._to.name or self._from.store is self._to.store:
            raise refuse("move_same_store", store=self._from.name)
        if not is_owner_name(owner) or owner.startswith(GROUP_OWNER_PREFIX):
            raise refuse("owner_not_movable", owner=owner)
        leaving, arriving = await self._read_source(), await self._read_target()
        if leaving is not None and leaving.phase is MovePhase.ARRIVING:
            raise refuse("owner_arrives_here", owner=owner, store=self._from.name)
        if leaving is not None and leaving.other != self._to.name:
            raise refuse("owner_moves_elsewhere", owner=owner, store=leaving.other)
        if arriving is None and (leaving is None or leaving.phase is MovePhase.LEAVING):
            await self._refuse_existing()
        elif arriving is not None and (arriving.phase, arriving.other) != (MovePhase.ARRIVING, self._from.name):
            raise refuse("owner_moves_elsewhere", owner=owner, store=arriving.other)
        return leaving

    async def move(self) -> OwnerMoveResult:
        """Move the owner. An interrupted move goes on where the records of both deployments say."""
        begun = await self.check()
        is_resumed = begun is not None
        parts: dict[Part, PartDigest] = {}
        if begun is None or begun.phase is MovePhase.LEAVING:
            begun = await self._fence(begun)
            self._on_step(OwnerMoveStep.STOPPING)
            await self._source.stop()
            parts = await self._copy()
            self._on_step(OwnerMoveStep.SWITCHING)
            await self._switch(begun)
        elif await self._read_target() is None:
            return OwnerMoveResult(parts, resumed=True, moved_before=True)
        self._on_step(OwnerMoveStep.CLEARING)
        await self._records.clear_source()
        await self._source.clear(self._target)
        self._on_step(OwnerMoveStep.STARTING)
        await self._records.start()
        await self._target.start(begun)
        await self._finish()
        self._on_step(OwnerMoveStep.DONE)
        return OwnerMoveResult(parts, is_resumed)

    async def abort(self) -> None:
        """Give up a move before its switch: the copy is removed, and the owner goes on at the source."""
        begun = await self.check()
        if begun is None:
            raise refuse("owner_not_moving", owner=self._owner)
        if begun.phase is not MovePhase.LEAVING:
            raise refuse("owner_move_past", owner=self._owner, store=self._to.name)
        arriving = await self._read_target()
        if arriving is not None:
            await self._target.clear(self._from.store)
            await self._records.drop_held()
            await self._drop(self._to.store, arriving)
        await self._source.release(begun)
        await self._drop(self._from.store, begun)

    # --- steps -------------------------------------------------------------------------------------------------------

    async def _fence(self, begun: OwnerMove | None) -> OwnerMove:
        """Fence the owner at the target, then at the source, and wait until every process has noticed."""
        self._on_step(OwnerMoveStep.FENCING)
        if await self._read_target() is None:
            arriving = OwnerMove(self._owner, MovePhase.ARRIVING, self._place, self._from.name, self._clock.now())
            former = await self._to.store.get_record(MOVE_KIND, self._owner)
            await self._write(
                self._to.store, RecordWrite(arriving.to_record(), None if former is None else former.version)
            )
        if begun is None:
            begun = OwnerMove(self._owner, MovePhase.LEAVING, self._place, self._to.name, self._clock.now())
            row = self._audit(self._from.store, "owner.leave")
            await self._write(self._from.store, RecordWrite(begun.to_record()), *row)
        await self._clock.pause(2 * MOVE_CACHE_SECONDS)
        return begun

    async def _copy(self) -> dict[Part, PartDigest]:
        """Copy and compare; what has changed in between is copied again."""
        differing: Part | None = None
        for _ in range(_TRIES):
            self._on_step(OwnerMoveStep.COPYING)
            await self._records.copy()
            await self._target.copy(self._from.store)
            self._on_step(OwnerMoveStep.COMPARING)
            parts, differing = await self._compare()
            if differing is None:
                return parts
        raise refuse("owner_differs", owner=self._owner, store=self._to.name, part=differing)

    async def _compare(self) -> tuple[dict[Part, PartDigest], Part | None]:
        """Read both deployments again; return the digests and the first part that differs."""
        here, there = await self._records.digest_source(), await self._records.digest_target()
        parts = {Part.RECORDS: here}
        differing = None if here == there else Part.RECORDS
        for part in COMPARED_PARTS:
            here, there = await asyncio.gather(
                self._target.digest(self._from.store, part), self._target.digest(self._to.store, part)
            )
            parts[part] = here
            if here != there and differing is None:
                differing = part
        return parts, differing

    async def _switch(self, begun: OwnerMove) -> None:
        """The point of no return: one transaction at the source."""
        current = await self._from.store.get_record(MOVE_KIND, self._owner)
        left = begun._replace(phase=MovePhase.LEFT)
        known = await self._from.store.get_record(MOVED_KIND, self._owner)
        await self._write(
            self._from.store,
            RecordWrite(
                left.to_record(expires=self._clock.now() + _FORGOTTEN_AFTER),
                None if current is None else current.version,
            ),
            RecordWrite(left.to_record(MOVED_KIND), None if known is None else known.version),
        )

    async def _finish(self) -> None:
        """Open the target: from here on it accepts writes for the owner. It may have left from there before."""
        arriving = await self._read_target()
        if arriving is None:
            return
        left = await self._to.store.get_record(MOVED_KIND, self._owner)
        dropped = [RecordWrite(arriving.to_record(), arriving.version, dropped=True)]
        if left is not None:
            dropped.append(RecordWrite(left, left.version, dropped=True))
        await self._write(self._to.store, *dropped, *self._audit(self._to.store, "owner.arrive"))

    # --- records of the move -----------------------------------------------------------------------------------------

    async def _read_source(self) -> OwnerMove | None:
        """Return the state of the move at the source; None if it has not begun."""
        for kind in (MOVE_KIND, MOVED_KIND):
            record = await self._from.store.get_record(kind, self._owner)
            if record is not None:
                return OwnerMove.from_record(record)
        return None

    async def _read_target(self) -> OwnerMove | None:
        """Return the state of the move at the target; None if it has not begun, or is over."""
        record = await self._to.store.get_record(MOVE_KIND, self._owner)
        move = None if record is None else OwnerMove.from_record(record)
        return None if move is None or move.phase is MovePhase.LEFT else move

    async def _write(self, store: FullStore, *writes: RecordWrite) -> None:
        if not await store.write_records(writes):
            raise refuse("owner_moved_by_another", owner=self._owner)

    async def _drop(self, store: FullStore, move: OwnerMove) -> None:
        await self._write(store, RecordWrite(move.to_record(), move.version, dropped=True))

    def _audit(self, store: FullStore, action: str) -> tuple[RecordWrite, ...]:
        principal = LOCAL._replace(actor="local", via="cli")
        detail = {"from": self._from.name, "to": self._to.name}
        return Audit(store, self._clock).row(principal, action, self._owner, detail, owner=self._owner)

    async def _refuse_existing(self) -> None:
        """Refuse a target where the owner has something of its own; one that has left it before may come back."""
        if await self._target.has_content():
            raise refuse("owner_exists_there", owner=self._owner, store=self._to.name)
        account = await self._to.store.get_record(OWNER_KIND, self._owner)
        is_former = self._owner in await OwnerMoves(self._to.store, self._clock).moved()
        if account is not None and not is_former and self._owner != LOCAL.owner:
            raise refuse("owner_exists_there", owner=self._owner, store=self._to.name)
