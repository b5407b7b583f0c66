"""Chain link: how long after the end of its predecessor a task starts.

`python -m bench.link [URL] [--chains 200]`; without a URL on a SQLite file. A node with nothing else to do runs a chain of two tasks again
and again. The end is the instant that the settlement records, so the durable commit of the settlement is part of the delay.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from horae import Horae, after
from horae.clock import SystemClock

CHAINS: Final = 200
WARM_UP: Final = 20
LIMIT_MILLISECONDS: Final = 20


async def measure_links(url: str, chains: int) -> list[float]:
    """Return the milliseconds from the end of each first run to the start of the second one."""
    app, clock, starts = Horae(url, zone="UTC"), SystemClock(), asyncio.Queue[datetime]()

    async def first() -> None:
        return None

    async def second() -> None:
        starts.put_nowait(clock.now())

    app.task("0 0 1 1 *", name="first")(first)
    app.task(after("first"), name="second")(second)
    delays = []
    async with app:
        (task,) = [each async for each in app.tasks() if each.name == "first"]
        for _ in range(WARM_UP + chains):
            run = await task.run_now()
            at, ended = await starts.get(), (await run.wait()).ended
            assert ended is not None
            delays.append((at - ended) / timedelta(milliseconds=1))
    return delays[WARM_UP:]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.link", description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--chains", type=int, default=CHAINS)
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        url = chosen.url or f"sqlite:///{Path(folder, 'links.db')}"
        delays = sorted(asyncio.run(measure_links(url, chosen.chains)))
    late = sum(each > LIMIT_MILLISECONDS for each in delays)
    print(
        f"start of a link after the end of its predecessor: median {median(delays):.1f} ms, "
        f"p99 {delays[len(delays) * 99 // 100]:.1f} ms, {late} of {len(delays)} later than {LIMIT_MILLISECONDS} ms"
    )


if __name__ == "__main__":
    main()
