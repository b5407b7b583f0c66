"""Removes what is older than anybody wants to keep, in batches so small that nobody has to wait for one."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.editing import replan
from ..ports.store import Book, TaskFilter, Upkeep
from ..schedule import TZDATA_VERSION
from .settings import EngineSettings

BATCH: Final = 200
BREATH_SECONDS: Final = 0.02
ZONE_DATA: Final = "tzdata"


class Janitor:
    def __init__(self, upkeep: Upkeep, book: Book, clock: Clock, settings: EngineSettings) -> None:
        self._upkeep = upkeep
        self._book = book
        self._clock = clock
        self._settings = settings
        self._after: str | None = None

    async def step(self) -> bool:
        """One batch; True while there is more to look at in this round."""
        before = self._clock.now() - self._settings.keep_for
        trimmed = await self._upkeep.trim(before, self._settings.keep_runs, BATCH, self._after)
        self._after = trimmed.after
        return trimmed.after is not None

    async def run(self) -> None:
        await self._zones_until_done()
        while True:
            await self._clock.pause(self._settings.upkeep_every.total_seconds())
            try:
                while await self.step():
                    await self._clock.pause(BREATH_SECONDS)
            except StoreError:
                self._after = None

    async def renew_zones(self) -> int:
        """Newer zone data than the deployment has seen: what is still to come is planned again, each move recorded."""
        known = await self._upkeep.recall(ZONE_DATA)
        if known is not None and known >= TZDATA_VERSION:
            return 0
        moved = 0 if known is None else await self._replan_all()
        await self._upkeep.remember(ZONE_DATA, TZDATA_VERSION)
        return moved

    async def _replan_all(self) -> int:
        after: str | None = None
        moved = 0
        while True:
            page = await self._book.tasks(TaskFilter(), after, BATCH)
            for facts in page.items:
                now = self._clock.now()
                if replan(facts, now).put:
                    moved += 1
                    await self._replan_one(facts.task.id, now)
            after = page.after
            if after is None:
                return moved
            await self._clock.pause(BREATH_SECONDS)

    async def _replan_one(self, task_id: str, now: datetime) -> None:
        await self._book.change(task_id, None, lambda facts: replan(facts, now))

    async def _zones_until_done(self) -> None:
        while True:
            try:
                await self.renew_zones()
            except StoreError:
                await self._clock.pause(1.0)
            else:
                return
