"""Move of a deployment: copies all parts page by page, then reads both stores again and compares their digests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from ..ports.transfer import Part
from .digest import PartDigest, compute_digest, read_pages
from .idle_check import IdleStore, LivenessCheck, wait_until_idle
from .move_progress import MoveProgress, NamedStore, read_progress, write_progress
from .refusals import refuse


class MoveStage(StrEnum):
    WATCHING = "watching"
    COPYING = "copying"
    COMPARING = "comparing"


ProgressCallback: TypeAlias = Callable[[MoveStage, float], None]
"""Progress callback: stage, and the completed share of it from 0 to 1."""


class MovePlan(NamedTuple):
    """Plan of a move: number of rows of each part in the source, and the progress of an earlier move to resume."""

    stock: dict[Part, int]
    progress: MoveProgress | None


class MoveResult(NamedTuple):
    """Result of a move: digest of each part, and the progress of an earlier move that this one resumed."""

    parts: dict[Part, PartDigest]
    resumed_from: MoveProgress | None


def _ignore_progress(_stage: MoveStage, _share: float) -> None:
    """Ignore progress."""


async def plan_move(source: NamedStore, target: NamedStore | None) -> MovePlan:
    """Plan a move without changing anything; `target` is None if it does not exist yet. Raises what the move would."""
    _refuse_same_store(source, target)
    begun = None if target is None else await read_progress(target, source.name)
    return MovePlan(await source.store.count_parts(), begun)


async def move_store(
    source: NamedStore, target: NamedStore, watching: LivenessCheck, on_progress: ProgressCallback = _ignore_progress
) -> MoveResult:
    """Copy and compare. An interrupted move is resumed by the next call, with the same result."""
    plan = await plan_move(source, target)

    def on_watching(share: float) -> None:
        on_progress(MoveStage.WATCHING, share)

    idle_source = await wait_until_idle(source, watching, on_watching)
    copy = _Copy(
        idle_source, await wait_until_idle(target, watching, on_watching, idle_source.dead_nodes), plan, on_progress
    )
    await copy.copy_parts(plan.progress or MoveProgress(source.name))
    return MoveResult(await copy.compare_parts(), plan.progress)


class _Copy:
    def __init__(self, source: IdleStore, target: IdleStore, plan: MovePlan, on_progress: ProgressCallback) -> None:
        self._source = source
        self._target = target
        self._plan = plan
        self._on_progress = on_progress

    async def copy_parts(self, begun: MoveProgress) -> None:
        if begun.part is None:
            return
        parts = list(Part)
        position = parts.index(begun.part)
        done = sum(self._plan.stock[each] for each in parts[:position])
        stage_progress = _StageProgress(self._plan, MoveStage.COPYING, self._on_progress, done=done)
        await write_progress(self._target.named_store, begun)
        for part, next_part in zip(parts[position:], [*parts[position + 1 :], None], strict=True):
            async for items, after in read_pages(self._source.named_store.store, part, begun.after):
                await self._check_idle()
                await self._target.named_store.store.import_page(part, items)
                stage_progress.add(len(items))
                if after is not None:
                    await write_progress(self._target.named_store, begun._replace(part=part, after=after))
            begun = begun._replace(part=next_part, after=None)
            await write_progress(self._target.named_store, begun)

    async def compare_parts(self) -> dict[Part, PartDigest]:
        """Read both stores again from the beginning and compare the digests; refuse the move if a part differs."""
        stage_progress = _StageProgress(self._plan, MoveStage.COMPARING, self._on_progress, passes=2)
        digests: dict[Part, PartDigest] = {}
        # Marks last: they rise with every change, so another part that differs explains more.
        for part in sorted(Part, key=lambda part: part is Part.MARKS):
            source_digest, target_digest = await asyncio.gather(
                *(
                    compute_digest(each.named_store.store, part, stage_progress.add)
                    for each in (self._source, self._target)
                )
            )
            if source_digest != target_digest:
                await self._refuse_difference(part, source_digest, target_digest)
            digests[part] = source_digest
        await self._check_idle()
        await write_progress(self._target.named_store, MoveProgress(self._source.named_store.name, None, done=True))
        return {part: digests[part] for part in Part}

    async def _refuse_difference(self, part: Part, source_digest: PartDigest, target_digest: PartDigest) -> None:
        target = self._target.named_store
        await self._check_idle()
        if self._plan.progress is not None and self._plan.progress.done:
            # The target of a completed move may have been in use for long: never write to it again.
            raise refuse("move_target_in_use", store=target.name, part=part)
        await write_progress(target, MoveProgress(self._source.named_store.name))
        here, there = source_digest.item_count, target_digest.item_count
        raise refuse("move_differs", store=target.name, part=part, here=here, there=there)

    async def _check_idle(self) -> None:
        await asyncio.gather(self._source.check(), self._target.check())


class _StageProgress:
    """Reports the completed share of a stage after each page."""

    def __init__(
        self, plan: MovePlan, stage: MoveStage, on_progress: ProgressCallback, *, passes: int = 1, done: int = 0
    ) -> None:
        self._total = max(1, passes * sum(plan.stock.values()))
        self._stage = stage
        self._on_progress = on_progress
        self._done = done

    def add(self, items: int) -> None:
        self._done += items
        self._on_progress(self._stage, min(1.0, self._done / self._total))


def _refuse_same_store(source: NamedStore, target: NamedStore | None) -> None:
    if target is not None and (target.name == source.name or target.store is source.store):
        raise refuse("move_same_store", store=source.name)
