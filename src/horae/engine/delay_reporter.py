"""Periodic report of this node's settlement delays to the store, for the overview."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..ports.records import Record, Records
from ..ports.settlement_delays import SETTLEMENT_DELAY, WINDOW, DelayWindow
from ..store_retry import StoreRetry
from .lease import Lease

FIRST_WRITE_SECONDS: Final = 1.0
"""Delay from the first settlement to the write that reports it."""
WRITE_INTERVAL_SECONDS: Final = 10.0
"""Interval between two writes; a node that settles nothing writes nothing."""


class DelayReporter:
    def __init__(self, store: Records, lease: Lease, clock: Clock) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._window = DelayWindow()
        self._has_news = asyncio.Event()
        self._retry = StoreRetry("report of settlement delays", clock)

    def add(self, ended: Iterable[tuple[str, datetime]], recorded: datetime) -> None:
        """Add owner and end of each run whose end was committed at `recorded`."""
        self._window.add(ended, recorded)
        self._has_news.set()

    async def run(self) -> None:
        while True:
            await self._has_news.wait()
            await self._clock.pause(FIRST_WRITE_SECONDS)
            try:
                await self.write()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            self._retry.succeeded()
            await self._clock.pause(WRITE_INTERVAL_SECONDS - FIRST_WRITE_SECONDS)

    async def write(self) -> None:
        """Write the report, unless nothing was settled since the last write."""
        if not self._has_news.is_set():
            return
        self._has_news.clear()
        is_written = False
        try:
            is_written = await self._put_record()
        finally:
            if not is_written:
                self._has_news.set()

    async def _put_record(self) -> bool:
        body, node = json.dumps(self._window.as_json()), self._lease.node
        known = await self._store.get_record(SETTLEMENT_DELAY, node)
        record = Record(SETTLEMENT_DELAY, node, "", body, expires=self._clock.now() + WINDOW)
        return await self._store.put_record(record, replacing=None if known is None else known.version)
