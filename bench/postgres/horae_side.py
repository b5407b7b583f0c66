"""Horae as a contender: the public library with its defaults, on a URL."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from bench.engine import horae_side as alike
from bench.engine import work
from bench.engine.claims import claim_once, join
from bench.engine.steady_rate import timed_block
from bench.engine.stopwatch import Stopwatch
from bench.postgres.bare_commit import bare_commits
from bench.postgres.loop import run
from bench.postgres.scale import Sizes
from horae import Horae

_LOOK: Final = 0.02
_BREATH: Final = 0.001


def enqueue(url: str, count: int) -> None:
    run(alike.add(url, work.async_noop, [(work.now(), {})] * count))


def drain(url: str, count: int) -> dict[str, float]:
    return run(_drain(url, count))


def share(url: str, begin: float) -> dict[str, float]:
    """One of several processes that begin together: the instants of its begin and end, and what it used meanwhile."""
    return run(_share(url, begin))


def crowd(url: str, count: int) -> None:
    run(alike.add(url, work.async_noop, alike.far_away(count)))


def fetches(url: str, times: int) -> list[float]:
    return run(_claims(url, times))


def rest(url: str, seconds: float) -> None:
    run(_rest(url, seconds))


def recorded(url: str) -> int:
    return run(alike.recorded(url))


def take_turns(url: str, bare: str, rate: float, sizes: dict[str, Any]) -> dict[str, list[list[float]]]:
    """In one process, on one server: a block of bare commits, a block of tasks, and again."""
    return run(_take_turns(url, bare, rate, Sizes(**sizes)))


async def _drain(url: str, count: int) -> dict[str, float]:
    """From the start of the worker until the last end is in the ledger; that its engine leaves after that is not counted,
    as it is not for peers."""
    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    app = Horae(url)
    app.task(work.async_noop)
    stopwatch = Stopwatch()
    async with app:
        await finished.wait()
        engine = app.engine
        assert engine is not None
        while not engine.runner.is_idle or engine.settler.pending:
            await work.pass_time(_BREATH)
        told = stopwatch.read()
    return told | {"left": count - await alike.recorded(url)}


async def _share(url: str, begin: float) -> dict[str, float]:
    app = Horae(url)
    app.task(work.async_noop)
    await work.pass_time(begin - work.now().timestamp())
    began, stopwatch = work.now().timestamp(), Stopwatch()
    async with app:
        engine = app.engine
        assert engine is not None
        # This process is not notified of the other's runs: no upcoming task means that all were taken.
        while await app.store.next_due() is not None or not engine.runner.is_idle or engine.settler.pending:
            await work.pass_time(_LOOK)
    return {"began": began, "ended": work.now().timestamp(), "busy": stopwatch.read()["busy"]}


async def _claims(url: str, times: int) -> list[float]:
    """With its commit, of the one task that is due."""
    seen = []
    async with Horae(url, engine=False) as app:
        task = app.task(work.async_noop)
        await join(app)
        for _ in range(times):
            await app.schedule(task, work.now())
            seen.append(await claim_once(app, work.now()))
    return seen


async def _rest(url: str, seconds: float) -> None:
    app = Horae(url)
    app.task(work.async_noop)
    async with app:
        await work.pass_time(seconds)


async def _take_turns(url: str, bare: str, rate: float, sizes: Sizes) -> dict[str, list[list[float]]]:
    seen: dict[str, list[list[float]]] = {"bare": [], "paced": [], "ours": []}
    async with bare_commits(bare) as commit, Horae(url) as app:
        for _ in range(sizes.blocks):
            seen["bare"].append(await commit.block(sizes.commits))
            seen["paced"].append(await commit.block(max(sizes.commits // 10, 1), 1 / rate))
            seen["ours"].append(await timed_block(app, rate, sizes.block_seconds, sizes.lead))
    return seen
