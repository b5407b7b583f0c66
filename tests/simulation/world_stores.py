"""Stores of the feature worlds: memory, and a SQLite file with its writer thread, which is read again after its close."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from horae.ports.full_store import FullStore
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from tests.simulation.evidence import Evidence
from tests.simulation.world import World
from tests.sizes import sized


class WorldStore:
    """The store of one world; without a file, in memory."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._memory = MemoryStore()

    def run(self, kind: type[World], seed: int) -> Evidence:
        return kind(seed, self._make, threaded=self._file is not None).run()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[FullStore]:
        store = self._make()
        await store.open()
        try:
            yield store
        finally:
            await store.close()

    def _make(self) -> FullStore:
        return self._memory if self._file is None else SQLiteStore(str(self._file))


def worlds(seeds: Sequence[int]) -> list[tuple[str, int]]:
    """Return all seeds in memory and some on SQLite, as parameters `world_store` and `seed`."""
    return [("memory", seed) for seed in seeds] + [("sqlite", seed) for seed in seeds[: sized(1, soak=40)]]
