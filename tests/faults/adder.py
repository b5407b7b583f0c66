"""Client process that adds tasks in batches and prints each acknowledged batch, until it is killed."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from itertools import count
from typing import Final

from horae import Horae
from tests.faults.client import from_now
from tests.faults.functions import register

BATCH: Final = 50


async def add_for_ever(url: str) -> None:
    app = Horae(url, engine=False)
    register(app)
    later = from_now(0) + timedelta(days=1)
    async with app:
        for number in count():
            await app.schedule_many([("awaited", later, {"gate": f"batch {number}"})] * BATCH)
            sys.stdout.write(f"batch {number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(add_for_ever(sys.argv[1]))
