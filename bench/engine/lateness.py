"""Lateness of tasks at a steady rate, compared with bare commits in alternation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.counts import Counts
from bench.engine import child, horae_side, peer_apscheduler, peer_huey, work
from bench.engine.bare_commit import BareCommits
from bench.engine.samples import Samples, usual_rows
from bench.results import Bar, Row, Section, counted
from horae import Horae

# Tasks a second, and how much later than a bare commit the slowest hundredth may be, in milliseconds.
_RATES: Final = ((100, 3), (1_000, 10))
_LEAD: Final = 0.5


def lateness(counts: Counts) -> list[Section]:
    return [*(_ours(counts, rate, margin) for rate, margin in _RATES), _theirs(counts)]


def take_turns(rate: float, seconds: float, blocks: int) -> dict[str, list[list[float]]]:
    """In one process, on one disk: a block of bare commits, a block of tasks, and again."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_take_turns(Path(folder), rate, seconds, blocks))


async def timed_block(app: Horae, rate: float, seconds: float, lead: float = _LEAD) -> list[float]:
    """How late each task of one block was; all of them are known before the first is due."""
    instants = work.at_rate(rate, seconds, lead)
    finished = asyncio.Event()
    work.watch.expect(len(instants), finished.set)
    task = app.task(work.async_timed)
    await app.schedule_many([(task, due, payload) for due, payload in horae_side.to_watch(instants)])
    await finished.wait()
    return work.watch.lateness()


async def _take_turns(folder: Path, rate: float, seconds: float, blocks: int) -> dict[str, list[list[float]]]:
    bare, count = BareCommits(folder / "bare.db"), max(round(rate * seconds), 1)
    seen: dict[str, list[list[float]]] = {"bare": [], "paced": [], "ours": []}
    async with Horae(horae_side.address(folder / "horae.db")) as app:
        for _ in range(blocks):
            seen["bare"].append(await asyncio.to_thread(bare.block, count))
            seen["paced"].append(await asyncio.to_thread(bare.block, max(count // 12, 1), 1 / rate))
            seen["ours"].append(await timed_block(app, rate, seconds))
    bare.close()
    return seen


def _ours(counts: Counts, rate: int, margin: float) -> Section:
    scale = counts.engine
    # The fast rate needs a tenth of the time for the same number of samples.
    seconds = scale.block_seconds * 100 / rate
    seen = child.run(take_turns, rate=rate, seconds=seconds, blocks=scale.blocks)
    bare, ours = Samples.of(seen["bare"]), Samples.of(seen["ours"])
    rows = (
        *usual_rows("a bare commit", bare),
        *usual_rows("a bare commit after a pause", Samples.of(seen["paced"])),
        *usual_rows("Horae, lateness", ours, Bar("at most", bare.percentile(0.99) * 1e3 + margin)),
        early(ours),
    )
    notes = (
        f"{len(ours.all):,} tasks and as many commits, in {scale.blocks} blocks that take turns.",
        f"Target: the p99 of a bare commit, one right after the other, and {margin} ms more.",
    )
    return Section(f"Lateness at {rate:,} tasks a second", rows, notes)


def early(samples: Samples) -> Row:
    return counted("started early", sum(each < 0 for each in samples.all), bar=Bar("at most", 0))


def _theirs(counts: Counts) -> Section:
    seconds = counts.engine.peer_seconds
    apscheduler = child.run(peer_apscheduler.punctual, rate=100, seconds=seconds)
    huey = child.run(peer_huey.punctual, rate=100, seconds=seconds, threads=4)
    rows = (
        *usual_rows("APScheduler, on a loop, lateness", Samples.of([apscheduler])),
        *usual_rows("Huey, four threads, lateness", Samples.of([huey])),
    )
    return Section("Lateness of the peers at 100 tasks a second", rows)
