"""Processes of stations for tests, and the check of the ledger that they write."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from horae.clock import SystemClock

PROGRAM = Path(__file__).with_name("ledger_station.py")
CLOCK = SystemClock()
WORKERS = ("ann", "bob", "cyd")


class StationProcesses:
    """Processes of one station; each worker has a key of its own."""

    def __init__(self, folder: Path, name: str, address: str, server_key: str) -> None:
        self._folder = folder
        self._name = name
        self._arguments = (address, server_key)
        self._live: dict[str, asyncio.subprocess.Process] = {}
        self.ledger = folder / f"{name}.ledger"

    def key_file(self, worker: str) -> Path:
        return self._folder / f"{self._name}-{worker}.key"

    async def start(self, worker: str) -> None:
        self._live[worker] = process = await asyncio.create_subprocess_exec(
            sys.executable, str(PROGRAM), self._name, worker, *self._arguments, str(self.key_file(worker)),
            str(self.ledger), stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert (await process.stdout.readline()).strip() == b"joined"

    def signal(self, worker: str, number: signal.Signals) -> None:
        os.kill(self._live[worker].pid, number)

    async def kill(self, worker: str) -> None:
        process = self._live.pop(worker)
        process.kill()
        await process.wait()

    async def stop(self) -> None:
        for worker in tuple(self._live):
            await self.kill(worker)

    def lines(self) -> list[dict[str, Any]]:
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    async def until(self, number: int) -> None:
        """Wait until so many executions have begun."""
        async with asyncio.timeout(60):
            while sum(line["what"] == "begin" for line in self.lines()) < number:
                await CLOCK.pause(0.02)


def check_ledger(lines: list[dict[str, Any]]) -> None:
    """Each attempt is executed at most once by each worker, and a key again only for a later attempt."""
    begun = Counter((line["key"], line["attempt"], line["worker"]) for line in lines if line["what"] == "begin")
    assert set(begun.values()) == {1}
