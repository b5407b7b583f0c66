"""Writes the settlement delays of this node to the store now and then, so that the overview can show them."""

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

SOON_SECONDS: Final = 1.0
"""From the first settlement to the write that reports it."""
EVERY_SECONDS: Final = 10.0
"""Between two writes; a node that settles nothing writes nothing."""


class DelayReporter:
    def __init__(self, store: Records, lease: Lease, clock: Clock) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._window = DelayWindow()
        self._bell = asyncio.Event()
        self._retry = StoreRetry("report of settlement delays", clock)

    def add(self, ended: Iterable[tuple[str, datetime]], recorded: datetime) -> None:
        """Owner and end of each run whose end was committed at `recorded`."""
        self._window.add(ended, recorded)
        self._bell.set()

    async def run(self) -> None:
        while True:
            await self._bell.wait()
            await self._clock.pause(SOON_SECONDS)
            try:
                await self.write()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            self._retry.succeeded()
            await self._clock.pause(EVERY_SECONDS - SOON_SECONDS)

    async def write(self) -> None:
        """Nothing where nothing was settled since the last write."""
        if not self._bell.is_set():
            return
        self._bell.clear()
        written = False
        try:
            written = await self._put()
        finally:
            if not written:
                self._bell.set()

    async def _put(self) -> bool:
        body, node = json.dumps(self._window.as_json()), self._lease.node
        known = await self._store.get_record(SETTLEMENT_DELAY, node)
        record = Record(SETTLEMENT_DELAY, node, "", body, expires=self._clock.now() + WINDOW)
        return await self._store.put_record(record, replacing=None if known is None else known.version)
