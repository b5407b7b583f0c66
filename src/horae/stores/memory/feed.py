"""What readers of the event log ask of the store in memory."""

from __future__ import annotations

from ...model.event import Numbered
from .data import Data


class MemoryFeed:
    _data: Data

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[Numbered, ...]:
        with self._data.lock:
            return self._data.events.after(after, limit, owner)

    async def last_event(self) -> int:
        with self._data.lock:
            return self._data.events.last
