"""Lateness on a file with a million future tasks, compared with one with few."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final, NamedTuple

from bench.counts import Counts
from bench.engine import child, horae_side, idle, work
from bench.engine.claims import claim_rows
from bench.engine.memory import peak_megabytes
from bench.engine.samples import Samples, usual_rows
from bench.engine.scale import Scale
from bench.engine.steady_rate import early, timed_block
from bench.measure import Timing
from bench.results import Bar, Row, Section, counted, timed
from horae import Horae

_RATE: Final = 100
_LATER: Final = 1  # ms


def crowd(counts: Counts) -> list[Section]:
    """An idle engine is watched while the big file is written: neither of the two is timed by the clock."""
    scale = counts.engine
    with TemporaryDirectory() as folder:
        few, many = (str(Path(folder) / name) for name in ("few.db", "many.db"))
        with child.start(idle.watch, count=scale.handful, seconds=scale.idle_seconds) as idling:
            child.run(horae_side.fill, path=few, count=scale.handful)
            filled = child.run(horae_side.fill, path=many, count=scale.crowd)
            at_rest = idle.section(scale, idling.result())
        visits = _take_turns(few, many, scale)
        claims = claim_rows(few, many, scale.slices)
    return [at_rest, _section(scale, filled, visits, claims)]


def visit(path: str, seconds: float) -> dict[str, Any]:
    """A fresh process opens the file, runs the one task that is due, and some at a steady rate."""
    return asyncio.run(_visit(Path(path), seconds))


async def _visit(path: Path, seconds: float) -> dict[str, Any]:
    first = asyncio.Event()
    work.tally.expect(1, first.set)
    app = Horae(horae_side.address(path))
    app.task(work.async_noop)
    started = perf_counter()
    async with app:
        await first.wait()
        start = perf_counter() - started
        lateness = await timed_block(app, _RATE, seconds)
        megabytes = peak_megabytes()
    await horae_side.add(path, work.async_noop, [(work.now(), {})])  # for the next visitor
    return {"start": start, "lateness": lateness, "megabytes": megabytes}


class Visits(NamedTuple):
    """What the visitors of each file told."""

    few: list[dict[str, Any]]
    many: list[dict[str, Any]]


def _take_turns(few: str, many: str, scale: Scale) -> Visits:
    visits = Visits([], [])
    for _ in range(max(scale.blocks // 2, 1)):
        for path, seen in zip((few, many), visits, strict=True):
            seen.append(child.run(visit, path=path, seconds=scale.block_seconds / 2))
    return visits


def _section(scale: Scale, filled: float, visits: Visits, claims: Sequence[Row]) -> Section:
    few, many = visits
    late_few, late_many = (Samples.of(each["lateness"] for each in told) for told in visits)
    bar = Bar("at most", late_few.percentile(0.99) * 1e3 + _LATER)
    rows: list[Row] = [
        _start(f"start, {scale.handful:,} tasks", few),
        _start(f"start, {scale.crowd:,} tasks", many, Bar("at most", 1_000)),
        _memory(f"memory at most, {scale.handful:,} tasks", few),
        _memory(f"memory at most, {scale.crowd:,} tasks", many, Bar("at most", 120)),
        *usual_rows(f"lateness, {scale.handful:,} tasks", late_few),
        *usual_rows(f"lateness, {scale.crowd:,} tasks", late_many, bar),
        early(late_many),
        *claims,
        counted(f"adding {scale.crowd:,} tasks, with an idle engine beside it", filled, "s"),
    ]
    notes = (
        "Start: from opening the file until a task that was due already has been called, in a fresh process.",
        f"{len(late_many.all):,} timed tasks on each file, at {_RATE} a second, in blocks that take turns.",
    )
    return Section(f"{scale.crowd:,} future tasks", tuple(rows), notes)


def _start(what: str, visits: Sequence[Any], bar: Bar | None = None) -> Row:
    return timed(what, Timing(tuple(each["start"] for each in visits)), "ms", bar)


def _memory(what: str, visits: Sequence[Any], bar: Bar | None = None) -> Row:
    return counted(what, max(each["megabytes"] for each in visits), "MB", bar)
