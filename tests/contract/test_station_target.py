"""The station target passes the target contract, with a station that runs beside it."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from horae.clock import SystemClock
from horae.model.outcome import Outcome, Succeeded
from horae.model.stations.station import Station as StationValue
from horae.model.stations.station import StationKey, StationKind, key_record, station_record
from horae.ports.target import Target, TargetKind, Tools
from horae.stations import Context, Failure, Station
from horae.stations.keys import SERVER_KEY_FILE, load_or_make_keys
from horae.stations.target import STATION
from horae.stores.memory import MemoryStore
from horae.testing import RecordingInvocation
from horae.testing.contracts import TargetContract, TargetKeysContract
from horae.testing.contracts.targets import TargetHarness
from horae.testing.factories import OWNER


class StationWithStore:
    """The kind, with a store for its stations: the harness has none."""

    kind = STATION.kind

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        return STATION.check(spec, payload, settings)

    def open(self, tools: Tools) -> Target:
        return STATION.open(tools._replace(records=self._store))


class TestStation(TargetContract, TargetKeysContract):
    def kind(self) -> TargetKind:
        return StationWithStore(self.store)

    @asynccontextmanager
    async def environment(self) -> AsyncIterator[None]:
        self.store = MemoryStore()
        with tempfile.TemporaryDirectory() as folder:
            self.address = f"tcp://127.0.0.1:{_free_port()}"
            self.folder = Path(folder)
            station = self._make_station()
            key = station.keys().public
            created = datetime(2026, 1, 1, tzinfo=UTC)
            value = StationValue(OWNER, "bench", StationKind.API, (StationKey(key),), created)
            await self.store.put_record(station_record(value), replacing=None)
            await self.store.put_record(key_record(value, key), replacing=None)
            stop = asyncio.Event()
            running = asyncio.create_task(station.run(stop))
            # The tasks of the station begin before the harness looks which ones there are.
            await SystemClock().pause(0)
            await SystemClock().pause(0)
            try:
                yield
            finally:
                stop.set()
                await running

    def _make_station(self) -> Station:
        server_key = load_or_make_keys(self.folder / SERVER_KEY_FILE).public
        station = Station(
            "bench", servers=self.address, server_key=server_key, key_file=self.folder / "bench.key", slots=16
        )

        @station.api()
        async def succeed(context: Context) -> dict[str, str]:
            return {"key": context.key}

        @station.api()
        async def fail() -> None:
            raise Failure("it hurts")

        @station.api()
        async def talk() -> str:
            return "é" * 200_000

        @station.api()
        async def never_end(context: Context) -> None:
            while not context.is_cancelled:
                context.wait()
                await SystemClock().pause(0.01)

        return station

    def settings(self) -> Mapping[str, Any]:
        return {
            "enabled": True,
            "directory": str(self.folder),
            "listen": self.address,
            "publish": f"tcp://127.0.0.1:{_free_port()}",
            "heartbeat": 0.2,
            "liveness": 2.0,
        }

    def succeeding(self) -> Mapping[str, Any]:
        return {"station": "bench", "command": "succeed"}

    def failing(self) -> Mapping[str, Any]:
        return {"station": "bench", "command": "fail"}

    def endless(self) -> Mapping[str, Any]:
        return {"station": "bench", "command": "never_end"}

    def verbose(self) -> Mapping[str, Any]:
        return {"station": "bench", "command": "talk"}

    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:  # noqa: ARG002
        assert isinstance(outcome, Succeeded)
        return str(json.loads(outcome.result or "")["key"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
