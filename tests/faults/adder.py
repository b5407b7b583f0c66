"""A process that adds tasks, batch after batch, and says which ones it was told are safe; it never stops by itself."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from itertools import count
from typing import Final

from horae import Horae
from tests.faults.client import soon
from tests.faults.functions import register

BATCH: Final = 50


async def add_for_ever(url: str) -> None:
    app = Horae(url, engine=False)
    register(app)
    later = soon(0) + timedelta(days=1)
    async with app:
        for number in count():
            await app.schedule_many([("awaited", later, {"gate": f"batch {number}"})] * BATCH)
            sys.stdout.write(f"batch {number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(add_for_ever(sys.argv[1]))
