"""Removes what is older than anybody wants to keep, in batches so small that nobody has to wait for one."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final, Protocol

from ..clock import Clock
from ..errors import Refusal, StoreError
from ..lifecycle.edit import replan
from ..model.change import Facts
from ..ports.records import Records
from ..ports.store import Book, TaskFilter, Upkeep
from ..schedule import TZDATA_VERSION
from ..store_retry import StoreRetry
from .settings import EngineSettings

BATCH: Final = 200
EXPIRED: Final = 500
"""So many records that nobody needs any more go at once."""
BREATH_SECONDS: Final = 0.02
LONG_BREATH_SECONDS: Final = 0.2
"""After a look that found nothing to remove: while much happens, there is always more to look at."""
LONGEST_PAUSE: Final = 60.0
"""Seconds between two attempts while the store fails: nothing waits for this."""
ZONE_DATA: Final = "tzdata"
LOG: Final = logging.getLogger("horae")


class Kept(Upkeep, Records, Protocol):
    """What there is to tidy up."""


class Janitor:
    def __init__(self, upkeep: Kept, book: Book, clock: Clock, settings: EngineSettings) -> None:
        self._upkeep = upkeep
        self._book = book
        self._clock = clock
        self._settings = settings
        self._retry = StoreRetry("clean-up of old history", clock, longest=LONGEST_PAUSE)
        self._after: str | None = None
        self._more_expired = True
        """Or not looked for yet, in this round."""
        self._breath = BREATH_SECONDS
        self._pause = 0.0
        """Until the next round. There is none before the first, but what failed begins again like any other."""

    async def step(self) -> bool:
        """One batch; True while there is more to remove in this round."""
        now = self._clock.now()
        trimmed = await self._upkeep.trim(now - self._settings.keep_for, self._settings.keep_runs, BATCH, self._after)
        self._after = trimmed.after
        removed = trimmed.runs or trimmed.tasks or trimmed.events
        if self._more_expired:
            removed = await self._drop_expired(now) or removed
        self._breath = BREATH_SECONDS if removed else LONG_BREATH_SECONDS
        more = trimmed.more or self._more_expired
        self._more_expired = self._more_expired or not more
        return more

    async def _drop_expired(self, now: datetime) -> int:
        """Once in a round, and again only while there are many."""
        dropped = await self._upkeep.drop_expired(now, EXPIRED)
        self._more_expired = dropped >= EXPIRED
        return dropped

    async def run(self) -> None:
        await self._zones_until_done()
        while True:
            await self._clock.pause(self._pause)
            self._pause = self._settings.upkeep_every.total_seconds()
            try:
                while await self.step():
                    await self._clock.pause(self._breath)
                self._retry.succeeded()
            except StoreError as error:
                self._after = None
                self._more_expired = True
                self._pause = self._retry.failed(error)

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
                moved += await self._replan_one(facts)
            after = page.after
            if after is None:
                return moved
            await self._clock.pause(BREATH_SECONDS)

    async def _replan_one(self, facts: Facts) -> bool:
        """A look at what was read anyway spares most tasks the write; the decision itself is made on the task as it is."""
        now = self._clock.now()
        try:
            if not replan(facts, now).put:
                return False
            await self._book.change(facts.task.id, None, lambda found: replan(found, now))
        except Refusal as refusal:
            # For instance a zone that the newer data does not have: one task's trouble, and its next claim tells of it.
            LOG.warning("the task %s cannot be planned again: %s", facts.task.id, refusal)
            return False
        return True

    async def _zones_until_done(self) -> None:
        while True:
            try:
                await self.renew_zones()
            except StoreError as error:
                await self._retry.wait(error)
            else:
                self._retry.succeeded()
                return
