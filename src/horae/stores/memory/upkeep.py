"""Upkeep port of the in-memory store: retention, integrity check and deployment metadata."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ...errors import StoreError
from ...ports.store import TrimResult
from .data import Data
from .integrity_check import find_problems
from .retention import Retention


class MemoryUpkeep:
    _data: Data

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        with self._data.transaction():
            self._data.drop_unused_lane_turns()
            return Retention(self._data, before, keep_runs, limit).trim_batch(after)

    async def check(self) -> tuple[str, ...]:
        with self._data.lock:
            return tuple(find_problems(self._data))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:  # noqa: ARG002
        raise StoreError(f"The store in memory cannot be copied to {path}: it ends with its process.")

    async def read_metadata(self, name: str) -> str | None:
        with self._data.lock:
            return self._data.metadata.get(name)

    async def write_metadata(self, name: str, value: str) -> None:
        with self._data.lock:
            self._data.metadata[name] = value
