"""Broadcast of results: follows the event log while there are subscribers, so that each result is sent once it is settled,
also of other nodes, of timeouts, and of stations that are gone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..model.events.event import EventKind
from ..ports.full_store import FullStore
from ..service.plans.results import PlanResult, load_plan_result
from ..store_retry import StoreRetry

POLL_SECONDS: Final = 0.05
MAX_BACKOFF_SECONDS: Final = 2.0
PAGE_SIZE: Final = 500


class ResultBroadcaster:
    """`publish` sends one result. Without subscribers nothing is read."""

    def __init__(self, store: FullStore, clock: Clock, publish: Callable[[PlanResult], None]) -> None:
        self._store = store
        self._clock = clock
        self._publish = publish
        self._topics: Counter[bytes] = Counter()
        self._refused: Counter[bytes] = Counter()
        self._task: asyncio.Task[None] | None = None
        self.is_following = asyncio.Event()
        """Set once the place in the log is known from which results are sent."""

    def subscribe(self, topic: bytes) -> None:
        self._topics[topic] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._follow())

    def refuse(self, topic: bytes) -> None:
        """Note a subscription that was not accepted: its end is not that of another one."""
        self._refused[topic] += 1

    def unsubscribe(self, topic: bytes) -> None:
        counter = self._refused if topic in self._refused else self._topics
        counter[topic] -= 1
        if counter[topic] <= 0:
            del counter[topic]

    async def stop(self) -> None:
        self._topics.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        retry = StoreRetry("reading of results for subscribers", self._clock, max_backoff=MAX_BACKOFF_SECONDS)
        position: int | None = None
        while self._topics:
            try:
                if position is None:
                    position = await self._store.last_event()
                    self.is_following.set()
                    continue
                is_end, position = await self._send_page(position)
                retry.succeeded()
            except StoreError as error:
                await retry.wait(error)
                continue
            if is_end:
                await self._clock.pause(POLL_SECONDS)
        self.is_following.clear()

    async def _send_page(self, position: int) -> tuple[bool, int]:
        events = await self._store.events(position, PAGE_SIZE, None)
        for numbered in events:
            if numbered.event.kind is EventKind.PLAN_RESULT and self._is_wanted(numbered.event.owner):
                result = await load_plan_result(self._store, numbered.event)
                if result is not None:
                    self._publish(result)
        return len(events) < PAGE_SIZE, events[-1].number if events else position

    def _is_wanted(self, owner: str) -> bool:
        """Whether a subscriber may see results of this owner: topics begin with the owner and a slash."""
        prefix = f"{owner}/".encode()
        return any(topic.startswith(prefix) for topic in self._topics)
