"""Process that creates two tasks an hour ago and crashes: `python -m tests.cli.operating.crashed_node URL`."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import datetime, timedelta

from horae import Horae
from horae.clock import SystemClock
from horae.wire.tasks.task import read_task


class HourAgoClock(SystemClock):
    def now(self) -> datetime:
        return super().now() - timedelta(hours=1)


async def crash(url: str) -> None:
    async with Horae(url, clock=HourAgoClock(), zone="UTC") as app:
        for name, missed in (("skips", "skip"), ("catches-up", "latest")):
            wish = read_task({"name": name, "when": "every 10m", "say": name, "policies": {"missed": missed}})
            await app.service.tasks.create(app.who, wish)
        os._exit(9)


if __name__ == "__main__":
    asyncio.run(crash(sys.argv[1]))
