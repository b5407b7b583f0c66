"""Reaction to a wall clock that was set back: logs it, records it for operators and replans interval tasks."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Protocol

from ..clock import Clock
from ..errors import Refusal, StoreError
from ..lifecycle.clock_step import replan_after_clock_step
from ..model.record import Record, RecordWrite
from ..model.task import TaskState
from ..ports.node_records import CLOCK_STEP, ClockStep
from ..ports.records import Records
from ..ports.store import Book, Feed, TaskFilter
from ..store_retry import StoreRetry
from .alarm import WakeTimer
from .keeper import Lease

MAX_EVENT_LEAD: Final = timedelta(seconds=60)
"""An event further in the future than other machines' clocks may be was written before the clock was set back."""
PAGE_SIZE: Final = 200
PAGE_PAUSE_SECONDS: Final = 0.02
_ACTIVE: Final = TaskFilter(states=frozenset({TaskState.ACTIVE}))
_RETENTION: Final = timedelta(days=1)
LOG: Final = logging.getLogger("horae")


class ClockFollowerStore(Book, Records, Feed, Protocol):
    """Store interface of the clock follower."""


class ClockFollower:
    """Replans only interval tasks: cron and calendar schedules follow the wall clock and wait for their next instant, since
    occurrences that ran do not run again."""

    def __init__(
        self, store: ClockFollowerStore, alarm: WakeTimer, lease: Lease, clock: Clock, host: Callable[[], str]
    ) -> None:
        self._store = store
        self._alarm = alarm
        self._lease = lease
        self._clock = clock
        self._host = host
        self._wake = asyncio.Event()
        self._step = timedelta(0)
        self._retry = StoreRetry("planning after a clock step", clock)

    def report_step(self, by: timedelta) -> None:
        """Report that the wall clock went back, and wake the loop."""
        self._step += by
        self._wake.set()

    async def run(self) -> None:
        """Handle reported steps, and at the start one that happened while no node ran."""
        while True:
            try:
                await self.detect_step()
                await self.step()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            self._retry.succeeded()
            self._wake.clear()
            await self._wake.wait()

    async def detect_step(self) -> None:
        """Detect a step from the newest event: it lies in the future where the clock was set back while no node ran."""
        if not self._step:
            last = await self._store.last_event()
            newest = [each.event.at for each in await self._store.events(max(0, last - 1), 1)]
            lead = max(newest, default=self._clock.now()) - self._clock.now()
            if lead >= MAX_EVENT_LEAD:
                self.report_step(lead)

    async def step(self) -> int:
        """Replan the interval tasks after a step; return how many were moved."""
        if not self._step:
            return 0
        step, now = self._step, self._clock.now()
        LOG.warning(
            "the wall clock was set back by %.1f s: interval tasks are planned again, all others wait for their instants",
            step.total_seconds(),
        )
        clock_step = ClockStep(self._host(), now, step)
        record = Record(CLOCK_STEP, self._lease.node, "", json.dumps(clock_step.as_json()), expires=now + _RETENTION)
        known = await self._store.get_record(CLOCK_STEP, self._lease.node)
        await self._store.write_records([RecordWrite(record, None if known is None else known.version)])
        moved = await self._replan_all(now)
        self._step -= step
        self._alarm.notify()
        return moved

    async def _replan_all(self, now: datetime) -> int:
        after: str | None = None
        moved = 0
        while True:
            page = await self._store.tasks(_ACTIVE, after, PAGE_SIZE)
            for facts in page.items:
                if replan_after_clock_step(facts, now).put:
                    moved += await self._replan_task(facts.task.id, now)
            after = page.after
            if after is None:
                return moved
            await self._clock.pause(PAGE_PAUSE_SECONDS)

    async def _replan_task(self, task_id: str, now: datetime) -> bool:
        try:
            await self._store.change(task_id, None, lambda facts: replan_after_clock_step(facts, now))
        except Refusal as refusal:
            LOG.warning("the task %s cannot be planned again: %s", task_id, refusal)
            return False
        return True
