"""Parts of tests of stations: a node's sockets on free ports, keys in a directory, stations that run in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from horae.model.stations.station import StationKind
from horae.model.task import Target as TargetField
from horae.service.accounts.audit import Audit
from horae.service.stations.stations import Stations
from horae.stations import Station
from horae.stations.hub import Publisher
from horae.stations.keys import KeyPair, load_or_make_keys
from horae.stations.server import StationServer
from horae.stations.settings import StationSettings
from horae.stations.target import StationTarget
from horae.stores.memory import MemoryStore
from horae.testing import RecordingInvocation
from horae.testing.factories import a_run, a_task

PATIENCE = 30.0


class StationNode:
    """Sockets of a node over a store in memory, and its service of stations."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.clock = SystemClock()
        self.store = MemoryStore()
        self.stations = Stations(self.store, Audit(self.store, self.clock), self.clock)
        defaults: dict[str, Any] = {
            "enabled": True,
            "listen": "tcp://127.0.0.1:*",
            "publish": "tcp://127.0.0.1:*",
            "directory": str(folder / "node"),
            "heartbeat": 0.2,
            "liveness": 2.0,
            "worker_wait": 0.2,
        }
        self.settings = StationSettings(**{**defaults, **settings})
        self.publisher: Publisher | None = None

    async def open(self) -> None:
        self.server = StationServer(self.settings, self.clock, self.store, node="here", publisher=self.publisher)
        self.server.start()
        self.target = StationTarget(self.settings, self.clock, self.store, self.server)

    @property
    def key(self) -> str | None:
        return None if self.server.keys is None else self.server.keys.public

    @property
    def hub(self) -> Any:
        return self.server.hub

    def keys(self, name: str) -> KeyPair:
        return load_or_make_keys(self.folder / f"{name}.key")

    async def allow(
        self, name: str, kind: str = "api", worker: str | None = None, *, owner: str = "local", file: str | None = None
    ) -> None:
        key = self.keys(file or worker or name).public
        await self.stations.allow(LOCAL, name, key, kind=StationKind(kind), worker=worker, owner=owner)

    def station(self, name: str, worker: str = "one", file: str | None = None, **options: Any) -> Station:
        return Station(
            name,
            servers=self.server.address,
            server_key=self.key,
            key_file=self.folder / f"{file or name}.key",
            worker=worker,
            **options,
        )

    @asynccontextmanager
    async def running(self, *stations: Station) -> AsyncIterator[None]:
        """Run stations until the end of the block; they have joined when it begins."""
        stop = asyncio.Event()
        runs = [asyncio.create_task(each.run(stop)) for each in stations]
        try:
            async with asyncio.timeout(PATIENCE):
                for each in stations:
                    await each.until_joined()
                await self.until(lambda: sum(w.is_ready for w in self.hub.workers) >= len(stations))
            yield
        finally:
            stop.set()
            await asyncio.gather(*runs)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for a change that another socket brings; fails after the patience of tests."""
        async with asyncio.timeout(PATIENCE):
            while not happened():
                await self.clock.pause(0.005)

    def invocation(
        self, spec: str, *, owner: str = "local", payload: str = "{}", attempt: int = 1
    ) -> RecordingInvocation:
        task = a_task(id="tsk_stations", owner=owner, target=TargetField("station", spec), payload=payload)
        return RecordingInvocation(task, a_run(task, attempt=attempt))


@asynccontextmanager
async def open_node(folder: Path, publisher: Publisher | None = None, **settings: Any) -> AsyncIterator[StationNode]:
    node = StationNode(folder, **settings)
    node.publisher = publisher
    await node.open()
    try:
        yield node
    finally:
        await node.target.aclose()
