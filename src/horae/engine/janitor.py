"""Retention: removes old runs, tasks, events, messages and expired records in small batches, and replans after new time zone data."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final, Protocol

from ..clock import Clock
from ..errors import Refusal, StoreError
from ..lifecycle.control.edit import replan
from ..model.change import Facts
from ..ports.messages import Messages
from ..ports.records import Records
from ..ports.store import Book, TaskFilter, Upkeep
from ..schedule import TZDATA_VERSION
from ..store_retry import StoreRetry
from .settings import EngineSettings

BATCH_SIZE: Final = 200
EXPIRED_BATCH_SIZE: Final = 500
"""Expired records per batch."""
BATCH_PAUSE_SECONDS: Final = 0.02
IDLE_PAUSE_SECONDS: Final = 0.2
"""Pause after a batch that removed nothing: on a busy store there are always more rows to examine."""
MAX_BACKOFF: Final = 60.0
"""Longest back-off in seconds while the store fails; retention is not urgent."""
ZONE_DATA_KEY: Final = "tzdata"
LOG: Final = logging.getLogger("horae")


class JanitorStore(Upkeep, Records, Messages, Protocol):
    """Store interface of the janitor."""


class Janitor:
    def __init__(self, upkeep: JanitorStore, book: Book, clock: Clock, settings: EngineSettings) -> None:
        self._upkeep = upkeep
        self._book = book
        self._clock = clock
        self._settings = settings
        self._retry = StoreRetry("clean-up of old history", clock, max_backoff=MAX_BACKOFF)
        self._after: str | None = None
        self._more_expired = True
        """Also True when expired records have not been examined in this round."""
        self._more_messages = True
        """Also True when messages have not been examined in this round."""
        self._batch_pause = BATCH_PAUSE_SECONDS
        self._pause = 0.0
        """Seconds until the next round: 0 before the first, the back-off after a failure."""

    async def step(self) -> bool:
        """Remove one batch; return True while there is more to remove in this round."""
        now = self._clock.now()
        trimmed = await self._upkeep.trim(
            now - self._settings.keep_for, self._settings.keep_runs, BATCH_SIZE, self._after
        )
        self._after = trimmed.after
        removed = trimmed.runs or trimmed.tasks or trimmed.events
        if self._more_expired:
            removed = await self._remove_expired(now) or removed
        if self._more_messages:
            removed = await self._remove_messages(now) or removed
        self._batch_pause = BATCH_PAUSE_SECONDS if removed else IDLE_PAUSE_SECONDS
        more = trimmed.more or self._more_expired or self._more_messages
        self._more_expired = self._more_expired or not more
        self._more_messages = self._more_messages or not more
        return more

    async def _remove_expired(self, now: datetime) -> int:
        """Remove expired records: once per round, and again while full batches are found."""
        dropped = await self._upkeep.drop_expired(now, EXPIRED_BATCH_SIZE)
        self._more_expired = dropped >= EXPIRED_BATCH_SIZE
        return dropped

    async def _remove_messages(self, now: datetime) -> int:
        """Remove messages that are read or beyond a cap: once per round, and again while full batches are found."""
        trimmed = await self._upkeep.trim_messages(now, self._settings.keep_messages, BATCH_SIZE)
        self._more_messages = trimmed.more
        return trimmed.messages

    async def run(self) -> None:
        await self._renew_zones_with_retry()
        while True:
            await self._clock.pause(self._pause)
            self._pause = self._settings.upkeep_every.total_seconds()
            try:
                while await self.step():
                    await self._clock.pause(self._batch_pause)
                self._retry.succeeded()
            except StoreError as error:
                self._after = None
                self._more_expired = self._more_messages = True
                self._pause = self._retry.failed(error)

    async def update_zone_data(self) -> int:
        """Replan future occurrences if the time zone data is newer than the deployment has seen; return how many moved."""
        known = await self._upkeep.read_metadata(ZONE_DATA_KEY)
        if known is not None and known >= TZDATA_VERSION:
            return 0
        moved = 0 if known is None else await self._replan_all()
        await self._upkeep.write_metadata(ZONE_DATA_KEY, TZDATA_VERSION)
        return moved

    async def _replan_all(self) -> int:
        after: str | None = None
        moved = 0
        while True:
            page = await self._book.tasks(TaskFilter(), after, BATCH_SIZE)
            for facts in page.items:
                moved += await self._replan_one(facts)
            after = page.after
            if after is None:
                return moved
            await self._clock.pause(BATCH_PAUSE_SECONDS)

    async def _replan_one(self, facts: Facts) -> bool:
        """Replan one task. The check on the facts already read avoids most writes; the store decides again on current facts."""
        now = self._clock.now()
        try:
            if not replan(facts, now).put:
                return False
            await self._book.change(facts.task.id, None, lambda current: replan(current, now))
        except Refusal as refusal:
            # For example a zone that the newer data lacks. It concerns one task, and its next claim reports it.
            LOG.warning("the task %s cannot be planned again: %s", facts.task.id, refusal)
            return False
        return True

    async def _renew_zones_with_retry(self) -> None:
        while True:
            try:
                await self.update_zone_data()
            except StoreError as error:
                await self._retry.wait(error)
            else:
                self._retry.succeeded()
                return
