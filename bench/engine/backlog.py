"""Lateness of one owner's tasks while the backlog of another owner is worked off."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.counts import Counts
from bench.engine import child, horae_side, work
from bench.engine.samples import Samples, percentile_row
from bench.results import Bar, Section, counted
from horae import Horae

_RATE: Final = 100
_LEAD: Final = 0.5
_SLOWEST: Final = 15_000  # tasks a second: as long as that would take, the other owner is watched


def backlog(counts: Counts) -> list[Section]:
    size = counts.engine.backlog
    told = child.run(behind_a_backlog, size=size)
    late = Samples.of([told["lateness"]])
    what = "another owner's on-time tasks meanwhile, lateness"
    rows = (
        counted(f"{size:,} due tasks of one owner, worked off in", told["seconds"], "s"),
        percentile_row(f"{what} p50", late, 0.5),
        percentile_row(f"{what} p99", late, 0.99),
        percentile_row(f"{what}, worst", late, 1.0, Bar("at most", 100)),
    )
    return [Section("Behind a backlog", rows, (f"{len(late.all):,} tasks of the other owner were watched.",))]


def behind_a_backlog(size: int) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        return asyncio.run(_behind_a_backlog(Path(folder) / "horae.db", size))


async def _behind_a_backlog(path: Path, size: int) -> dict[str, Any]:
    await horae_side.add(path, work.async_noop, [(work.now(), {})] * size, owner="crowd")
    ended = asyncio.get_running_loop().create_future()
    work.tally.expect(size, lambda: ended.set_result(work.now()))
    instants = work.at_rate(_RATE, max(size / _SLOWEST, 0.1), _LEAD)
    seen = asyncio.Event()
    work.watch.expect(len(instants), seen.set)
    await horae_side.add(path, work.async_timed, horae_side.to_watch(instants), owner="other")
    app = Horae(horae_side.address(path))
    app.task(work.async_noop)
    app.task(work.async_timed)
    began = work.now()
    async with app:
        over = await ended
        await seen.wait()
    # What came due before the engine ran would tell of the start, not of the backlog.
    lateness = work.watch.lateness(began + timedelta(seconds=_LEAD / 2), over) or work.watch.lateness()
    return {"seconds": (over - began).total_seconds(), "lateness": lateness}
