"""Cost of one claim at the store, with many future tasks and with few."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.engine import child, horae_side, work
from bench.measure import Timing
from bench.results import Bar, Row, times_faster
from bench.results import timed as timed_row
from horae import Horae
from horae.lifecycle.batch import ClaimDecision
from horae.lifecycle.start import ClaimContext
from horae.model.limits import CLAIM_SLICE
from horae.ports.store import DEFAULT_TERMS, Node

NODE: Final = "nod_bench"
_ROOM: Final = 10_000


def claim_rows(few: str, many: str, slices: int) -> list[Row]:
    """A full slice at a time, with its commit."""
    seen = child.run(take_turns, few=few, many=many, slices=slices)
    on_few, on_many = (Timing(tuple(seconds)) for seconds in seen)
    return [
        timed_row(f"a claim of {CLAIM_SLICE}, few tasks", on_few, "ms"),
        timed_row(f"a claim of {CLAIM_SLICE}, many tasks", on_many, "ms"),
        times_faster("a claim with many tasks, against few", on_few, on_many, Bar("at most", 1.5)),
    ]


def take_turns(few: str, many: str, slices: int) -> list[list[float]]:
    return asyncio.run(_take_turns(Path(few), Path(many), slices))


async def _take_turns(few: Path, many: Path, slices: int) -> list[list[float]]:
    seen: list[list[float]] = [[], []]
    for path in (few, many):
        await horae_side.add(path, work.async_noop, [(work.now(), {})] * (CLAIM_SLICE * slices))
    async with (
        Horae(horae_side.address(few), engine=False) as first,
        Horae(horae_side.address(many), engine=False) as second,
    ):
        for app in (first, second):
            await join(app)
        for _ in range(slices):
            for app, seconds in zip((first, second), seen, strict=True):
                seconds.append(await claim_once(app, work.now()))
    return seen


async def join(app: Horae) -> None:
    await app.store.join(Node(NODE, "bench", "0", work.now(), work.now()))


async def claim_once(app: Horae, now: datetime) -> float:
    """Seconds of one claim that finds something."""
    decide = ClaimDecision(ClaimContext(NODE, now, DEFAULT_TERMS.poll_ceiling))
    started = perf_counter()
    claim = await app.store.claim_due(now, NODE, _ROOM, decide)
    seconds = perf_counter() - started
    assert claim.runs
    return seconds
