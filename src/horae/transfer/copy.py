"""The move: everything is copied, part by part and page by page, then both stores are read again and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from ..ports.transfer import Part
from .digest import Carried, pages, weigh
from .idle_check import Still, Watching, see_still
from .progress import Begun, Side, look_at, note
from .refusals import refuse


class Stage(StrEnum):
    WATCHING = "watching"
    COPYING = "copying"
    COMPARING = "comparing"


Tell: TypeAlias = Callable[[Stage, float], None]
"""Hears what share of a stage is over."""


class Plan(NamedTuple):
    """What a move would do: how many parcels of each part the source holds, and how far an earlier one has come."""

    stock: dict[Part, int]
    begun: Begun | None


class Moved(NamedTuple):
    """`begun` is how far an earlier move had come when this one began."""

    parts: dict[Part, Carried]
    begun: Begun | None


def _nobody(_stage: Stage, _share: float) -> None:
    """Nobody wants to know."""


async def survey(source: Side, target: Side | None) -> Plan:
    """Look at both and change nothing; a target that is not there yet is None. What a move would refuse is refused here."""
    _refuse_one_and_the_same(source, target)
    begun = None if target is None else await look_at(target, source.name)
    return Plan(await source.store.stock(), begun)


async def move(source: Side, target: Side, watching: Watching, tell: Tell = _nobody) -> Moved:
    """Copy and compare. However often it is interrupted, the next one goes on, and the result is the same."""
    plan = await survey(source, target)

    def told(share: float) -> None:
        tell(Stage.WATCHING, share)

    old = await see_still(source, watching, told)
    copy = _Copy(old, await see_still(target, watching, told, old.dead), plan, tell)
    await copy.carry(plan.begun or Begun(source.name))
    return Moved(await copy.compared(), plan.begun)


class _Copy:
    def __init__(self, source: Still, target: Still, plan: Plan, tell: Tell) -> None:
        self._source = source
        self._target = target
        self._plan = plan
        self._tell = tell

    async def carry(self, begun: Begun) -> None:
        if begun.part is None:
            return
        parts = list(Part)
        place = parts.index(begun.part)
        done = sum(self._plan.stock[each] for each in parts[:place])
        share = _Share(self._plan, Stage.COPYING, self._tell, done=done)
        await note(self._target.side, begun)
        for part, following in zip(parts[place:], [*parts[place + 1 :], None], strict=True):
            async for parcels, after in pages(self._source.side.store, part, begun.after):
                await self._nobody_came()
                await self._target.side.store.carry_in(part, parcels)
                share.add(len(parcels))
                if after is not None:
                    await note(self._target.side, begun._replace(part=part, after=after))
            begun = begun._replace(part=following, after=None)
            await note(self._target.side, begun)

    async def compared(self) -> dict[Part, Carried]:
        """Both are read again from the beginning: only what is the same at the end was moved."""
        share = _Share(self._plan, Stage.COMPARING, self._tell, times=2)
        found: dict[Part, Carried] = {}
        # Marks rise with everything that happens: where more than they differ, the other part says more.
        for part in sorted(Part, key=lambda part: part is Part.MARKS):
            here, there = await asyncio.gather(
                *(weigh(each.side.store, part, share.add) for each in (self._source, self._target))
            )
            if here != there:
                await self._refuse(part, here, there)
            found[part] = here
        await self._nobody_came()
        await note(self._target.side, Begun(self._source.side.name, None, done=True))
        return {part: found[part] for part in Part}

    async def _refuse(self, part: Part, here: Carried, there: Carried) -> None:
        target = self._target.side
        await self._nobody_came()
        if self._plan.begun is not None and self._plan.begun.done:
            # It may have been at work for a year: nothing there is touched any more.
            raise refuse("move_target_in_use", store=target.name, part=part)
        await note(target, Begun(self._source.side.name))
        raise refuse("move_differs", store=target.name, part=part, here=here.parcels, there=there.parcels)

    async def _nobody_came(self) -> None:
        await asyncio.gather(self._source.check(), self._target.check())


class _Share:
    """How much of a stage is over, told with each page."""

    def __init__(self, plan: Plan, stage: Stage, tell: Tell, *, times: int = 1, done: int = 0) -> None:
        self._total = max(1, times * sum(plan.stock.values()))
        self._stage = stage
        self._tell = tell
        self._done = done

    def add(self, parcels: int) -> None:
        self._done += parcels
        self._tell(self._stage, min(1.0, self._done / self._total))


def _refuse_one_and_the_same(source: Side, target: Side | None) -> None:
    if target is not None and (target.name == source.name or target.store is source.store):
        raise refuse("move_same_store", store=source.name)
