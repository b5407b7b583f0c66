"""Lateness of tasks that another process adds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.counts import Counts
from bench.engine import child, horae_side, work
from bench.engine.samples import Samples, percentile_row
from bench.engine.steady_rate import early
from bench.results import Bar, Section
from horae import Horae

_WHEN: Final = "in 2s"
_APART: Final = 0.2


def neighbour(counts: Counts) -> list[Section]:
    late = Samples.of([child.run(hear, tasks=counts.engine.neighbours)])
    rows = (
        percentile_row(f"`{_WHEN}`, lateness p50", late, 0.5),
        percentile_row(f"`{_WHEN}`, worst lateness", late, 1.0, Bar("at most", 50)),
        early(late),
    )
    return [Section("A task that another process adds", rows, (f"{len(late.all)} tasks, {_APART} s apart.",))]


def hear(tasks: int) -> list[float]:
    """The engine's process."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_hear(Path(folder) / "horae.db", tasks))


def tell(path: str, tasks: int) -> list[int]:
    """The other process: the instants that its tasks were given, in microseconds."""
    return asyncio.run(_tell(Path(path), tasks))


async def _hear(path: Path, tasks: int) -> list[float]:
    app = Horae(horae_side.address(path))
    app.task(work.async_timed)
    finished = asyncio.Event()
    work.watch.expect(tasks, finished.set)
    async with app:
        dues = await asyncio.to_thread(child.run, tell, path=str(path), tasks=tasks)
        await finished.wait()
    return [(started - dues[number]) / 1e6 for number, started in work.watch.starts]


async def _tell(path: Path, tasks: int) -> list[int]:
    """The instant of a task is unknown before it is created, so the payload is its number."""
    dues = []
    async with Horae(horae_side.address(path), engine=False) as app:
        function = app.task(work.async_timed)
        for number in range(tasks):
            await work.pass_time(_APART)
            task = await app.schedule(function, _WHEN, {"due": number})
            due = await task.next_due()
            assert due is not None
            dues.append(work.microseconds(due))
    return dues
