"""Cost of an idle engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from bench.engine import horae_side, work
from bench.engine.scale import Scale
from bench.results import Bar, Section, counted
from horae import Horae
from horae.stores.sqlite import SQLiteStore


def watch(count: int, seconds: float) -> dict[str, float]:
    """How many statements and how much of a processor it takes to wait for what is far away."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_watch(Path(folder) / "horae.db", count, seconds))


def section(scale: Scale, seen: dict[str, float]) -> Section:
    rows = (
        counted("statements", seen["statements"] / seen["seconds"], "/s", Bar("at most", 0.2)),
        counted("transactions", seen["transactions"] / seen["seconds"], "/s"),
        counted("processor", 100 * seen["busy"] / seen["seconds"], "%", Bar("at most", 0.2)),
    )
    return Section(f"Idle, with {scale.handful:,} future tasks", rows, (f"Watched for {seen['seconds']:.0f} s.",))


async def _watch(path: Path, count: int, seconds: float) -> dict[str, float]:
    await horae_side.add(path, work.async_noop, horae_side.far_away(count))
    app = Horae(horae_side.address(path))
    app.task(work.async_noop)
    async with app:
        # What comes of starting is over then, and a minute's upkeep falls into the minute that is watched, not on its edge.
        await work.pass_time(seconds / 6)
        store = app.store
        assert isinstance(store, SQLiteStore)
        before = store.statements, store.transactions
        started, busy = perf_counter(), process_time()
        await work.pass_time(seconds)
        return {
            "seconds": perf_counter() - started,
            "busy": process_time() - busy,
            "statements": store.statements - before[0],
            "transactions": store.transactions - before[1],
        }
