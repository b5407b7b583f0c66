"""Many tasks in one call, while others come due."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.counts import Counts
from bench.engine import child, horae_side, work
from bench.engine.samples import Samples, percentile_row
from bench.results import Bar, Section, counted
from horae import Horae

_RATE = 100
_LEAD = 0.2
_ALLOWED = 20_000  # a second


def adding(counts: Counts) -> list[Section]:
    many = counts.engine.many
    told = child.run(add_while_due, many=many)
    late = Samples.of([told["lateness"]])
    rows = (
        counted(f"schedule_many of {many:,}", told["seconds"], "s", Bar("at most", many / _ALLOWED)),
        percentile_row("what came due meanwhile, lateness p99", late, 0.99),
        percentile_row("what came due meanwhile, worst lateness", late, 1.0, Bar("at most", 50)),
    )
    return [Section("Many tasks in one call", rows, (f"{len(late.all):,} tasks were watched.",))]


def add_while_due(many: int) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        return asyncio.run(_add_while_due(Path(folder) / "horae.db", many))


async def _add_while_due(path: Path, many: int) -> dict[str, Any]:
    """The tasks that are watched fall due from just after the start of the call until after its longest allowed time."""
    async with Horae(horae_side.address(path)) as app:
        noop, timed = app.task(work.async_noop), app.task(work.async_timed)
        wanted = [(noop, when, payload) for when, payload in horae_side.far_away(many)]
        watched = work.at_rate(_RATE, max(many / _ALLOWED, 0.1) * 1.2, _LEAD)
        finished = asyncio.Event()
        work.watch.expect(len(watched), finished.set)
        await app.schedule_many([(timed, due, payload) for due, payload in horae_side.to_watch(watched)])
        began, started = work.now(), perf_counter()
        await app.schedule_many(wanted)
        seconds, ended = perf_counter() - started, work.now()
        await finished.wait()
    # When the call is over before anything came due, what came due after it is all there is to tell.
    return {"seconds": seconds, "lateness": work.watch.lateness(began, ended) or work.watch.lateness()}
