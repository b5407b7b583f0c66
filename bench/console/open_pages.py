"""Lateness of a deployment while many Now pages are open: each has an event stream and refreshes its part as live.js does."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aiohttp

from bench.api.deployment import Deployment, deployed, tick
from bench.console.scale import Sizes
from bench.engine import child
from bench.engine.samples import Samples, percentile_row, usual_rows
from bench.machine import load
from bench.results import Bar, Section, counted
from horae.clock import SystemClock
from horae.console.application import BATCH_SECONDS
from horae.node.event_loop import run_fast

_REFRESH: Final = 2.0
_JITTER: Final = 0.5
"""Seconds, and below: the same numbers as in live.js."""
_COST_FACTOR: Final = 4
_MARGIN_MS: Final = 2.0
_ROUNDS: Final = 3
_CLOCK: Final = SystemClock()


def open_pages(sizes: Sizes) -> list[Section]:
    load_before = load()
    measured: dict[str, Any] = child.run(
        measure_lateness, ticking=sizes.ticking, pages=sizes.pages, seconds=sizes.seconds
    )
    alone, busy, refreshes = (
        Samples.of(measured["alone"]),
        Samples.of(measured["busy"]),
        Samples.of([measured["refreshes"]]),
    )
    more = (busy.percentile(0.99) - alone.percentile(0.99)) * 1e3
    rows = (
        *usual_rows("lateness without pages", alone),
        *usual_rows(f"lateness with {sizes.pages} pages", busy),
        counted("p99 with pages is later by", more, "ms", Bar("at most", _MARGIN_MS)),
        percentile_row("one refresh, p50", refreshes, 0.5),
        percentile_row("one refresh, p99", refreshes, 0.99),
        counted("refreshes", len(measured["refreshes"]) / sizes.seconds, "/s"),
        counted("requests that failed", measured["failed"], bar=Bar("at most", 0)),
        counted("processor time of the API without pages", 100 * measured["api_alone"] / sizes.seconds, "%"),
        counted("processor time of the API with pages", 100 * measured["api_busy"] / sizes.seconds, "%"),
    )
    how = (
        f"{sizes.ticking} tasks a second on SQLite, {sizes.seconds:g} s without and {sizes.seconds:g} s with pages, in"
        f" {_ROUNDS} turns each; worker, API and the pages are three processes, the last one with the scheduling"
        f" policy `idle`, because browsers run on other machines. A refresh may wait up to {BATCH_SECONDS:g} s"
        " for others of the same fragment."
    )
    busyness = f"Load of the machine: {load_before:.1f} before and {load():.1f} after."
    return [Section(f"Console: {sizes.pages} open Now pages", rows, (how, busyness))]


def measure_lateness(ticking: int, pages: int, seconds: float) -> dict[str, Any]:
    """Measure a deployment without and with pages; runs in a process of its own."""
    with TemporaryDirectory() as folder, deployed(Path(folder)) as deployment:
        tick(deployment, ticking)
        # Browsers run on other machines: here they get the processor only while the server does not need it. A nice value
        # is not enough, because the kernel lets a nice process finish its time slice.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return run_fast(_measure(deployment, pages, seconds))


async def _measure(deployment: Deployment, number: int, seconds: float) -> dict[str, Any]:
    measured: dict[str, Any] = {
        "alone": [],
        "busy": [],
        "refreshes": [],
        "failed": 0,
        "api_alone": 0.0,
        "api_busy": 0.0,
    }
    length = seconds / _ROUNDS
    for _ in range(_ROUNDS):
        await _watch(deployment, length, measured, "alone")
        async with _opened(deployment, number) as pages:
            # The first refresh of every page is behind them.
            await _CLOCK.pause(min(_REFRESH, length))
            pages.refreshes.clear()
            await _watch(deployment, length, measured, "busy")
            measured["refreshes"] += pages.refreshes
            measured["failed"] += pages.failed
    return {**measured, "refreshes": measured["refreshes"] or [0.0]}


async def _watch(deployment: Deployment, seconds: float, measured: dict[str, Any], name: str) -> None:
    """Add the lateness of so many seconds, and the processor time of the API meanwhile."""
    began, spent = _CLOCK.now(), deployment.api_seconds
    await _CLOCK.pause(seconds)
    measured[f"api_{name}"] += deployment.api_seconds - spent
    measured[name].append(deployment.lateness(began, _CLOCK.now()))


class Pages:
    """Open pages of one session, which is what many tabs of one browser are."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self._base = base
        self.refreshes: list[float] = []
        self.failed = 0

    async def open_page(self, ready: asyncio.Semaphore) -> None:
        """Listen to events, and refresh after each of them, at most at the rate of the script."""
        async with self._session.get(f"{self._base}/events") as stream:
            assert stream.status == 200, stream.status
            ready.release()
            refreshed_at, cost = -_REFRESH, 0.0
            async for _ in stream.content.iter_any():
                pause = max(_REFRESH, _COST_FACTOR * cost)
                wait = max(0.0, refreshed_at + pause - _CLOCK.steady()) + random.random() * _JITTER
                await _CLOCK.pause(wait)
                cost = await self._refresh()
                refreshed_at = _CLOCK.steady()

    async def _refresh(self) -> float:
        started = _CLOCK.steady()
        async with self._session.get(f"{self._base}/?part=body") as answer:
            await answer.read()
            self.failed += answer.status != 200
        took = _CLOCK.steady() - started
        self.refreshes.append(took)
        return took


@asynccontextmanager
async def _opened(deployment: Deployment, number: int) -> AsyncIterator[Pages]:
    base = f"{deployment.base}/console"
    connector, jar = aiohttp.TCPConnector(limit=0), aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as session:
        form = {"token": deployment.token, "next": "/console/"}
        headers = {"Origin": deployment.base}
        async with session.post(f"{base}/sign-in", data=form, headers=headers) as answer:
            assert answer.status == 200, answer.status
        pages, ready = Pages(session, base), asyncio.Semaphore(0)
        tasks = [asyncio.ensure_future(pages.open_page(ready)) for _ in range(number)]
        for _ in range(number):
            await ready.acquire()
        try:
            yield pages
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
