"""Blocks of tasks at a steady rate, in a module without the peers: their libraries are half of the start of a child."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.engine import horae_side, work
from bench.engine.bare_commit import BareCommits
from bench.engine.samples import Samples
from bench.results import Bar, Row, counted
from horae import Horae

_LEAD: Final = 0.5


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


def early(samples: Samples) -> Row:
    return counted("started early", sum(each < 0 for each in samples.all), bar=Bar("at most", 0))
